# An overlay port of this source tree: vcpkg install nanoembed --overlay-ports=…/ffi/vcpkg
cmake_path(GET CURRENT_PORT_DIR PARENT_PATH nanoembed_ffi)

# The libraries have no debug variant.
set(VCPKG_BUILD_TYPE release)

if(VCPKG_TARGET_ARCHITECTURE STREQUAL "arm64")
    set(nanoembed_target aarch64-unknown-linux-gnu)
else()
    set(nanoembed_target x86_64-unknown-linux-gnu)
endif()
set(nanoembed_options --prefix "${CURRENT_PACKAGES_DIR}")
if(VCPKG_CROSSCOMPILING)
    list(APPEND nanoembed_options --target ${nanoembed_target})
endif()
vcpkg_execute_required_process(
    COMMAND "${nanoembed_ffi}/install.sh" ${nanoembed_options}
    WORKING_DIRECTORY "${nanoembed_ffi}"
    LOGNAME "install-${TARGET_TRIPLET}")

if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    file(GLOB nanoembed_shared "${CURRENT_PACKAGES_DIR}/lib/libnanoembed.so*")
    file(REMOVE ${nanoembed_shared} "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/nanoembed-shared.pc")
endif()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/nanoembed)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${nanoembed_ffi}/LICENSE-MIT" "${nanoembed_ffi}/LICENSE-APACHE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/nanoembed")

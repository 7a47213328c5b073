# Steps of ffi/test.sh: the library in other ecosystems. Sourced by it, which has the variables and functions that these use.

# The host's three lines for the texts of the Zephyr sample: scores and texts, as the sample prints them.
zephyr_expects() {
    gcc "${c99[@]}" -I "$prefix/include" examples/c/search.c "${library[@]}" -o "$scratch/search-zephyr"
    sed -n 's/^    "\(.*\)",$/\1/p' ../zephyr/samples/search/src/main.c >"$scratch/zephyr.texts"
    "$scratch/search-zephyr" "$1" "$scratch/zephyr.texts" "How do I reset my password?"
}

# Builds the Zephyr sample under a name for a board, with further options of CMake.
zephyr_build() {
    local out=$scratch/zephyr-$1 board=$2
    shift 2
    cmake -GNinja -S ../zephyr/samples/search -B "$out" -DBOARD="$board" \
        -DZEPHYR_MODULES="$(dirname "$PWD")${ZEPHYR_MODULES:+;$ZEPHYR_MODULES}" -DNANOEMBED_CARGO_DIR="$target" "$@" \
        >"$out.log" 2>&1 && ninja -C "$out" >>"$out.log" 2>&1 || { cat "$out.log"; return 1; }
}

# Runs the sample of this name on a native board, with all-MiniLM-L6-v2 in its flash: what the host finds.
zephyr_finds() {
    "$scratch/zephyr-$1/zephyr/zephyr.exe" --flash="$scratch/zephyr.flash" -no-rt -stop_at=1 </dev/null |
        tee "$scratch/zephyr.out"
    rm "$scratch/zephyr.flash"
    zephyr_expects "$model" | cmp - <(grep "$scores" "$scratch/zephyr.out")
}

# The same with the model in a file of littlefs, whose sources are one of the modules.
zephyr_files() {
    local module littlefs=
    for module in ${ZEPHYR_MODULES//;/ }; do
        [ ! -f "$module/lfs.c" ] || littlefs=$module
    done
    [ -n "$littlefs" ] || { skip "files in Zephyr: ZEPHYR_MODULES names no littlefs"; return; }
    say "all-MiniLM-L6-v2 in a file of littlefs"
    ZEPHYR_TOOLCHAIN_VARIANT=host zephyr_build files $native -DDTC_OVERLAY_FILE=littlefs.overlay -DOVERLAY_CONFIG=littlefs.conf
    gcc -std=gnu99 -O1 -I "$littlefs" tests/zephyr/littlefs_image.c "$littlefs"/{lfs,lfs_util}.c -o "$scratch/littlefs_image"
    # Where the overlay has the file system; first one without the file.
    local place=(1048576 $((24 * 1024 * 1024)))
    "$scratch/littlefs_image" "$scratch/zephyr.flash" "${place[@]}" tests/data/lines.txt lines.txt
    "$scratch/zephyr-files/zephyr/zephyr.exe" --flash="$scratch/zephyr.flash" -no-rt -stop_at=1 </dev/null |
        grep -x "failed: the file cannot be opened or mapped"
    "$scratch/littlefs_image" "$scratch/zephyr.flash" "${place[@]}" "$model" model.weights
    zephyr_finds files
}

# The Zephyr module: Kconfig offers every part, and the sample finds what a program of the host finds.
zephyr() {
    local part tool native=native_posix_64 scores='^-\?[01]\.[0-9]* [A-Z]'
    for part in $(sed -n '/^\[features\]/,/^\[dep/s/^\([a-z0-9-]*\) = .*/\1/p' Cargo.toml); do
        case $part in default | all | std | panic-handler | arm-dsp) continue ;; esac
        part=${part^^}
        grep -qx "config NANOEMBED_PART_${part//-/_}" ../zephyr/Kconfig || {
            echo "zephyr/Kconfig does not offer $part"; return 1; }
    done
    for part in $(sed -n 's/^config NANOEMBED_PART_//p' ../zephyr/Kconfig); do
        part=${part,,}
        grep -q "^${part//_/-} = " Cargo.toml || {
            echo "zephyr/Kconfig offers $part, which Cargo.toml lacks"; return 1; }
    done
    [ -d "${ZEPHYR_BASE-}" ] || { skip "the Zephyr module: ZEPHYR_BASE names no Zephyr"; return; }
    for tool in cmake ninja dtc; do
        have $tool || { skip "the Zephyr module: $tool is not installed"; return; }
    done
    [ -f "$prefix/lib/libnanoembed.a" ] || build
    [ -d "$ZEPHYR_BASE/boards/native/native_sim" ] && native=native_sim/native/64

    say "all-MiniLM-L6-v2 in a partition of simulated flash"
    ZEPHYR_TOOLCHAIN_VARIANT=host zephyr_build flash $native -DDTC_OVERLAY_FILE=simulated_flash.overlay
    { head -c $((1024 * 1024)) /dev/zero; cat "$model"; } >"$scratch/zephyr.flash"
    zephyr_finds flash
    zephyr_files

    say "a static model in flash, on a Cortex-M3"
    for tool in arm-none-eabi-gcc qemu-system-arm; do
        have $tool || { skip "Zephyr on a Cortex-M3: $tool is not installed"; return; }
    done
    bare_target thumbv7m-none-eabi || { skip "Zephyr on a Cortex-M3: rustup target add thumbv7m-none-eabi"; return; }
    ZEPHYR_TOOLCHAIN_VARIANT=cross-compile CROSS_COMPILE=$(command -v arm-none-eabi-gcc | sed 's/gcc$//') \
        zephyr_build cortex-m3 qemu_cortex_m3 -DCONFIG_NANOEMBED_PART_EMBD=n
    # The board never ends by itself.
    qemu-system-arm -M lm3s6965evb -nographic -kernel "$scratch/zephyr-cortex-m3/zephyr/zephyr.elf" \
        </dev/null >"$scratch/zephyr.out" 2>/dev/null &
    for _ in {1..300}; do
        ! grep -q '^done' "$scratch/zephyr.out" && kill -0 $! || break
        sleep 0.1
    done
    kill $!
    cat "$scratch/zephyr.out"
    zephyr_expects tests/data/small_table.weights | cmp - <(tr -d '\r' <"$scratch/zephyr.out" | grep "$scores")
}

# Projects of PlatformIO with the library from its sources, and built before.
platformio() {
    local project=tests/platformio scons
    scons=$(pio_scons) || { skip "PlatformIO: pip install platformio scons"; return; }
    [ -f "$prefix/lib/libnanoembed.a" ] || build
    local -x PLATFORMIO_CORE_DIR=$scratch/platformio PLATFORMIO_WORKSPACE_DIR=$scratch/platformio-project
    local -x PLATFORMIO_SETTING_ENABLE_TELEMETRY=no CARGO_TARGET_DIR=$target NANOEMBED_PREFIX=$prefix
    # PlatformIO downloads its build tool from a registry of its own; PyPI has the same.
    mkdir -p "$PLATFORMIO_CORE_DIR/packages/tool-scons"
    printf 'from SCons.Script import main\nmain()\n' >"$PLATFORMIO_CORE_DIR/packages/tool-scons/scons.py"
    printf '{"name": "tool-scons", "version": "%s"}\n' "$scons" >"$PLATFORMIO_CORE_DIR/packages/tool-scons/package.json"
    printf '{"type": "tool", "name": "tool-scons", "version": "%s", "spec": {"owner": "platformio", "id": null, "name": "tool-scons", "requirements": null, "uri": null}}\n' \
        "$scons" >"$PLATFORMIO_CORE_DIR/packages/tool-scons/.piopm"
    for name in host prebuilt; do
        pio run --project-dir $project --environment $name --silent
        "$PLATFORMIO_WORKSPACE_DIR/build/$name/program" "$model" tests/data/lines.txt "sunny outside" |
            head -n 1 | grep weather
    done
    have arm-none-eabi-gcc && bare_target thumbv7em-none-eabihf || {
        skip "PlatformIO for a Cortex-M4: no arm-none-eabi-gcc or Rust target"; return; }
    pio run --project-dir $project --environment cortex_m4 --silent
    have qemu-system-arm || { skip "the program of PlatformIO: no QEMU"; return; }
    qemu "$PLATFORMIO_WORKSPACE_DIR/build/cortex_m4/program" "$scratch/platformio.f32" | grep -q "^ram: "
}

# The version of SCons that PlatformIO asks for, as it numbers it: 4.11.1 is 4.41101.0.
pio_scons() {
    have pio && "$(dirname "$(readlink -f "$(command -v pio)")")/python3" -c '
from platformio.dependencies import get_core_dependencies
import SCons
major, minor, patch = map(int, SCons.__version__.split("."))
version = f"{major}.{major}{minor:02}{patch:02}.0"
assert get_core_dependencies()["tool-scons"].lstrip("~") == version, version
print(version)'
}

# `conan create`, whose test is a program over the package.
conan() {
    have conan || { skip "Conan: pip install conan"; return; }
    have cmake || { skip "Conan: cmake is not installed"; return; }
    local -x CONAN_HOME=$scratch/conan CARGO_TARGET_DIR=$target/conan
    command conan profile detect --force >/dev/null 2>&1
    command conan create . -o "&:no_std=True" -o "&:parts=embd,small" -c tools.cmake.cmaketoolchain:user_presets= \
        -c tools.cmake.cmake_layout:test_folder="$scratch/conan-test" >"$scratch/conan.log" 2>&1 ||
        { cat "$scratch/conan.log"; return 1; }
    grep "model [0-9]* bytes, workspace" "$scratch/conan.log"
}

# The port by vcpkg's scripts, without its program, and a CMake project over what they make, moved elsewhere.
vcpkg() {
    local out=$scratch/vcpkg triplet
    [ -f "${VCPKG_ROOT-}/scripts/ports.cmake" ] || { skip "vcpkg: VCPKG_ROOT names no vcpkg"; return; }
    case $(uname -m) in x86_64) triplet=x64-linux ;; *) triplet=arm64-linux ;; esac
    rm -rf "$out"
    CARGO_TARGET_DIR=$target cmake -DCMD=BUILD -DPORT=nanoembed -DTARGET_TRIPLET=$triplet -D_HOST_TRIPLET=$triplet \
        -DTARGET_TRIPLET_FILE="$VCPKG_ROOT/triplets/$triplet.cmake" -DCURRENT_PORT_DIR="$PWD/vcpkg" \
        -DCURRENT_BUILDTREES_DIR="$out/buildtrees" -DCURRENT_PACKAGES_DIR="$out/packages" -DDOWNLOADS="$out/downloads" \
        -D_VCPKG_INSTALLED_DIR="$out/installed" -DVCPKG_ROOT_DIR="$VCPKG_ROOT" -DVCPKG_FIXUP_ELF_RPATH=OFF -DVCPKG_BASE_VERSION=2999-12-31 \
        -DVCPKG_PORT_CONFIGS="$VCPKG_ROOT/ports/vcpkg-cmake-config/vcpkg-port-config.cmake" \
        -P "$VCPKG_ROOT/scripts/ports.cmake"
    mv "$out/packages" "$out/moved"
    cmake -S examples/cmake/installed -B "$out/build" -DCMAKE_PREFIX_PATH="$out/moved" >/dev/null
    cmake --build "$out/build" >/dev/null
    "$out/build/search" "$model" tests/data/lines.txt "sunny outside" | head -n 1 | grep weather
}

# The library as Arduino's IDE takes it, and its sketch on a Cortex-M0. NANOEMBED_ARDUINO names the folder that it is in, where it is
# made already.
arduino() {
    local out=${NANOEMBED_ARDUINO:-$scratch/arduino} key triple
    for key in name version author maintainer sentence paragraph category url architectures; do
        grep -q "^$key=." arduino/library.properties || { echo "library.properties does not say $key"; return 1; }
    done
    if [ -z "${NANOEMBED_ARDUINO-}" ]; then
        for triple in thumbv6m-none-eabi thumbv7em-none-eabihf; do
            bare_target $triple || { skip "Arduino: rustup target add $triple"; return; }
        done
        rm -rf "$out"
        ./arduino.sh "$out"
    fi
    have arm-none-eabi-g++ || { skip "Arduino's sketch: no arm-none-eabi-g++"; return; }
    out=$out/nanoembed
    mkdir -p "$scratch/arduino"
    # Board and sketch by the library in the processor's folder.
    arm-none-eabi-gcc -std=gnu99 -Os -mthumb -mcpu=cortex-m0plus -ffreestanding -ffunction-sections -I "$out/src" \
        -c examples/cortex-m/c/board.c -o "$scratch/arduino/board.o"
    arm-none-eabi-g++ -std=gnu++11 -Os -Wall -Wextra -Werror -mthumb -mcpu=cortex-m0plus -fno-exceptions -fno-rtti \
        -ffunction-sections -fdata-sections -I "$out/src" -I examples/cortex-m/c \
        "-DSKETCH=\"$out/examples/Search/Search.ino\"" -c tests/arduino/main.cpp -o "$scratch/arduino/sketch.o"
    arm-none-eabi-gcc -mthumb -mcpu=cortex-m0plus -nostartfiles "$scratch/arduino/sketch.o" "$scratch/arduino/board.o" \
        -Wl,-z,noexecstack,--gc-sections,-T,examples/cortex-m/microbit.ld -L "$out/src/cortex-m0plus" \
        "$(sed -n 's/^ldflags=//p' "$out/library.properties")" -o "$scratch/arduino/sketch"
    have qemu-system-arm || { skip "Arduino's sketch in QEMU: not installed"; return; }
    machine=microbit qemu "$scratch/arduino/sketch" | tee "$scratch/arduino.out"
    grep -qx "Click on the link to choose a new password." "$scratch/arduino.out"
}

# Tasks of Embassy over the Rust crate: the host's scores, in 9 KiB of RAM.
embassy() {
    local message expected=$scratch/embassy.expected source=examples/embassy/src/main.rs
    bare_target thumbv7em-none-eabihf || { skip "Embassy: rustup target add thumbv7em-none-eabihf"; return; }
    (cd examples/embassy && CARGO_TARGET_DIR=$target cargo build --quiet --locked --release \
        --target thumbv7em-none-eabihf)
    have qemu-system-arm || { skip "Embassy in QEMU: not installed"; return; }
    qemu "$device/nanoembed-embassy" | tee "$scratch/embassy.out"
    [ -f "$prefix/lib/libnanoembed.a" ] || build
    gcc "${c99[@]}" -I "$prefix/include" examples/c/search.c "${library[@]}" -o "$scratch/search-embassy"
    sed -n 's/^    ("[a-z]*", "\(.*\)"),$/\1/p' $source >"$scratch/embassy.rules"
    sed -n '/^const MESSAGES/,/;$/p' $source | grep -o '"[^"]*"' | tr -d '"' | while read -r message; do
        "$scratch/search-embassy" tests/data/small_table.weights "$scratch/embassy.rules" "$message" | head -n 1 |
            cut -d ' ' -f 1
    done >"$expected"
    [ "$(wc -l <"$expected")" = 3 ]
    cmp <(sed -n 's/^\(0\.[0-9]*\) .*/\1/p' "$scratch/embassy.out") "$expected"
    [ "$(sed -n 's/^ram: //p' "$scratch/embassy.out")" -le $((12 * 1024)) ]
}

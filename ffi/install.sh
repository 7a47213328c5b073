#!/bin/sh
# Builds the libraries and installs them with header, CMake package and pkg-config file.
#
#   ffi/install.sh                    to /usr/local
#   ffi/install.sh --prefix DIR       to DIR
#   ffi/install.sh --no-std …         without standard library and heap (no `_new` functions), for any target
#   ffi/install.sh --target TRIPLE …  for another target
#   ffi/install.sh --parts LIST …     only these parts (cargo features, see Cargo.toml), for example
#                                     embd,finalfusion,small: less flash, if the linker is not to find out by itself
set -eu
cd "$(dirname "$0")"
prefix=/usr/local parts=all std=yes target=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) prefix=$2; shift ;;
    --no-std) std=no ;;
    --target) target=$2; shift ;;
    --parts) parts=$2; shift ;;
    *) sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//'; exit 2 ;;
    esac
    shift
done
case $prefix in /*) ;; *) prefix=$OLDPWD/$prefix ;; esac

# A fat LTO leaves one object with nothing in it that is not used.
crate_types=staticlib
if [ $std = yes ]; then parts=$parts,std; else parts=$parts,panic-handler; fi
# Cortex-M4 and its like have the DSP extension.
case $target in thumbv7em-*) parts=$parts,arm-dsp ;; esac
[ $std = yes ] && [ -z "$target" ] && crate_types=staticlib,cdylib
profile=release
[ $std = no ] && profile=small
# shellcheck disable=SC2086
CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_PANIC=abort CARGO_PROFILE_RELEASE_DEBUG=false \
    cargo rustc --quiet --locked --package nanoembed-ffi --lib --profile $profile \
    --no-default-features --features "$parts" \
    ${target:+--target "$target"} --crate-type $crate_types
built=${CARGO_TARGET_DIR:-../target}/${target:+$target/}$profile

# Whatever Rust needs of the system comes behind the library on the link line.
private=
[ $std = yes ] && private="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../Cargo.toml | head -n 1)

mkdir -p "$prefix/lib/pkgconfig" "$prefix/lib/cmake/nanoembed" "$prefix/include"
cp include/nanoembed.h include/nanoembed.hpp "$prefix/include/"
cp "$built/libnanoembed_ffi.a" "$prefix/lib/libnanoembed.a"
[ -f "$built/libnanoembed_ffi.so" ] && [ $crate_types != staticlib ] && cp "$built/libnanoembed_ffi.so" "$prefix/lib/libnanoembed.so"
sed -e "s|@prefix@|$prefix|" -e "s|@version@|$version|" -e "s|@private@|$private|" cmake/nanoembed.pc.in \
    >"$prefix/lib/pkgconfig/nanoembed.pc"
sed -e "s|@private@|$private|" cmake/nanoembed-config.cmake.in >"$prefix/lib/cmake/nanoembed/nanoembed-config.cmake"
sed -e "s|@version@|$version|" cmake/nanoembed-config-version.cmake.in \
    >"$prefix/lib/cmake/nanoembed/nanoembed-config-version.cmake"

# Two Rust libraries in one program must not share names: only ours stay global, where the tools can do that.
if [ $std = yes ] && [ -z "$target" ] && command -v objcopy >/dev/null && command -v ld >/dev/null; then
    (
        scratch=$(mktemp -d)
        trap 'rm -rf "$scratch"' EXIT
        ld -r --force-group-allocation -u nanoembed_abi_version "$prefix/lib/libnanoembed.a" -o "$scratch/nanoembed.o"
        # Bitcode of the standard library would make older tools of LLVM stumble.
        objcopy --wildcard --keep-global-symbol='nanoembed_*' --remove-section=.llvmbc --remove-section=.llvmcmd \
            "$scratch/nanoembed.o"
        rm "$prefix/lib/libnanoembed.a"
        ar crs "$prefix/lib/libnanoembed.a" "$scratch/nanoembed.o"
    )
fi
echo "installed nanoembed $version in $prefix"

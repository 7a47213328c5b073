#!/bin/sh
# Builds the libraries and installs them with header, CMake package and pkg-config file.
#
#   ffi/install.sh                    to /usr/local
#   ffi/install.sh --prefix DIR       to DIR
#   ffi/install.sh --no-std …         without standard library and heap (no `_new` functions), for any target
#   ffi/install.sh --target TRIPLE …  for another target
#   ffi/install.sh --parts LIST …     only these parts (cargo features, see Cargo.toml), for example
#                                     embd,small: less flash, if the linker is not to find out by itself
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
shared=no
host=$(rustc -vV | sed -n 's/^host: //p')
case $std:${target:-$host} in yes:*-linux-gnu*) crate_types=staticlib,cdylib shared=yes ;; esac
# Programs ask for the interface that they were built with: versions 0.x differ in it.
soname=libnanoembed.so.$(sed -n 's/^version = "\(0\.[0-9]*\|[0-9]*\).*"/\1/p' ../Cargo.toml | head -n 1)
profile=release
[ $std = no ] && profile=small
# shellcheck disable=SC2086
CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_PANIC=abort CARGO_PROFILE_RELEASE_DEBUG=false \
    cargo rustc --quiet --locked --package nanoembed-ffi --lib --profile $profile \
    --no-default-features --features "$parts" \
    ${target:+--target "$target"} --crate-type $crate_types \
    $([ $shared = no ] || echo "-- -C link-arg=-Wl,-soname,$soname")
built=${CARGO_TARGET_DIR:-../target}/${target:+$target/}$profile

# Whatever Rust needs of the system comes behind the library on the link line. Compilers add libgcc themselves, in the
# form that suits a dynamic or a static program.
system=
[ $std = yes ] && system="-lutil -lrt -lpthread -lm -ldl"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../Cargo.toml | head -n 1)

# Files that stay as they are keep their times: programs over them need not be linked again.
put() { cmp -s "$1" "$2" || cp "$1" "$2"; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Two Rust libraries in one program must not share names: only ours stay global. The tools are those of Rust's toolchain,
# which know every processor.
sysroot=$(rustc --print sysroot)
tools=$sysroot/lib/rustlib/$host/bin
# What compilers call for themselves is there for firmware that has no other, weak, so that it may have one.
common= roots="-u nanoembed_abi_version"
if [ $std = no ]; then
    for name in memcpy memmove memset memcmp; do
        common="$common --keep-global-symbol=$name --weaken-symbol=$name"
        roots="$roots -u $name"
    done
fi
# The libgcc of compilers for musl is often that of glibc, and unwinding in it needs glibc; Rust's toolchain has its own.
unwinding=
case $std:$target in yes:*-linux-musl*) unwinding=$sysroot/lib/rustlib/$target/lib/self-contained/libunwind.a ;; esac
# shellcheck disable=SC2086
"$tools/rust-lld" -flavor gnu -r --force-group-allocation $roots "$built/libnanoembed_ffi.a" ${unwinding:+"$unwinding"} \
    -o "$scratch/nanoembed.o"
# Bitcode of the standard library would make older tools of LLVM stumble.
# shellcheck disable=SC2086
LD_LIBRARY_PATH=$sysroot/lib "$tools/rust-objcopy" --wildcard --keep-global-symbol='nanoembed_*' $common --remove-section=.llvmbc --remove-section=.llvmcmd \
    "$scratch/nanoembed.o"
ar crsD "$scratch/libnanoembed.a" "$scratch/nanoembed.o"

mkdir -p "$prefix/lib/pkgconfig" "$prefix/lib/cmake/nanoembed" "$prefix/include"
cp include/nanoembed.h "$scratch/"
# Without the functions that a library without standard library does not have.
[ $std = yes ] || sed -i 's/^#define NANOEMBED_H$/&\n#define NANOEMBED_NO_STD/' "$scratch/nanoembed.h"
put "$scratch/nanoembed.h" "$prefix/include/nanoembed.h"
put include/nanoembed.hpp "$prefix/include/nanoembed.hpp"
put "$scratch/libnanoembed.a" "$prefix/lib/libnanoembed.a"
packages=nanoembed
if [ $shared = yes ]; then
    packages="nanoembed nanoembed-shared"
    put "$built/libnanoembed_ffi.so" "$prefix/lib/$soname"
    ln -sf "$soname" "$prefix/lib/libnanoembed.so"
fi
write() {
    sed -e "s|@version@|$version|" -e "s|@system@|$system|" -e "s|@soname@|$soname|" \
        "cmake/$1.in" >"$scratch/$1"
    put "$scratch/$1" "$2/$1"
}
for file in $packages; do write "$file.pc" "$prefix/lib/pkgconfig"; done
for file in nanoembed-config.cmake nanoembed-config-version.cmake; do write $file "$prefix/lib/cmake/nanoembed"; done
echo "installed nanoembed $version in $prefix"

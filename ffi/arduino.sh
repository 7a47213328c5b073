#!/bin/sh
# Makes a library for the Arduino IDE, which has the library built for each processor.
#
#   ffi/arduino.sh OUT               OUT/nanoembed, for Cortex-M0+ and for Cortex-M4 with an FPU
#   ffi/arduino.sh OUT TARGET…       for these processors: thumbv6m-none-eabi, thumbv7em-none-eabi,
#                                    thumbv7em-none-eabihf, thumbv8m.main-none-eabi, thumbv8m.main-none-eabihf
#   NANOEMBED_PARTS=LIST …           with these parts (cargo features, see Cargo.toml) instead of
#                                    static-models,small
#
# OUT/nanoembed goes into the IDE's folder `libraries`, or as a .zip through its menu.
set -eu
case ${1-} in '' | -*) sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//'; exit 2 ;; esac
mkdir -p "$1"
out=$(cd "$1" && pwd)/nanoembed
shift
[ $# -gt 0 ] || set -- thumbv6m-none-eabi thumbv7em-none-eabihf
cd "$(dirname "$0")"

# Where the IDE looks: the processor, and the kind of FPU if it passes arguments.
folder() {
    case $1 in
    thumbv6m-none-eabi) echo cortex-m0plus ;;
    thumbv7em-none-eabi) echo cortex-m4 ;;
    thumbv7em-none-eabihf) echo cortex-m4/fpv4-sp-d16-hard ;;
    thumbv8m.main-none-eabi) echo cortex-m33 ;;
    thumbv8m.main-none-eabihf) echo cortex-m33/fpv5-sp-d16-hard ;;
    *) echo "no Arduino board is known with the processor $1" >&2; exit 2 ;;
    esac
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for target in "$@"; do
    into=$out/src/$(folder "$target")
    ./install.sh --no-std --target "$target" --parts "${NANOEMBED_PARTS:-static-models,small}" --prefix "$scratch"
    mkdir -p "$into"
    cp "$scratch/lib/libnanoembed.a" "$into/"
    cp "$scratch/include/nanoembed.h" "$out/src/"
done
cp arduino/library.properties LICENSE-MIT LICENSE-APACHE "$out/"
mkdir -p "$out/examples"
cp -R arduino/examples/Search "$out/examples/"
{
    echo "// ffi/tests/data/small_table.weights: a static model of 900 tokens."
    echo "alignas(16) static const uint8_t model_data[] = {"
    od -An -v -tu1 tests/data/small_table.weights | sed 's/^ *//; s/  */,/g; s/$/,/'
    echo "};"
} >"$out/examples/Search/model.h"
echo "made $out"

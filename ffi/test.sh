#!/usr/bin/env bash
# Tests the C interface: header, every function under sanitisers and valgrind, examples, packages, symbols, and the
# programs for Cortex-M in QEMU. What a missing tool keeps from being tested is said.
#
#   ffi/test.sh                    everything
#   ffi/test.sh STEP…              these steps: build guide header functions wrapper threads memory symbols packages
#                                  musl examples bare targets sizes stack cortex_m cortex_m0 unigram embassy zephyr
#                                  platformio arduino conan vcpkg, and sizes_of_all
#
# `zephyr` takes the Zephyr at ZEPHYR_BASE, and the modules in ZEPHYR_MODULES (CMSIS, littlefs), separated by semicolons;
# `vcpkg` the one at VCPKG_ROOT.
set -euo pipefail
cd "$(dirname "$0")"
target=$(realpath -m "${CARGO_TARGET_DIR:-../target}") # cmake prints paths without dots
prefix=$target/ffi-prefix scratch=$target/ffi-tests
model=../models/all-MiniLM-L6-v2.int8.weights
mkdir -p "$scratch"

say() { printf -- '-- %s\n' "$*"; }
# Told to whom watches and, in `.ci/run`, in the file of all that was skipped.
skip() { printf 'SKIPPED %s\n' "$*" | tee -a "${NANOEMBED_SKIPPED:-/dev/null}"; }
# Steps have the names of programs.
have() { type -P "$1" >/dev/null; }

c99=(-std=c99 -g -O1 -pedantic -Wall -Wextra -Werror)
libraries=(-lutil -lrt -lpthread -lm -ldl)
library=("$prefix/lib/libnanoembed.a" "${libraries[@]}")
llama=tests/data/small_llama.gguf
files=("$model" tests/data/words.fifu tests/data/words.pq.fifu ../tests/data/gguf/small.gguf
    ../tests/data/uqff/small_blobs.uqff "$llama" ../tests/data/amb/bpe.amb
    ../tests/data/sentencepiece/llama.model tests/data/small_table.weights)
wrap=(-DCOUNT_ALLOCATIONS -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign)

build() { ./install.sh --prefix "$prefix"; }

# The header alone, in both languages, by whichever compilers there are; and the lines of the main README.
header() {
    local compiler
    printf '#include <nanoembed.h>\nint main(void) { return (int)nanoembed_abi_version() - NANOEMBED_ABI_VERSION; }\n' \
        >"$scratch/header.c"
    {
        printf '#include <nanoembed.h>\n#include <string.h>\nint main(void) {\n'
        printf 'nanoembed_model *model; nanoembed_workspace *workspace; const char *text = ""; float vector[384];\n'
        awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' ../README.md
        printf 'return (int)status;\n}\n'
    } >"$scratch/readme.c"
    for compiler in gcc clang; do
        have $compiler || { skip "header with $compiler: not installed"; continue; }
        $compiler -std=c99 -pedantic -Wall -Wextra -Werror -I include -fsyntax-only "$scratch/header.c" "$scratch/readme.c"
    done
    for compiler in g++ clang++; do
        have $compiler || { skip "header with $compiler: not installed"; continue; }
        $compiler -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I include -fsyntax-only "$scratch/header.c"
        # Older standards get one sentence for the wrapper.
        $compiler -x c++ -std=c++14 -I include -fsyntax-only include/nanoembed.hpp 2>"$scratch/older.txt" || true
        [ "$(grep -c 'error:' "$scratch/older.txt")" = 1 ] || { cat "$scratch/older.txt"; return 1; }
    done
}

functions() {
    local compiler
    for compiler in gcc clang; do
        have $compiler || { skip "functions with $compiler: not installed"; continue; }
        $compiler "${c99[@]}" -fsanitize=address,undefined -fno-sanitize-recover=undefined -I "$prefix/include" \
            tests/c/test*.c "${library[@]}" -o "$scratch/functions-$compiler" || {
            skip "functions with $compiler: it cannot link sanitisers"; continue; }
        "$scratch/functions-$compiler" "${files[@]}"
    done
}

wrapped=("$model" tests/data/words.fifu "$llama" ../tests/data/amb/bpe.amb ../tests/data/sentencepiece/llama.model
    ../tests/data/heads/bge_m3_multi)

wrapper() {
    local define
    for define in -DNANOEMBED_RESULTS -DNANOEMBED_EXCEPTIONS; do
        g++ -std=c++17 -g -O1 -pedantic -Wall -Wextra -Werror -fsanitize=address,undefined $define \
            -I "$prefix/include" tests/c/test.cpp "${library[@]}" -o "$scratch/wrapper"
        "$scratch/wrapper" "${wrapped[@]}"
    done
}

# Eight threads share a model.
threads() {
    g++ -std=c++17 -g -O1 -fsanitize=thread -I "$prefix/include" tests/c/test.cpp "${library[@]}" -o "$scratch/threads"
    TSAN_OPTIONS=halt_on_error=1 "$scratch/threads" "${wrapped[@]}"
}

# No allocation where memory is lent, and no byte touched that is not the program's.
memory() {
    gcc "${c99[@]}" "${wrap[@]}" -I "$prefix/include" tests/c/test*.c "${library[@]}" -o "$scratch/memory"
    "$scratch/memory" "${files[@]}"
    have valgrind || { skip "memory under valgrind: not installed"; return; }
    valgrind --quiet --error-exitcode=9 --leak-check=full "$scratch/memory" "${files[@]}"
}

symbols() {
    local others
    others=$(nm -g --defined-only "$prefix/lib/libnanoembed.a" | awk 'NF == 3 && $3 !~ /^nanoembed_/')
    [ -z "$others" ] || { echo "names that are not ours: $others"; return 1; }
    # What programs of an earlier version call is there.
    if [ -f "$prefix/lib/libnanoembed.so" ]; then
        others=$(comm -23 <(sed -n 's/^function \([a-z0-9_]*\):.*/\1/p' tests/abi/*.txt | sort -u) \
            <(nm -D --defined-only "$prefix/lib/libnanoembed.so" | awk '{ print $3 }' | sort))
        [ -z "$others" ] || { echo "missing in the dynamic library: $others"; return 1; }
    fi
    rustc --edition 2024 --crate-type staticlib -C panic=unwind tests/c/other.rs -o "$scratch/libother.a"
    gcc "${c99[@]}" -I "$prefix/include" tests/c/two_libraries.c "$prefix/lib/libnanoembed.a" "$scratch/libother.a" \
        "${libraries[@]}" -o "$scratch/two"
    "$scratch/two"
}

# As users' machines have them: nothing tells programs where libraries are but what packages say.
packages() {
    local name
    # A package that is copied elsewhere is found there.
    rm -rf "$scratch/moved" && cp -R "$prefix" "$scratch/moved"
    if have pkg-config; then
        local -x PKG_CONFIG_PATH=$prefix/lib/pkgconfig
        # shellcheck disable=SC2046
        {
            gcc "${c99[@]}" examples/c/search.c $(pkg-config --cflags --libs nanoembed) -o "$scratch/search-library"
            gcc "${c99[@]}" examples/c/search.c $(pkg-config --static --cflags --libs nanoembed) -o "$scratch/search-linked"
            gcc "${c99[@]}" -static examples/c/search.c $(pkg-config --cflags --libs nanoembed) -o "$scratch/search-static"
            gcc "${c99[@]}" examples/c/search.c $(pkg-config --cflags --libs nanoembed-shared) -o "$scratch/search-shared"
        }
        for name in library linked static shared; do
            "$scratch/search-$name" "$model" tests/data/lines.txt "sunny outside" | head -n 1 | grep weather
        done
        readelf -d "$scratch/search-shared" | grep -F "NEEDED" | grep "libnanoembed.so.0.1"
        readelf -d "$scratch/search-library" | grep nanoembed && return 1
        PKG_CONFIG_PATH=$scratch/moved/lib/pkgconfig pkg-config --libs nanoembed | grep -F "$scratch/moved/"
    else
        skip "pkg-config: not installed"
    fi
    have cmake || { skip "the CMake package: cmake is not installed"; return; }
    cmake -S tests/cmake -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake --build "$scratch/cmake" >/dev/null
    "$scratch/cmake/semantic_search" "$model" tests/data/lines.txt "How do I reset my password?" | grep "new password"
    cmake -S examples/cmake/installed -B "$scratch/cmake-installed" -DCMAKE_PREFIX_PATH="$scratch/moved" >/dev/null
    cmake --build "$scratch/cmake-installed" --verbose | grep -F "$scratch/moved/" >/dev/null
    "$scratch/cmake/search_shared" "$model" tests/data/lines.txt "sunny outside" | head -n 1 | grep weather
    # Another version of 0.x has another interface.
    sed 's/nanoembed 0.1/nanoembed 1.0/' tests/cmake/CMakeLists.txt >"$scratch/CMakeLists.txt"
    cmake -S "$scratch" -B "$scratch/cmake-other" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/other-version" 2>&1 && return 1
    grep -q "compatible with requested" "$scratch/other-version"
    cmake -S examples/cmake/fetched -B "$scratch/cmake-fetched" -DNANOEMBED_CARGO_DIR="$target" >/dev/null
    cmake --build "$scratch/cmake-fetched" >/dev/null
    "$scratch/cmake-fetched/search" "$model" tests/data/lines.txt "sunny outside" | head -n 1 | grep weather
    # Nothing is linked again if nothing has changed.
    cmake --build "$scratch/cmake-fetched" | grep Linking && return 1
    have arm-none-eabi-gcc && bare_target thumbv7em-none-eabihf || {
        skip "CMake with a toolchain file: no arm-none-eabi-gcc or Rust target"; return; }
    cmake -S examples/cmake/cross -B "$scratch/cmake-cross" -DNANOEMBED_CARGO_DIR="$target" \
        -DCMAKE_TOOLCHAIN_FILE="$PWD/examples/cmake/cross/cortex-m4.cmake" >/dev/null
    cmake --build "$scratch/cmake-cross" >/dev/null
    have qemu-system-arm || { skip "the program of a toolchain file: no QEMU"; return; }
    qemu "$scratch/cmake-cross/words_c" "$scratch/cross.f32" | grep -q "^ram: "
}

# Programs for musl: static, and over its dynamic loader; the library has nothing of glibc in it.
musl() {
    local triple out=$scratch/musl others
    triple=$(uname -m)-unknown-linux-musl
    have musl-gcc || { skip "musl: musl-gcc is not installed"; return; }
    have pkg-config || { skip "musl: pkg-config is not installed"; return; }
    bare_target "$triple" || { skip "musl: rustup target add $triple"; return; }
    ./install.sh --target "$triple" --prefix "$out"
    others=$(nm -g --defined-only "$out/lib/libnanoembed.a" | awk 'NF == 3 && $3 !~ /^nanoembed_/')
    [ -z "$others" ] || { echo "names that are not ours: $others"; return 1; }
    local -x PKG_CONFIG_PATH=$out/lib/pkgconfig
    # shellcheck disable=SC2046
    musl-gcc "${c99[@]}" -static examples/c/search.c $(pkg-config --cflags --libs nanoembed) -o "$out/search"
    # shellcheck disable=SC2046
    musl-gcc "${c99[@]}" examples/c/search.c $(pkg-config --cflags --libs nanoembed) -o "$out/search-dynamic"
    readelf -d "$out/search" | grep -F "NEEDED" && return 1
    readelf -d "$out/search-dynamic" | grep -F "NEEDED" | grep -vF "[libc.so]" && return 1
    for others in search search-dynamic; do
        "$out/$others" "$model" tests/data/lines.txt "sunny outside" | sed -n 1p | grep weather
    done
}

examples() {
    local name
    for name in similarity search embed_stored embed_lines inspect_stream; do
        gcc "${c99[@]}" -fsanitize=address,undefined -I "$prefix/include" examples/c/$name.c "${library[@]}" \
            -o "$scratch/$name"
    done
    "$scratch/search" "$model" tests/data/lines.txt "sunny outside" | head -n 1 | grep weather
    # Blank lines are no lines, and the last needs no end.
    printf '\n  \nThe weather is lovely today.\n\nClick on the link to choose a new password.' >"$scratch/lines.txt"
    "$scratch/search" "$model" "$scratch/lines.txt" "How do I reset my password?" >"$scratch/found.txt"
    head -n 1 "$scratch/found.txt" | grep "new password"
    [ "$(grep -c '^-\?[01]\.[0-9]* [A-Z]' "$scratch/found.txt") $(wc -l <"$scratch/found.txt")" = "2 2" ]
    "$scratch/inspect_stream" embd <"$model" | tail -n 1 | grep "30522 tokens, complete"
    head -c 100000 "$model" | "$scratch/inspect_stream" embd >/dev/null 2>"$scratch/cut" && return 1
    grep "the file ends" "$scratch/cut"
    # The guide's first program.
    local texts=("How do I reset my password?" "I forgot my password")
    "$scratch/similarity" "$model" "${texts[@]}" | grep "^0\.[5-9]"
    # Also with the 90 MB that `nanoembed convert` makes, and without a file.
    # The program is the one that the workspace's tests build.
    cargo test --quiet --workspace --locked --no-run --test cli
    "$target/debug/nanoembed" convert "$model" "$scratch/f32.weights" --quiet
    "$scratch/similarity" "$scratch/f32.weights" "${texts[@]}" | grep "^0\.[5-9]"
    rm "$scratch/f32.weights"
    "$scratch/similarity" "$scratch/none.weights" "${texts[@]}" 2>"$scratch/none" && return 1
    grep "none.weights: No such file" "$scratch/none"
    for name in nearest_words semantic_search; do
        g++ -std=c++17 -g -O1 -pedantic -Wall -Wextra -Werror -fsanitize=address,undefined -I "$prefix/include" \
            examples/cpp/$name.cpp "${library[@]}" -o "$scratch/$name"
    done
    "$scratch/nearest_words" tests/data/words.fifu recomputed | grep comput
    "$scratch/nearest_words" "$scratch/none.fifu" recomputed && return 1
    "$scratch/semantic_search" "$model" tests/data/lines.txt "sunny outside" | grep "^sunny outside -> The weather"
    "$scratch/semantic_search" "$model" "$scratch/none.txt" "sunny outside" 2>"$scratch/none" && return 1
    grep "none.txt: cannot be read" "$scratch/none"
    # A vector for each line, and an error where the texts cannot be read or the vectors not be written.
    "$scratch/embed_lines" "$model" tests/data/lines.txt "$scratch/lines.f32"
    [ "$(wc -c <"$scratch/lines.f32")" = $((3 * 384 * 4)) ]
    "$scratch/embed_lines" "$model" tests "$scratch/lines.f32" 2>"$scratch/none" && return 1
    grep "tests: Is a directory" "$scratch/none"
    "$scratch/embed_lines" "$model" tests/data/lines.txt /dev/full 2>"$scratch/none" && return 1
    grep "/dev/full: No space left" "$scratch/none"
}

# Without the standard library nothing can allocate.
bare() {
    local found
    ./install.sh --no-std --prefix "$scratch/bare"
    found=$(nm "$scratch/bare/lib/libnanoembed.a" 2>/dev/null | grep -E '__rust_alloc|__rg_alloc| U malloc' || true)
    [ -z "$found" ] || { echo "$found"; return 1; }
    gcc "${c99[@]}" -I "$scratch/bare/include" examples/c/embed_stored.c "$scratch/bare/lib/libnanoembed.a" -lm \
        -o "$scratch/bare/embed_stored"
    "$scratch/bare/embed_stored" "$model" tests/data/lines.txt "$scratch/bare.f32" 32 auto 0
    gcc "${c99[@]}" -I "$prefix/include" examples/c/embed_stored.c "${library[@]}" -o "$scratch/embed_stored"
    "$scratch/embed_stored" "$model" tests/data/lines.txt "$scratch/std.f32" 32 auto 0
    cmp "$scratch/bare.f32" "$scratch/std.f32"
    # What was left out is refused, with the same status everywhere.
    cargo test --quiet --locked --config profile.dev.opt-level=0 --package nanoembed-core --no-default-features \
        --features embd --lib -- built_in left_out
}

bare_target() { rustup target list --installed 2>/dev/null | grep -qx "$1"; }

# Libraries for microcontrollers: for none of them is there a way to allocate or to panic.
targets() {
    local triple found
    for triple in thumbv7em-none-eabihf thumbv6m-none-eabi riscv32imac-unknown-none-elf; do
        bare_target $triple || { skip "library for $triple: rustup target add $triple"; continue; }
        ./install.sh --no-std --target $triple --prefix "$scratch/$triple"
        found=$(nm "$scratch/$triple/lib/libnanoembed.a" 2>/dev/null |
            grep -E 'panicking|unwrap_failed|expect_failed|_fail$|__rust_alloc|__rg_alloc| U malloc' || true)
        [ -z "$found" ] || { echo "$triple: $found"; return 1; }
        nm "$scratch/$triple/lib/libnanoembed.a" 2>/dev/null | grep ' T nanoembed_embed_text' >/dev/null
    done
}

can_size() {
    bare_target thumbv7em-none-eabihf || { skip "sizes: rustup target add thumbv7em-none-eabihf"; return 1; }
    have size || { skip "sizes: no binutils"; return 1; }
}

# Flash that programs take which use no more than a part of the library, with these cargo features.
sizes_of() {
    (cd examples/cortex-m && CARGO_TARGET_DIR=$target cargo build --quiet --locked --profile sizes "$@" \
        --bin size_decoder --bin size_words --bin size_all --bin size_reader_too)
    size "$target"/thumbv7em-none-eabihf/sizes/{size_decoder,size_words,size_all,size_reader_too} | tee "$scratch/sizes"
}

# The guide's table says how much flash each program takes, in this column; a percent more or less is no news.
sizes_are_told() {
    local name row label told
    for row in "size_words:looks words up" "size_all:looks words up and embeds sentences" \
        "size_reader_too:the same, and reads what files say"; do
        name=${row%%:*} label=${row#*:}
        told=$(awk -F'|' -v label="$label" -v column="$1" '$2 == " " label " " { gsub(/[ ,]/, "", $column); print $column }' README.md)
        awk -v name="$name" -v told="$told" '$6 ~ name "$" && ($1 > told * 1.01 || $1 < told * 0.99) {
            print name " takes " $1 " bytes; README.md says " told; exit 1 }' "$scratch/sizes"
    done
}

# With every format and every type of weights.
sizes_of_all() {
    can_size || return 0
    sizes_of --features all
    sizes_are_told 3
}

# With finalfusion and EMBD, floats and int8 alone: what int8 models and word vectors need.
sizes() {
    local limit name
    can_size || return 0
    sizes_of --no-default-features --features small
    sizes_are_told 4
    for limit in size_words:$((26 * 1024)) size_reader_too:$((130 * 1024)); do
        name=${limit%:*}
        [ "$(awk -v name="$name" '$6 ~ name "$" { print $1 }' "$scratch/sizes")" -le "${limit#*:}" ]
    done
}

# How deep the stack goes below each function, of what firmware takes and of everything.
stack() {
    local parts libraries=()
    bare_target thumbv7em-none-eabihf || { skip "stack: rustup target add thumbv7em-none-eabihf"; return; }
    have arm-none-eabi-objdump || { skip "stack: no arm-none-eabi-objdump"; return; }
    for parts in all embd,small static-models,small; do
        ./install.sh --no-std --target thumbv7em-none-eabihf --parts $parts --prefix "$scratch/stack-$parts"
        libraries+=("$parts=$scratch/stack-$parts/lib/libnanoembed.a")
    done
    python3 tests/stack.py tests/stack.txt "${libraries[@]}"
}

device=$target/thumbv7em-none-eabihf/release
qemu() {
    local program=$1 argument options=enable=on,target=native
    shift
    for argument in "$@"; do options=$options,arg=$argument; done
    qemu-system-arm -M "${machine:-mps2-an386}" -nographic -icount shift=0 -semihosting-config $options \
        -kernel "$program" </dev/null
}

# README tells the RAM of a program, whose output is in $1, after the words in $2, and, where $3 is given, the thousands of
# millions of instructions of its last text after that. Two percent more or less is no news.
ram_is_told() {
    awk -v words="$2" -v also="${3-}" '
        FNR == NR { if ($1 == "ram:") ram = $2 / 1024; if ($1 == "instructions:") cost = $2 / 1e9; next }
        function near(told, measured) { return told * 1.02 >= measured && told * 0.98 <= measured }
        at = index($0, words) {
            rest = substr($0, at + length(words))
            is_told = near(rest + 0, ram)
            if (also) { sub(/^[0-9.]+ KiB \| /, "", rest); is_told = is_told && near(rest + 0, cost) }
            if (is_told) { found = 1; exit }
        }
        END { if (!found) { printf "README.md does not say: %s%.1f KiB | %.2f\n", words, ram, cost; exit 1 } }
    ' "$1" README.md
}

cortex_m() {
    local mode
    bare_target thumbv7em-none-eabihf || { skip "Cortex-M: rustup target add thumbv7em-none-eabihf"; return; }
    (cd examples/cortex-m && CARGO_TARGET_DIR=$target cargo build --quiet --locked --release \
        --bin words --bin small_bert --bin minilm)
    have qemu-system-arm || { skip "Cortex-M in QEMU: not installed"; return; }
    gcc -std=c99 -O1 tests/c/compare.c -lm -o "$scratch/compare"
    [ -f "$prefix/lib/libnanoembed.a" ] || build
    say "word vectors in flash"
    qemu "$device/words" "$scratch/words.f32" | tee "$scratch/words.txt"
    grep -q "recomputed (by its n-grams): comput" "$scratch/words.txt" || grep -q "recomputed (by its n-grams):.* comput" "$scratch/words.txt"
    [ "$(sed -n 's/^ram: //p' "$scratch/words.txt")" -lt 16384 ]
    ram_is_told "$scratch/words.txt" '| `words` | '
    say "a small BERT in flash"
    qemu "$device/small_bert" "$scratch/small_device.f32" | tee "$scratch/small_bert.txt"
    ram_is_told "$scratch/small_bert.txt" '| `small_bert` | '
    [ -x "$scratch/embed_stored" ] ||
        gcc "${c99[@]}" -I "$prefix/include" examples/c/embed_stored.c "${library[@]}" -o "$scratch/embed_stored"
    "$scratch/embed_stored" tests/data/small_bert.weights tests/data/small_texts.txt "$scratch/small_host.f32" 16 auto 0
    "$scratch/compare" "$scratch/small_device.f32" "$scratch/small_host.f32" 1e-5
    # 32-bit floats; quantised activations and integers alone, which give the same bits as on the host.
    for mode in "float 4 1e-5" "auto 8 0" "fixed 8 0"; do
        # shellcheck disable=SC2086
        set -- $mode
        say "all-MiniLM-L6-v2 from storage, $1"
        qemu "$device/minilm" "$model" tests/data/texts.txt "$scratch/device.f32" 32 "$1" "$2" | tee "$scratch/minilm.txt"
        "$scratch/embed_stored" "$model" tests/data/texts.txt "$scratch/host.f32" 32 "$1" "$2"
        "$scratch/compare" "$scratch/device.f32" "$scratch/host.f32" "$3"
        [ "$(sed -n 's/^ram: //p' "$scratch/minilm.txt")" -le 262144 ]
        ram_is_told "$scratch/minilm.txt" "(\`${1^^}\`)$([ "$1" != auto ] || echo ', `SMLAD`') | $2 | " instructions
    done
    same_everywhere
    cortex_m_c
}

# The hashes that a demo page shows beside the browser's, of its texts' vectors; NANOEMBED_WRITE_SAME=1 writes them anew.
same_everywhere() {
    local shown=../wasm/demo/same
    say "vectors of the demo's texts"
    qemu "$device/minilm" "$model" $shown/texts.txt "$scratch/device.f32" 32 auto 8
    "$scratch/embed_stored" "$model" $shown/texts.txt "$scratch/host.f32" 32 auto 0
    hashes_are "$scratch/device.f32" $shown/cortex-m.sha256
    hashes_are "$scratch/host.f32" $shown/c.sha256
}

# Whether a file has the hash of each of these vectors, of 384 floats, in a line.
hashes_are() {
    local hashes
    hashes=$(split -b 1536 --filter='sha256sum | cut -c 1-64' "$1")
    if [ -n "${NANOEMBED_WRITE_SAME:-}" ]; then echo "$hashes" >"$2"; fi
    echo "$hashes" | diff "$2" -
}

# The same in C, linked with the library as it is installed, of the parts that they need.
cortex_m_c() {
    local out=$scratch/cortex-m-c
    have arm-none-eabi-gcc || { skip "Cortex-M in C: no arm-none-eabi-gcc"; return; }
    ./install.sh --no-std --target thumbv7em-none-eabihf --parts embd,small --prefix "$out"
    make -s -B -C examples/cortex-m/c LIBRARY="$out/lib/libnanoembed.a" INCLUDE="$out/include" OUT="$out"
    arm-none-eabi-size "$out/words_c" "$out/minilm_c"
    say "word vectors in flash, in C"
    qemu "$out/words_c" "$scratch/words_c.f32" | tee "$scratch/words.txt"
    ram_is_told "$scratch/words.txt" "vectors in "
    cmp "$scratch/words_c.f32" "$scratch/words.f32"
    say "all-MiniLM-L6-v2 from storage, in C"
    qemu "$out/minilm_c" "$model" tests/data/texts.txt "$scratch/device.f32" | tee "$scratch/minilm.txt"
    "$scratch/embed_stored" "$model" tests/data/texts.txt "$scratch/host.f32" 32 auto 8
    "$scratch/compare" "$scratch/device.f32" "$scratch/host.f32" 0
    [ "$(sed -n 's/^ram: //p' "$scratch/minilm.txt")" -le 262144 ]
    ram_is_told "$scratch/minilm.txt" "all-MiniLM-L6-v2 in "
}

# A static model on a Cortex-M0 with 16 KiB of RAM: the host's bits.
cortex_m0() {
    local out=$scratch/cortex-m0
    bare_target thumbv6m-none-eabi || { skip "Cortex-M0: rustup target add thumbv6m-none-eabi"; return; }
    have arm-none-eabi-gcc || { skip "Cortex-M0: no arm-none-eabi-gcc"; return; }
    [ -f "$prefix/lib/libnanoembed.a" ] || build
    ./install.sh --no-std --target thumbv6m-none-eabi --parts static-models,small --prefix "$out"
    make -s -B -C examples/cortex-m/c LIBRARY="$out/lib/libnanoembed.a" INCLUDE="$out/include" OUT="$out" m0
    # Of that, 57 KiB are the model.
    arm-none-eabi-size "$out/table_c" | tee "$scratch/table.size"
    have qemu-system-arm || { skip "Cortex-M0 in QEMU: not installed"; return; }
    machine=microbit qemu "$out/table_c" "$scratch/table_device.f32" | tee "$scratch/table.txt"
    gcc "${c99[@]}" -I "$prefix/include" examples/c/embed_lines.c "${library[@]}" -o "$scratch/embed_lines"
    "$scratch/embed_lines" tests/data/small_table.weights tests/data/small_texts.txt "$scratch/table_host.f32"
    cmp "$scratch/table_device.f32" "$scratch/table_host.f32"
    [ "$(sed -n 's/^ram: //p' "$scratch/table.txt")" -le $((13 * 1024)) ]
    ram_is_told "$scratch/table.txt" '| `table` | **'
}

# A static model whose tokenizer is a Unigram, on a Cortex-M4: the host's bits.
unigram() {
    local out=$scratch/unigram
    bare_target thumbv7em-none-eabihf || { skip "a Unigram in firmware: rustup target add thumbv7em-none-eabihf"; return; }
    have arm-none-eabi-gcc || { skip "a Unigram in firmware: no arm-none-eabi-gcc"; return; }
    [ -f "$prefix/lib/libnanoembed.a" ] || build
    ./install.sh --no-std --target thumbv7em-none-eabihf --parts static-models,families,small --prefix "$out"
    make -s -B -C examples/cortex-m/c LIBRARY="$out/lib/libnanoembed.a" INCLUDE="$out/include" OUT="$out" unigram
    have qemu-system-arm || { skip "a Unigram in QEMU: not installed"; return; }
    qemu "$out/unigram_c" "$scratch/unigram_device.f32" | tee "$scratch/unigram.txt"
    gcc "${c99[@]}" -I "$prefix/include" examples/c/embed_lines.c "${library[@]}" -o "$scratch/embed_lines"
    "$scratch/embed_lines" tests/data/small_unigram.weights tests/data/unigram_texts.txt "$scratch/unigram_host.f32"
    [ "$(wc -c <"$scratch/unigram_host.f32")" = $((5 * 64 * 4)) ]
    cmp "$scratch/unigram_device.f32" "$scratch/unigram_host.f32"
    ram_is_told "$scratch/unigram.txt" '| `unigram` | '
    flash_is_told "$out/unigram_c" tests/data/small_unigram.weights
}

# README tells the flash that a program takes beside its model, within a percent.
flash_is_told() {
    local code told
    code=$(($(arm-none-eabi-size "$1" | awk 'END { print $1 + $2 }') - $(wc -c <"$2")))
    told=$(sed -n 's/^| `unigram` .* beside \([0-9]*\) KiB of code.*/\1/p' README.md)
    [ $((code * 100)) -le $((told * 1024 * 101)) ] && [ $((code * 100)) -ge $((told * 1024 * 99)) ] ||
        { echo "README.md does not say $((code / 1024)) KiB of code"; return 1; }
}

source tests/ecosystems.sh
source tests/guide.sh

steps=(build guide header functions wrapper threads memory symbols packages musl examples bare targets sizes stack cortex_m
    cortex_m0 unigram embassy zephyr platformio arduino conan vcpkg)
[ $# -gt 0 ] || set -- "${steps[@]}"
for step in "$@"; do
    case " ${steps[*]} sizes_of_all " in
    *" $step "*) ;;
    *) echo "no step '$step'; there are: ${steps[*]} sizes_of_all" >&2; exit 2 ;;
    esac
done
if [ $# = 1 ]; then
    "$1"
    exit
fi
# Each is a process of its own, so that those behind one that fails are run too.
failed=()
for step in "$@"; do
    say "$step"
    start=$SECONDS
    ./test.sh "$step" || failed+=("$step")
    say "$step: $((SECONDS - start)) s"
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "ffi: FAILED: ${failed[*]}"
    exit 1
fi
echo "ffi: all done"

# Step of ffi/test.sh: README.md as a newcomer follows it. Sourced by it, which has the variables that this uses.

# The console lines at the beginning of a section of README.md.
guide_lines() {
    awk -v section="## $1" '$0 == section { here = 1 } here && /^```$/ { exit } on { print } here && /^```console$/ { on = 1 }' \
        README.md
}

# The first block of code in a language.
guide_program() { awk -v begin="^\`\`\`$1\$" '$0 ~ begin { on = 1; next } on && /^```$/ { exit } on' README.md; }

# README's lines, pasted one after the other into a shell without settings, say what stands beneath them; its programs are
# those of the examples, and short.
guide() {
    local out=$scratch/guide line tool
    guide_program c | cmp - examples/c/similarity.c
    guide_program cpp | cmp - examples/cpp/nearest_words.cpp
    for line in c/similarity.c:50 c/embed_lines.c:50 cpp/nearest_words.cpp:50 cpp/semantic_search.cpp:50 \
        cmake/installed/CMakeLists.txt:10 cmake/fetched/CMakeLists.txt:10; do
        [ "$(wc -l <"examples/${line%:*}")" -le "${line#*:}" ] || { echo "examples/$line: longer"; return 1; }
    done
    for tool in cc c++ pkg-config cmake; do
        have $tool || { skip "README's lines in a shell: $tool is not installed"; return; }
    done
    rm -rf "$out" && mkdir -p "$out/home"
    ln -s "$PWD" "$out/ffi"
    ln -s "$(realpath ../models)" "$out/models"
    { guide_lines Install; guide_lines C++17; } >"$out/lines"
    sed -n 's/^\$ //p' "$out/lines" >"$out/pasted"
    [ "$(wc -l <"$out/pasted")" -ge 9 ]
    (cd "$out" && env -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" \
        RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_TARGET_DIR="$target" HOME="$out/home" bash -e pasted >said)
    # After what installers say comes what README has, line by line.
    grep -v '^\$ ' "$out/lines" >"$out/expected"
    grep -xFf "$out/expected" "$out/said" | diff "$out/expected" -
}

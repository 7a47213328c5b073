#!/bin/bash -eu
# Builds all targets for OSS-Fuzz, with their first inputs and dictionaries.
cd "$SRC/nanoembed"
cargo fuzz build -O --debug-assertions
cargo run --quiet --locked -p nanoembed-host-tests --bin fuzz_seeds -- fuzz/corpus
for source in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$source" .rs)
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
    mkdir -p "fuzz/kept/$name"
    zip -q -j -r "$OUT/${name}_seed_corpus.zip" "fuzz/corpus/$name" "fuzz/kept/$name"
    if [ -e "fuzz/dictionaries/$name.dict" ]; then cp "fuzz/dictionaries/$name.dict" "$OUT/"; fi
    printf '[libfuzzer]\nmax_len = 1048576\ntimeout = 10\nrss_limit_mb = 1024\n' >"$OUT/$name.options"
done
# Targets over folders change one file of those here.
cp -r tests/data "$OUT/"

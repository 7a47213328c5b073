#!/usr/bin/env bash
# Makes words.fifu: frequent English words with the vectors that the built-in model (Apache-2.0, see
# models/NOTICE) gives them, product-quantised.
set -euo pipefail
cd "$(dirname "$0")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
nanoembed() { cargo run --quiet --release --locked -p nanoembed-cli -- "$@"; }

# The model's vocabulary has the frequent words first, and before them those that say little.
seq 2100 12000 | nanoembed tokenize --decode >"$scratch/tokens"
grep -E '^[a-z]{4,14}$' "$scratch/tokens" | awk '!seen[$0]++' | head -n 5000 >"$scratch/words"
nanoembed embed -f "$scratch/words" | paste -d ' ' "$scratch/words" - >"$scratch/words.txt"
nanoembed convert --from text "$scratch/words.txt" "$scratch/words.fifu"
nanoembed quantize --type pq --subquantizers 48 "$scratch/words.fifu" wasm/demo/words.fifu

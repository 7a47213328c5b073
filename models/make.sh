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
source models/recipe.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
convert "$(published "$@")" models/all-MiniLM-L6-v2.int8.weights --type int8

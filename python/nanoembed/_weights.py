"""Weights as files store them: brought into other formats, turned into floats, compared."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._files import Path


def migrate(
    inputs: Path | Sequence[Path],
    output: Path,
    *,
    to: str | None = None,
    names: Path | None = None,
    config: Path | None = None,
    keep_names: bool = False,
    like: Path | None = None,
    shard_bytes: int | None = None,
    report: bool = False,
    residual: Path | None = None,
) -> dict[str, Any]:
    """Brings weights between UQFF, GGUF and safetensors without requantising them: blocks stay what
    they are where the other format has their type, all else becomes f32. A file appears when it is
    complete.

    :param inputs: a file or several; the first of several shards or parts brings the others.
    :param to: what ``output`` shall be, such as ``uqff-0.2`` or ``gguf``; ``None``: by its ending.
    :param names: names of layers that have only numbers: JSON ``{"0": "lm_head", …}`` or lines.
    :param config: the model's ``config.json``; ``None`` is the one beside the input.
    :param keep_names: keep names and orders of rows as the input has them; excludes ``names``.
    :param like: take metadata and the choice and order of tensors from this GGUF file.
    :param shard_bytes: the largest UQFF shard; ``None`` is 10 GiB.
    :param report: write ``uqff_report.json`` beside a UQFF 1.2 file.
    :param residual: where tensors go that are no layers of a UQFF file; ``None`` is
        ``residual.safetensors`` beside the output.
    :returns: ``files``, each with ``path`` and ``bytes``.
    """
    if keep_names and names is not None:
        raise ValueError("keep_names and names exclude each other")
    if shard_bytes is not None and shard_bytes < 1:
        raise ValueError(f"shard_bytes={shard_bytes} is no size")
    several = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    options: _native.WritingOptions = {
        "to": to,
        "names": _path(names),
        "config": _path(config),
        "keep_names": keep_names,
        "like": _path(like),
        "shard_bytes": shard_bytes,
        "report": report,
        "residual": _path(residual),
    }
    found = _native.migrate([os.fspath(it) for it in several], os.fspath(output), options)
    result: dict[str, Any] = json.loads(found)
    return result


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def dequantize(
    input: Path, output: Path, *, type: Literal["f32", "f16", "bf16"] = "f32"
) -> dict[str, Any]:
    """Turns all weights of a UQFF, GGUF, safetensors, ``.weights`` or ``.amb`` file into floats in
    a ``.safetensors`` file, with the values that the format's own program computes, to the last
    bit. :func:`read_tensor` gives one of them as an array.

    :returns: ``files``, with ``path`` and ``bytes``.
    """
    output = os.fspath(output)
    if not output.endswith(".safetensors"):
        raise ValueError(f"output={output!r} does not end with .safetensors")
    result: dict[str, Any] = json.loads(_native.dequantize(os.fspath(input), output, type))
    return result


def read_tensor(path: Path, name: str) -> npt.NDArray[np.float32]:
    """One tensor of a file, dequantised: read-only, in its shape.

    :param name: as ``inspect(path)["tensors"]`` has it, or a layer, whose weight is meant.
    :raises NotFound: there is no such tensor.
    """
    return np.asarray(_native.Floats(os.fspath(path), name))


@dataclass(frozen=True)
class Shapes:
    """A tensor that has different shapes in two files."""

    name: str
    a: list[int]
    b: list[int]


@dataclass(frozen=True)
class Difference:
    """How far the values of a tensor are apart in two files."""

    name: str
    shape: list[int]
    dtype_a: str
    """How it is stored in the first file."""
    dtype_b: str
    max_abs: float | None
    """The largest difference of two values; this and the others are ``None`` if it is no number."""
    nmse: float | None
    """The sum of squared differences as a share of the first file's squared values."""
    cosine: float | None
    """Of all values as one vector."""


@dataclass(frozen=True)
class Differences:
    """What two files have in common, and what not."""

    only_a: list[str]
    """Tensors that only the first file has."""
    only_b: list[str]
    shapes: list[Shapes]
    """Tensors of one name and different shapes."""
    tensors: list[Difference]
    """Tensors of one name and shape."""


def diff(a: Path, b: Path, *, names: Path | None = None) -> Differences:
    """Compares the tensors of two files, of any formats of weights: names, shapes, and how far the
    dequantised values are apart. ``a`` is the measure.

    :param names: names of layers that have only numbers: JSON ``{"0": "lm_head", …}`` or lines.
    """
    found = json.loads(_native.differences(os.fspath(a), os.fspath(b), _path(names)))
    return Differences(
        found["only_a"],
        found["only_b"],
        [Shapes(**shapes) for shapes in found["shapes"]],
        [Difference(**difference) for difference in found["tensors"]],
    )

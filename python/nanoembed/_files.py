"""Files of models and word vectors: what is in them, whether they are whole, and other forms of
them. Paths only: nothing here needs the weights in Python's memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import _native
from ._keywords import Role

Path: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True)
class Finding:
    """A thing that is wrong with a file."""

    file: str
    offset: int | None
    """The byte, unless it is the file as a whole that is wrong."""
    code: int
    name: str
    message: str


@dataclass(frozen=True)
class Verified:
    """What a check came to. It is true if nothing is wrong."""

    checked: str
    """What was checked, for people; empty where something is wrong."""
    findings: list[Finding] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.findings


def inspect(path: Path) -> dict[str, Any]:
    """What a file or folder says of itself, without reading its weights: ``format``, ``metadata``,
    ``tokenizer``, ``tensors`` and more, as ``nanoembed inspect --json`` has them."""
    found: dict[str, Any] = json.loads(_native.inspection(os.fspath(path)))
    return found


def verify(
    path: Path,
    *,
    strict: bool = False,
    duplicates: Literal["error", "first"] = "error",
    utf8: Literal["error", "lossy", "bytes"] = "error",
) -> Verified:
    """Whether a file is whole and the model in it complete.

    :param strict: refuse harmless deviations too, and values that are no finite numbers.
    :param duplicates: whether words that stand in a vocabulary twice are wrong.
    :param utf8: whether words that are not UTF-8 are wrong.
    """
    checked, findings = _native.verification(os.fspath(path), strict, duplicates, utf8)
    return Verified(checked, [Finding(**finding) for finding in json.loads(findings)])


def convert(
    input: Path,
    output: Path,
    *,
    type: str | None = None,
    block: int | None = None,
    bits: float | None = None,
    for_web: bool = False,
    config: Path | None = None,
    vocab: Path | None = None,
    calibrate: Path | None = None,
    pooler: bool = False,
    name: str | None = None,
    metadata: Mapping[str, str] | None = None,
    as_: Role | None = None,
    allow_unknown: Iterable[str] = (),
    adapter: Path | None = None,
    duplicates: Literal["error", "first"] | None = None,
    utf8: Literal["error", "lossy", "bytes"] | None = None,
    normalize: bool | None = None,
    normalized: bool | None = None,
    first: int | None = None,
    ignore_count: bool | None = None,
) -> dict[str, Any]:
    """Converts a model to a ``.weights``, ``.amb`` or GGUF file, or word vectors to or from a
    ``.fifu`` file: the ending of ``output`` says which. The output appears when it is complete. An
    option that means nothing for the conversion is refused.

    Of models:

    :param type: how weights are stored: ``f32`` (the default), ``f16``, ``int8``, …
    :param block: elements that share a scale, in ``.amb`` files.
    :param bits: bits a weight, for ``type="adaptive"``.
    :param for_web: keep codes of ``int8`` small, for browsers.
    :param config: a ``config.json``, for files that do not say their sizes.
    :param vocab: a ``vocab.txt``, a token a line, for ``.weights`` files without a vocabulary.
    :param calibrate: a file of texts, one a line, that weights of few bits are tuned to.
    :param pooler: keep the pooler, which embeddings have no use for.
    :param name: the model's name.
    :param metadata: more entries of metadata.
    :param as_: ``"query"`` or ``"document"``: the route that such texts take through a model with a
        Router, instead of its default route.
    :param allow_unknown: names of settings in a folder's files that are passed over, with a
        ``UserWarning`` each, where nobody knows what they change and the model would be refused.
    :param adapter: the folder of a LoRA adapter to merge into a model in a folder.

    Of word vectors:

    :param duplicates: ``first`` keeps the first of words that stand there twice.
    :param utf8: ``lossy`` and ``bytes`` take words that are not UTF-8.
    :param normalize: ``False`` leaves vectors in ``.fifu`` files as they are.
    :param normalized: write vectors of length 1 to other files.
    :param first: read only so many words.
    :param ignore_count: take the words that are there, whatever the first line announces.
    :returns: ``files``, ``tensors`` and ``left_out`` of a model; ``words``, ``subwords``,
        ``dimensions`` and ``repeated`` of word vectors.
    """
    input, output = os.fspath(input), os.fspath(output)
    of_models = {
        "type": type,
        "block": block,
        "bits": bits,
        "for_web": for_web or None,
        "config": config,
        "vocab": vocab,
        "calibrate": calibrate,
        "pooler": pooler or None,
        "name": name,
        "as_": as_,
        "allow_unknown": list(allow_unknown) or None,
        "adapter": adapter,
    }
    of_words = {
        "duplicates": duplicates,
        "utf8": utf8,
        "normalize": normalize,
        "normalized": normalized,
        "first": first,
        "ignore_count": ignore_count,
    }
    entries = list((metadata or {}).items())
    if _native.is_model_name(output):
        _refuse(of_words, "word vectors")
        options: _native.ModelOptions = {
            "block": block,
            "bits": bits,
            "for_web": for_web,
            "config": None if config is None else os.fspath(config),
            "vocab": None if vocab is None else os.fspath(vocab),
            "calibrate": None if calibrate is None else os.fspath(calibrate),
            "pooler": pooler,
            "name": name,
            "metadata": entries,
            "role": as_,
            "allow_unknown": list(allow_unknown),
            "adapter": None if adapter is None else os.fspath(adapter),
        }
        found = _native.convert_model(input, output, type or "f32", options)
    else:
        _refuse(of_models, "models")
        found = _native.convert_words(
            input,
            output,
            {
                "duplicates": duplicates or "error",
                "utf8": utf8 or "error",
                "normalize": normalize is not False,
                "normalized": normalized is True,
                "first": first,
                "ignore_count": ignore_count is True,
                "metadata": entries,
            },
        )
    result: dict[str, Any] = json.loads(found)
    return result


def _refuse(options: Mapping[str, object], kind: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} is for {kind}")


def quantize(
    input: Path,
    output: Path,
    type: str,
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    bits: int | None = None,
) -> dict[str, Any]:
    """Stores weights in fewer bits in a GGUF, UQFF or safetensors file, or word vectors as codes in
    a ``.fifu`` file. :func:`convert` makes ``.weights`` and ``.amb`` files.

    :param type: ``q8_0``, ``q4k``, ``hqq4``, ``afq4``, ``fp8``, … of weights; ``pq`` of word
        vectors.
    :param include: quantise only tensors whose names match one of these patterns.
    :param exclude: quantise no tensors whose names match one of these.
    :param bits: bits of a code of ``pq``, 1 to 8.
    :returns: ``files`` and ``tensors`` with ``bits`` and ``nmse`` each; of ``pq``, ``bits`` and
        ``nmse``.
    """
    found = _native.quantize(
        os.fspath(input), os.fspath(output), type, list(include), list(exclude), bits
    )
    result: dict[str, Any] = json.loads(found)
    return result

"""What methods of a model take beside texts: types of keywords, and what several of them make of
theirs."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

import numpy.typing as npt

from . import _native
from ._progress import Progress
from ._texts import Family

Role: TypeAlias = Literal["query", "document"]
Dtype: TypeAlias = Literal["float32", "float16", "int8", "binary"]
OnError: TypeAlias = Literal["raise", "null"]
VectorKind: TypeAlias = Literal["dense", "sparse", "multi"]


class Prompted(TypedDict, total=False):
    """What stands before texts: at most one of these."""

    as_: Role | None
    prompt_name: str | None
    prompt: str | None


class Tokenizing(Prompted, total=False):
    """Keywords of ``tokenize``."""

    max_tokens: int | None
    on_error: OnError


class EmbeddingOthers(Prompted, total=False):
    """Keywords of ``embed`` for sparse vectors, and for a vector for each token."""

    on_error: OnError
    progress: Progress


class EmbeddingOne(Prompted, total=False):
    """Keywords of ``embed`` for one text."""

    truncate_dim: int | None
    normalize: bool
    dtype: Dtype
    on_error: OnError
    progress: Progress


class Embedding(EmbeddingOne, total=False):
    """Keywords of ``embed`` for several texts."""

    out: npt.NDArray[Any] | None
    to: Family | None


def before_texts(
    as_: str | None = None,
    prompt_name: str | None = None,
    prompt: str | None = None,
    *,
    usual: str | None = None,
) -> _native.Before:
    """What stands before texts; ``usual`` is the role whose prompt is used where there is one."""
    named = {"as_": as_, "prompt_name": prompt_name, "prompt": prompt}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} exclude each other")
    return {"prompt": prompt, "prompt_name": prompt_name, "role": as_, "usual_role": usual}


def is_strict(on_error: str) -> bool:
    """Whether items that are no text raise."""
    if on_error not in ("raise", "null"):
        raise ValueError(f"on_error={on_error!r} is not 'raise' or 'null'")
    return on_error == "raise"


def check_counts(**counts: int | None) -> None:
    """Refuses counts below 1, by their names."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ValueError(f"{name}={count} is not 1 or more")

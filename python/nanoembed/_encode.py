"""How sentence-transformers' ``encode`` is asked for vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

import numpy as np
import numpy.typing as npt

from . import _native
from ._dense import Dense
from ._keywords import Dtype
from ._progress import Progress
from ._results import Embedded
from ._texts import Texts
from ._truncation import warn_of_truncated


class EncodingKeywords(TypedDict, total=False):
    """The keywords of ``Model.encode``: see :class:`Encoding`."""

    batch_size: int
    show_progress_bar: bool | None
    output_value: str | None
    precision: str
    convert_to_numpy: bool
    convert_to_tensor: bool
    device: Any
    normalize_embeddings: bool
    truncate_dim: int | None


@dataclass(frozen=True)
class Encoding:
    """Its keywords but for prompts. What makes no sense here is refused, not ignored."""

    batch_size: int = 32
    """Has no effect: texts are packed by their tokens, and results do not depend on it."""
    show_progress_bar: bool | None = None
    output_value: str | None = "sentence_embedding"
    precision: str = "float32"
    """``float32``, ``ubinary`` (as ``dtype="binary"``) or ``binary`` (the same minus 128, int8).
    ``int8`` and ``uint8`` of sentence-transformers depend on the other texts of a call and are
    refused: ``embed(dtype="int8")`` does not."""
    convert_to_numpy: bool = True
    convert_to_tensor: bool = False
    """Gives a tensor of torch, which has to be installed."""
    device: Any = None
    normalize_embeddings: bool = False
    truncate_dim: int | None = None

    def __post_init__(self) -> None:
        refused = {
            "output_value": self.output_value != "sentence_embedding",
            "device": self.device is not None and str(self.device) != "cpu",
            "precision": self.precision not in ("float32", "binary", "ubinary"),
            "batch_size": self.batch_size < 1,
        }
        for name, is_refused in refused.items():
            if is_refused:
                raise ValueError(f"encode does not support {name}={getattr(self, name)!r} here")

    @property
    def dense(self) -> Dense:
        """How vectors are computed."""
        dtype: Dtype = "float32" if self.precision == "float32" else "binary"
        return Dense(self.truncate_dim, self.normalize_embeddings, dtype, to="numpy")

    def rows(self, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Vectors of that type as ``encode`` gives them."""
        if self.precision == "binary":
            return (vectors.astype(np.int16) - 128).astype(np.int8)
        return vectors


class Embedding(Protocol):
    """What ``encode`` needs of a model."""

    def _embed(
        self,
        texts: Texts,
        before: _native.Before,
        dense: Dense,
        *,
        progress: Progress = None,
    ) -> Embedded: ...


def encoded(model: Embedding, sentences: Texts, before: _native.Before, encoding: Encoding) -> Any:
    """Vectors as ``encode`` gives them."""
    is_one = isinstance(sentences, str)
    embedded = model._embed(  # pyright: ignore[reportPrivateUsage]
        [sentences] if is_one else sentences,
        before,
        encoding.dense,
        progress=bool(encoding.show_progress_bar),
    )
    warn_of_truncated(embedded.status, embedded.tokens)
    rows = encoding.rows(embedded.vectors)
    if encoding.convert_to_tensor:
        rows = as_tensor(rows)
    if is_one:
        return rows[0]
    is_whole = encoding.convert_to_numpy or encoding.convert_to_tensor
    return rows if is_whole else list(rows)


def as_tensor(rows: npt.NDArray[Any]) -> Any:
    """The same numbers as a tensor of torch."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(
            "convert_to_tensor=True needs torch; without it there are numpy arrays"
        ) from error
    return torch.from_numpy(rows)

"""Sparse vectors, and a vector for each token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _native
from ._results import Embedded, SparseVector, Status


def sparse_vectors(model: _native.Model, *arguments: Any, **keywords: Any) -> Embedded:
    """Texts as sparse vectors."""
    counts, indices, values, fates = model.embed_sparse(*arguments, **keywords)
    ends = np.cumsum(counts, dtype=np.intp)[:-1]
    tokens = np.split(np.frombuffer(indices, np.uint32), ends)
    weights = np.split(np.frombuffer(values, np.float32), ends)
    return _of_each([SparseVector(*it) for it in zip(tokens, weights, strict=True)], fates)


def multi_vectors(model: _native.Model, *arguments: Any, **keywords: Any) -> Embedded:
    """Texts as a vector for each token."""
    counts, rows, fates = model.embed_multi(*arguments, **keywords)
    ends = np.cumsum(counts, dtype=np.intp)[:-1]
    return _of_each(list(np.split(np.asarray(rows), ends)), fates)


def _of_each(vectors: list[Any], fates: tuple[bytes, bytes]) -> Embedded:
    """The vectors of texts, ``None`` where there is no text."""
    status, tokens = np.frombuffer(fates[0], np.uint8), np.frombuffer(fates[1], np.uint32)
    has_text = np.isin(status, (Status.OK, Status.TRUNCATED))
    # Of no texts, `numpy.split` makes one part.
    found = [it if there else None for it, there in zip(vectors, has_text, strict=False)]
    return Embedded(found, status, tokens, None)


def decoded(
    vector: SparseVector, top_k: int | None, token: Callable[[int], str | None]
) -> list[tuple[str, float]]:
    """The heaviest tokens and their weights; equals in the order of the vocabulary."""
    if top_k is not None and top_k < 0:
        raise ValueError(f"top_k={top_k} is no number of tokens")
    order = np.argsort(-vector.values, kind="stable")[:top_k]
    return [(token(int(vector.indices[at])) or "", float(vector.values[at])) for at in order]

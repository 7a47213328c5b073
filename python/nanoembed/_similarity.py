"""Similarities of vectors in every form that they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._results import SparseVector


def similarity(a: Any, b: Any, *, dimensions: int | None = None) -> npt.NDArray[np.float32]:
    """The cosines between vectors; of sparse vectors their dot products, and of texts with a vector
    for each token their MaxSim.

    :param a: ``[n, dimensions]`` or ``[dimensions]``, of float32, float16 or int8; or, like ``b``,
        of binary vectors (uint8); or a :class:`SparseVector` or a list of such, or a list of arrays
        ``[tokens, dimensions]``: see :func:`max_sim`.
    :param b: ``[m, dimensions]`` or ``[dimensions]``.
    :param dimensions: of binary vectors, how many bits count; ``None`` all.
    :returns: ``float32 [n, m]``; a vector of one dimension counts as one row. Binary vectors of
        whose bits a part ``d`` differs have the cosine of ``π · d``. Vectors without length are
        similar to nothing: 0. Rows that are not there (NaN; of int8 zeros) have NaN, which is
        greater than nothing and sorts last. Binary vectors cannot tell such rows.
    """
    kind = _kind(a)
    if kind != _kind(b):
        raise TypeError(f"{kind} vectors are compared with such only, not with {_kind(b)} ones")
    if kind != "dense":
        if dimensions is not None:
            raise ValueError("dimensions is for binary vectors (uint8)")
        return _dot(_several(a), _several(b)) if kind == "sparse" else max_sim(a, b)
    a, b = np.atleast_2d(np.asarray(a)), np.atleast_2d(np.asarray(b))
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"vectors of {a.shape[1]} and {b.shape[1]} elements cannot be compared")
    if (a.dtype == np.uint8) != (b.dtype == np.uint8):
        raise TypeError("binary vectors (uint8) are compared with such only")
    if a.dtype != np.uint8 and dimensions is not None:
        raise ValueError("dimensions is for binary vectors (uint8)")
    if a.dtype == np.uint8:
        most = a.shape[1] * 8
        bits = most if dimensions is None else dimensions
        if not 0 < bits <= most:
            raise ValueError(f"dimensions={bits}: these vectors have {most} bits")
        left, right = _signs(a, bits), _signs(b, bits)
        differing = (bits - left @ right.T) / 2
        found: npt.NDArray[np.float32] = np.cos(np.pi * differing / bits).astype(np.float32)
        return found
    return _unit(a) @ _unit(b).T


def max_sim(queries: Any, documents: Any) -> npt.NDArray[np.float32]:
    """How well documents answer questions by late interaction: the sum over a question's vectors of
    the largest dot product with one of the document's.

    :param queries: a list of arrays ``[tokens, dimensions]``, or one such array.
    :param documents: likewise.
    :returns: ``float32 [n, m]``; 0 for a document without vectors.
    """
    queries, documents = _token_vectors(queries), _token_vectors(documents)
    widths = {vectors.shape[1] for vectors in (*queries, *documents)}
    if len(widths) > 1:
        raise ValueError(f"vectors of {min(widths)} and {max(widths)} elements cannot be compared")
    if not queries or not documents:
        return np.zeros((len(queries), len(documents)), np.float32)
    rows = _native.max_sim(_joined(queries), _joined(documents), widths.pop())
    return np.asarray(rows)


def _kind(vectors: Any) -> str:
    """``sparse``, ``multi`` or ``dense``: a list is of the kind of its first item."""
    if isinstance(vectors, SparseVector):
        return "sparse"
    if isinstance(vectors, (list, tuple)) and vectors:
        if isinstance(vectors[0], SparseVector):
            return "sparse"
        if isinstance(vectors[0], np.ndarray) and vectors[0].ndim == 2:
            return "multi"
    return "multi" if isinstance(vectors, np.ndarray) and vectors.ndim == 3 else "dense"


def _token_vectors(texts: Any) -> list[npt.NDArray[np.float32]]:
    """The vectors of the tokens of each text."""
    is_one = isinstance(texts, np.ndarray) and texts.ndim == 2
    found = [np.asarray(it, np.float32) for it in ([texts] if is_one else texts)]
    for at, vectors in enumerate(found):
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise ValueError(
                f"the vectors of the tokens of a text are an array [tokens, dimensions]; those of"
                f" text {at} have the shape {list(vectors.shape)}"
            )
    return found


def _joined(texts: list[npt.NDArray[np.float32]]) -> tuple[npt.NDArray[np.float32], list[int]]:
    return np.ascontiguousarray(np.concatenate(texts)), [len(vectors) for vectors in texts]


def _several(vectors: Any) -> list[SparseVector]:
    return [vectors] if isinstance(vectors, SparseVector) else list(vectors)


def _dot(a: list[SparseVector], b: list[SparseVector]) -> npt.NDArray[np.float32]:
    """The sums of the products of weights that two vectors have for the same token."""
    most = max((int(it.indices[-1]) for it in (*a, *b) if len(it.indices)), default=-1)
    rows = np.repeat(np.arange(len(b)), [len(it.indices) for it in b])
    tokens = np.concatenate([it.indices for it in b]) if b else np.zeros(0, np.uint32)
    weights = np.concatenate([it.values for it in b]) if b else np.zeros(0, np.float32)
    found = np.zeros((len(a), len(b)), np.float32)
    for row, vector in zip(found, a, strict=True):
        of_tokens = np.zeros(most + 1, np.float32)
        of_tokens[vector.indices] = vector.values
        row[:] = np.bincount(rows, of_tokens[tokens] * weights, len(b))
    return found


def _signs(vectors: npt.NDArray[Any], bits: int) -> npt.NDArray[np.float32]:
    return np.unpackbits(vectors, axis=1, count=bits).astype(np.float32) * 2 - 1


def _unit(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    is_int8 = vectors.dtype == np.int8
    vectors = vectors.astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    is_missing = np.isnan(lengths) | (is_int8 & (lengths == 0))
    found: npt.NDArray[np.float32] = np.where(is_missing, np.float32(np.nan), np.zeros_like(vectors))
    np.divide(vectors, lengths, out=found, where=lengths > 0)
    return found

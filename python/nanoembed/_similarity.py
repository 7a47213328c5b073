"""Cosines of vectors in every form that they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def similarity(a: Any, b: Any, *, dimensions: int | None = None) -> npt.NDArray[np.float32]:
    """The cosines between vectors.

    :param a: ``[n, dimensions]`` or ``[dimensions]``, of float32, float16 or int8; or, like ``b``,
        of binary vectors (uint8).
    :param b: ``[m, dimensions]`` or ``[dimensions]``.
    :param dimensions: of binary vectors, how many bits count; ``None`` all.
    :returns: ``float32 [n, m]``; a vector of one dimension counts as one row. Binary vectors of
        whose bits a part ``d`` differs have the cosine of ``π · d``. Vectors without length are
        similar to nothing: 0. Rows that are not there (NaN; of int8 zeros) have NaN, which is
        greater than nothing and sorts last. Binary vectors cannot tell such rows.
    """
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

"""What is used most of sentence-transformers' ``util``, with numpy's arrays for tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._similarity import similarity

Scores = npt.NDArray[np.float32]


def cos_sim(a: Any, b: Any) -> Scores:
    """The cosines between vectors, ``float32 [n, m]``: see :func:`nanoembed.similarity`."""
    return similarity(a, b)


def dot_score(a: Any, b: Any) -> Scores:
    """The products of vectors, ``float32 [n, m]``."""
    left, right = np.atleast_2d(np.asarray(a)), np.atleast_2d(np.asarray(b))
    found: Scores = left.astype(np.float32) @ right.astype(np.float32).T
    return found


def semantic_search(
    query_embeddings: Any,
    corpus_embeddings: Any,
    *,
    query_chunk_size: int = 100,
    top_k: int = 10,
    score_function: Callable[[Any, Any], Any] = cos_sim,
) -> list[list[dict[str, int | float]]]:
    """The vectors nearest to each question, the nearest first, as ``corpus_id`` and ``score``.
    Rows that are not there, whose score is NaN, are never found.

    :param query_chunk_size: for how many questions there are scores in memory at a time.
    """
    for name, count in (("query_chunk_size", query_chunk_size), ("top_k", top_k)):
        if count < 1:
            raise ValueError(f"{name}={count} is not 1 or more")
    queries = np.atleast_2d(np.asarray(query_embeddings))
    corpus = np.atleast_2d(np.asarray(corpus_embeddings))
    found: list[list[dict[str, int | float]]] = []
    for start in range(0, len(queries), query_chunk_size):
        scores = np.asarray(score_function(queries[start : start + query_chunk_size], corpus))
        for row in scores:
            # NaN sorts last.
            nearest = np.argsort(-row, kind="stable")[: min(top_k, np.sum(~np.isnan(row)))]
            found.append([{"corpus_id": int(at), "score": float(row[at])} for at in nearest])
    return found

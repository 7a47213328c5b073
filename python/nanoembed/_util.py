"""What is used most of sentence-transformers' ``util``, with numpy's arrays for tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._keywords import check_counts
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


def pairwise_cos_sim(a: Any, b: Any) -> Scores:
    """The cosines of rows that stand beside each other, ``float32 [n]``."""
    return pairwise_dot_score(normalize_embeddings(a), normalize_embeddings(b))


def pairwise_dot_score(a: Any, b: Any) -> Scores:
    """The products of rows that stand beside each other, ``float32 [n]``."""
    left, right = np.atleast_2d(np.asarray(a)), np.atleast_2d(np.asarray(b))
    found: Scores = np.einsum("ij,ij->i", left, right).astype(np.float32)
    return found


def normalize_embeddings(embeddings: Any) -> Scores:
    """The rows with length 1; those without any length stay as they are."""
    rows = np.atleast_2d(np.asarray(embeddings, np.float32))
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    found: Scores = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return found


def paraphrase_mining(
    model: Any, sentences: Any, show_progress_bar: bool = False, batch_size: int = 32, **keywords: Any
) -> list[list[float | int]]:
    """The most similar pairs of texts, ``[score, i, j]``, the most similar first: see
    :func:`paraphrase_mining_embeddings`."""
    embeddings = model.encode(sentences, show_progress_bar=show_progress_bar, batch_size=batch_size)
    return paraphrase_mining_embeddings(embeddings, **keywords)


def paraphrase_mining_embeddings(
    embeddings: Any,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100_000,
    max_pairs: int = 500_000,
    top_k: int = 100,
    score_function: Callable[[Any, Any], Any] = cos_sim,
) -> list[list[float | int]]:
    """The most similar pairs of rows, ``[score, i, j]`` with ``i < j``, the most similar first.

    :param top_k: how many rows are taken for each.
    :param max_pairs: how many pairs are given at most.
    """
    rows = np.atleast_2d(np.asarray(embeddings))
    # Each row is nearest to itself.
    near = semantic_search(
        rows,
        rows,
        query_chunk_size=max(1, min(query_chunk_size, 10_000_000 // max(1, len(rows)))),
        top_k=top_k + 1,
        score_function=score_function,
    )
    pairs: dict[tuple[int, int], float] = {}
    for one, hits in enumerate(near):
        for hit in hits:
            other = int(hit["corpus_id"])
            if other != one:
                pairs[min(one, other), max(one, other)] = float(hit["score"])
    best = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:max_pairs]
    return [[score, one, other] for (one, other), score in best]


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
    check_counts(query_chunk_size=query_chunk_size, top_k=top_k)
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

"""``CrossEncoder`` of sentence-transformers over this library."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._encode import as_tensor
from ._limits import Limits
from ._st_keywords import Movable, check, path_of


class CrossEncoder(Movable):
    """:class:`~nanoembed.Model` with the constructor and methods of sentence-transformers'
    ``CrossEncoder``.

    >>> reranker = CrossEncoder("bge-reranker-base/")                        # doctest: +SKIP
    >>> reranker.rank("When does it open?", ["At nine.", "By train."])       # doctest: +SKIP
    [{'corpus_id': 0, 'score': 0.98}, {'corpus_id': 1, 'score': 0.01}]
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str],
        *,
        max_length: int | None = None,
        device: Any = None,
        threads: int | None = None,
        limits: Limits | None = None,
        **keywords: Any,
    ) -> None:
        check(keywords)
        path = path_of(model_name_or_path, device)
        super().__init__(path, threads=threads, limits=limits, max_tokens=max_length)
        if not self.labels:
            raise ValueError(f"{model_name_or_path}: the model embeds texts and compares none")

    @property
    def num_labels(self) -> int:
        """How many scores a pair has."""
        return len(self.labels)

    def predict(  # type: ignore[override]
        self,
        sentences: Sequence[tuple[str, str]] | Sequence[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        apply_softmax: bool = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        **keywords: Any,
    ) -> Any:
        """What the model says of pairs: ``float32 [n]``, or ``[n, labels]`` with several labels; one
        score for one pair.

        :param batch_size: has no effect.
        :param apply_softmax: make probabilities of the scores of several labels.
        """
        check({name: value for name, value in keywords.items() if name not in ("pool", "chunk_size")})
        is_one = len(sentences) == 2 and isinstance(sentences[0], str)
        pairs: Any = [tuple(sentences)] if is_one else sentences
        scores = super().predict(
            pairs, prompt=prompt, prompt_name=prompt_name, progress=bool(show_progress_bar)
        )
        if apply_softmax and scores.ndim == 2:
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores = powers / powers.sum(axis=1, keepdims=True)
        found: Any = as_tensor(scores) if convert_to_tensor else scores
        if is_one:
            return found[0]
        return found if convert_to_numpy or convert_to_tensor else list(found)

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        *,
        top_k: int | None = None,
        return_documents: bool = False,
        prompt: str | None = None,
        prompt_name: str | None = None,
        show_progress_bar: bool | None = None,
        **keywords: Any,
    ) -> list[dict[str, Any]]:
        """The ``top_k`` documents that answer best, the best first: ``corpus_id``, ``score`` and, with
        ``return_documents``, ``text``."""
        known = ("batch_size", "convert_to_numpy", "convert_to_tensor", "pool", "chunk_size")
        check({name: value for name, value in keywords.items() if name not in known})
        found = self.rerank(
            query,
            documents,
            k=top_k,
            prompt=prompt,
            prompt_name=prompt_name,
            progress=bool(show_progress_bar),
        )
        ranked: list[dict[str, Any]] = []
        for one in found:
            hit: dict[str, Any] = {"corpus_id": one.index, "score": one.score}
            if return_documents:
                hit["text"] = documents[one.index]
            ranked.append(hit)
        return ranked

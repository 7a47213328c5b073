"""``TextEmbedding`` and its siblings over this library: replace the import, keep the rest.

>>> from nanoembed.fastembed import TextEmbedding
>>> model = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2")
>>> next(model.embed(["a cat on a mat"])).shape
(384,)

Nothing is downloaded: ``model_name`` is a path, or the model that the package brings along. Texts are
embedded as they are asked for, ``batch_size`` at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ._keywords import before_texts, check_counts
from ._model import BUILT_IN, Model
from ._st_keywords import path_of

__all__ = [
    "LateInteractionTextEmbedding", "SparseEmbedding", "SparseTextEmbedding", "TextCrossEncoder",
    "TextEmbedding",
]  # fmt: skip

_HARMLESS = frozenset({"cache_dir", "cuda", "device_ids", "lazy_load", "local_files_only", "providers"})
"""Keywords about downloads and about the engine that runs a model."""

Vector = npt.NDArray[np.float32]
T = TypeVar("T")


def _batches(texts: str | Iterable[str], size: int) -> Iterator[list[str]]:
    check_counts(batch_size=size)
    rest = iter([texts] if isinstance(texts, str) else texts)
    while batch := list(islice(rest, size)):
        yield batch


class _Named:
    """A model by its name."""

    def __init__(
        self,
        model_name: str | os.PathLike[str] = BUILT_IN[1],
        cache_dir: str | None = None,
        threads: int | None = None,
        **keywords: Any,
    ) -> None:
        unknown = sorted(set(keywords) - _HARMLESS)
        if unknown:
            raise TypeError(f"{', '.join(unknown)}: there is no such argument")
        if keywords.get("cuda") is True:
            raise ValueError("cuda=True: this computes on the CPU")
        self.model_name = str(model_name)
        self.model = Model(path_of(model_name, None), threads=threads)

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        """The model of the package; others are given by the path of their folder or file."""
        return []

    def token_count(self, texts: str | Iterable[str], batch_size: int = 1024, **_: Any) -> int:
        """How many tokens texts have, special tokens included."""
        counts = (
            len(tokens.ids)
            for batch in _batches(texts, batch_size)
            for tokens in self.model.tokenize(batch, max_tokens=0)
            if tokens is not None
        )
        return sum(counts)


class _Embedding(_Named, Generic[T]):
    """What embeds texts, questions and texts that answer, as they are asked for."""

    def _texts(self, batch: list[str]) -> Iterable[T]:
        raise NotImplementedError

    def _queries(self, batch: list[str]) -> Iterable[T]:
        return self._texts(batch)

    def _passages(self, batch: list[str]) -> Iterable[T]:
        return self._texts(batch)

    def embed(
        self,
        documents: str | Iterable[str],
        batch_size: int = 256,
        parallel: int | None = None,
        **_: Any,
    ) -> Iterator[T]:
        """What texts become; ``parallel`` has no effect: all threads compute."""
        for batch in _batches(documents, batch_size):
            yield from self._texts(batch)

    def query_embed(self, query: str | Iterable[str], batch_size: int = 256, **_: Any) -> Iterator[T]:
        """What questions become, after the model's prompt for these if it has one."""
        for batch in _batches(query, batch_size):
            yield from self._queries(batch)

    def passage_embed(self, texts: str | Iterable[str], batch_size: int = 256, **_: Any) -> Iterator[T]:
        """What texts that answer become, after the model's prompt for these if it has one."""
        for batch in _batches(texts, batch_size):
            yield from self._passages(batch)


class TextEmbedding(_Embedding[Vector]):
    """A vector for each text; :meth:`embed` puts no prompt before it."""

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        """The model of the package; others are given by the path of their folder or file."""
        return [{"model": BUILT_IN[1], "dim": 384, "license": "apache-2.0", "size_in_GB": 0.024}]

    @property
    def embedding_size(self) -> int:
        """How many numbers a vector has."""
        return self.model.dimensions

    def _texts(self, batch: list[str]) -> Iterator[Vector]:
        yield from self.model.embed(batch, prompt="")

    def _queries(self, batch: list[str]) -> Iterator[Vector]:
        yield from self.model.embed_queries(batch)

    def _passages(self, batch: list[str]) -> Iterator[Vector]:
        yield from self.model.embed_documents(batch)


@dataclass
class SparseEmbedding:
    """Weights for some tokens of the vocabulary."""

    values: npt.NDArray[np.float32]
    indices: npt.NDArray[np.int64]

    def as_object(self) -> dict[str, npt.NDArray[Any]]:
        """Both arrays by their names."""
        return {"values": self.values, "indices": self.indices}

    def as_dict(self) -> dict[int, float]:
        """The weights by the ids of their tokens."""
        return dict(zip(self.indices.tolist(), self.values.tolist(), strict=True))

    @classmethod
    def from_dict(cls, data: dict[int, float]) -> SparseEmbedding:
        """The reverse of :meth:`as_dict`."""
        return cls(np.array([*data.values()], np.float32), np.array([*data], np.int64))


class SparseTextEmbedding(_Embedding[SparseEmbedding]):
    """A :class:`SparseEmbedding` for each text, by models such as SPLADE."""

    def _texts(self, batch: list[str]) -> Iterator[SparseEmbedding]:
        for found in self.model.embed(batch, vectors="sparse"):
            yield SparseEmbedding(found.values, found.indices.astype(np.int64))


class LateInteractionTextEmbedding(_Embedding[Vector]):
    """An array ``float32 [tokens, dimensions]`` for each text, by models such as ColBERT:
    :meth:`embed` takes texts that answer."""

    def _texts(self, batch: list[str]) -> Iterator[Vector]:
        yield from self.model.embed_documents(batch, vectors="multi")

    def _queries(self, batch: list[str]) -> Iterator[Vector]:
        yield from self.model.embed_queries(batch, vectors="multi")


class TextCrossEncoder(_Named):
    """Scores of pairs of texts: logits, as fastembed gives them."""

    def rerank(
        self, query: str, documents: Iterable[str], batch_size: int = 64, **_: Any
    ) -> Iterator[float]:
        """How well each of the documents answers, in their order."""
        return self.rerank_pairs(((query, document) for document in documents), batch_size)

    def rerank_pairs(
        self,
        pairs: Iterable[tuple[str, str]],
        batch_size: int = 64,
        parallel: int | None = None,
        **_: Any,
    ) -> Iterator[float]:
        """How well the second of each pair answers the first."""
        rest = iter(pairs)
        while batch := list(islice(rest, max(1, batch_size))):
            queries, texts = [query for query, _ in batch], [text for _, text in batch]
            found = self.model._native.score(queries, texts, before_texts(), progress=None)
            yield from (logits[0] for logits, _ in found)

"""Components for Haystack 2 and later (package ``haystack-ai``).

>>> from nanoembed.haystack import NanoembedTextEmbedder                     # doctest: +SKIP
>>> pipeline.add_component("embedder", NanoembedTextEmbedder())              # doctest: +SKIP
>>> Pipeline.loads(text, allowed_modules=["nanoembed.haystack"])             # doctest: +SKIP
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from ._keywords import check_counts
from ._model import Model


class _Component:
    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        self.path, self.threads = path, threads
        self._model = Model(path, threads=threads)

    def to_dict(self) -> dict[str, Any]:
        """The component as Haystack writes it."""
        return default_to_dict(self, path=self.path, threads=self.threads)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The component as Haystack has written it."""
        return default_from_dict(cls, data)


@component
class NanoembedTextEmbedder(_Component):
    """Embeds a question."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """``embedding``: the vector of ``text``."""
        return {"embedding": self._model.embed_query(text).tolist()}


@component
class NanoembedDocumentEmbedder(_Component):
    """Embeds the content of documents."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """``documents``: the same, each with its embedding."""
        vectors = self._model.embed_documents([it.content or "" for it in documents]).tolist()
        pairs = zip(documents, vectors, strict=True)
        return {"documents": [replace(it, embedding=vector) for it, vector in pairs]}


@component
class NanoembedRanker(_Component):
    """Orders documents by how well they answer a question, the best first, and keeps the ``top_k``
    first of them, by default all. ``path`` is a model that reranks."""

    def __init__(self, path: str, top_k: int | None = None, threads: int | None = None) -> None:
        # `component` makes another class of this one, which `super()` does not know.
        _Component.__init__(self, path, threads)
        check_counts(top_k=top_k)
        self.top_k = top_k

    def to_dict(self) -> dict[str, Any]:
        """The component as Haystack writes it."""
        return default_to_dict(self, path=self.path, top_k=self.top_k, threads=self.threads)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, Any]:
        """``documents``: the best ones, each with its score."""
        check_counts(top_k=top_k)
        texts = [it.content or "" for it in documents]
        ranks = self._model.rerank(query, texts, k=top_k or self.top_k)
        return {"documents": [replace(documents[it.index], score=it.score) for it in ranks]}

"""Embeddings and a document compressor, which reranks, for LangChain.

>>> from nanoembed.langchain import NanoembedEmbeddings
>>> embeddings = NanoembedEmbeddings()
>>> len(embeddings.embed_query("How do I log in again?"))
384
>>> compressor = NanoembedReranker("bge-reranker-base/", top_n=3)           # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._keywords import check_counts
from ._model import Model, given_or_opened

if TYPE_CHECKING:

    class Embeddings:
        """What LangChain's vector stores ask for."""

    class BaseDocumentCompressor:
        """What LangChain's retrievers with compression ask for."""

        def __init__(self, **fields: Any) -> None: ...

else:
    try:
        from langchain_core.documents import BaseDocumentCompressor
        from langchain_core.embeddings import Embeddings
    except ImportError:
        # Vector stores look at the methods. Documents come from LangChain.
        Embeddings = BaseDocumentCompressor = object


class NanoembedEmbeddings(Embeddings):
    """LangChain's ``Embeddings`` by a :class:`~nanoembed.Model`, or one opened with ``options``."""

    def __init__(self, model: Model | Any = None, **options: Any) -> None:
        self.model = given_or_opened(model, options)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, as lists of floats."""
        vectors: list[list[float]] = self.model.embed_documents(texts, to="numpy").tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = self.model.embed_query(text).tolist()
        return vector


class NanoembedReranker(BaseDocumentCompressor):
    """LangChain's ``BaseDocumentCompressor`` by a :class:`~nanoembed.Model` that reranks, or one opened
    with ``options``: the ``top_n`` documents that answer best, by default all of them, the best first.
    Their metadata gets ``relevance_score``."""

    model: Any
    top_n: int | None

    def __init__(self, model: Model | Any, *, top_n: int | None = None, **options: Any) -> None:
        check_counts(top_n=top_n)
        super().__init__(model=given_or_opened(model, options), top_n=top_n)

    def compress_documents(
        self, documents: Sequence[Any], query: str, callbacks: Any = None
    ) -> Sequence[Any]:
        """The documents by how well they answer ``query``."""
        ranks = self.model.rerank(query, [it.page_content for it in documents], k=self.top_n)
        found = []
        for it in ranks:
            document = documents[it.index]
            metadata = {**document.metadata, "relevance_score": it.score}
            found.append(document.model_copy(update={"metadata": metadata}))
        return found

"""Embeddings for LangChain.

>>> from nanoembed.langchain import NanoembedEmbeddings
>>> embeddings = NanoembedEmbeddings()
>>> len(embeddings.embed_query("How do I log in again?"))
384
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._model import Model, given_or_opened

if TYPE_CHECKING:

    class Embeddings:
        """What LangChain's vector stores ask for."""

else:
    try:
        from langchain_core.embeddings import Embeddings
    except ImportError:
        # Vector stores look at the methods.
        Embeddings = object


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

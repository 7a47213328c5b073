"""An embedding function for LanceDB, registered as ``nanoembed``.

>>> import nanoembed.lancedb                                                # doctest: +SKIP
>>> function = lancedb.embeddings.get_registry().get("nanoembed").create()  # doctest: +SKIP
>>> class Passage(LanceModel):                                              # doctest: +SKIP
...     text: str = function.SourceField()
...     vector: Vector(function.ndims()) = function.VectorField()
"""

from __future__ import annotations

from typing import Any

from lancedb.embeddings import TextEmbeddingFunction, register
from pydantic import PrivateAttr

from ._model import Model


@register("nanoembed")
class NanoembedFunction(TextEmbeddingFunction):
    """LanceDB's ``TextEmbeddingFunction`` by the model at ``path``, or that of the package."""

    path: str | None = None
    threads: int | None = None
    _model: Model | None = PrivateAttr(default=None)

    def _opened(self) -> Model:
        if self._model is None:
            self._model = Model(self.path, threads=self.threads)
        return self._model

    def ndims(self) -> int:
        """How many numbers a vector has."""
        return self._opened().dimensions

    def generate_embeddings(self, texts: Any, *_: Any, **__: Any) -> list[Any]:
        """The vectors of documents."""
        return list(self._opened().embed_documents(list(texts)))

    def compute_query_embeddings(self, query: str, *_: Any, **__: Any) -> list[Any]:
        """The vector of a question."""
        return [self._opened().embed_query(query)]

"""An embedding function for LanceDB, registered as ``nanoembed``, and a reranker.

>>> import nanoembed.lancedb                                                # doctest: +SKIP
>>> function = lancedb.embeddings.get_registry().get("nanoembed").create()  # doctest: +SKIP
>>> class Passage(LanceModel):                                              # doctest: +SKIP
...     text: str = function.SourceField()
...     vector: Vector(function.ndims()) = function.VectorField()
>>> reranker = NanoembedReranker("bge-reranker-base/")                      # doctest: +SKIP
>>> table.search("a question").rerank(reranker).limit(3).to_list()          # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import pyarrow  # type: ignore[import-untyped, unused-ignore]
from lancedb.embeddings import TextEmbeddingFunction, register
from lancedb.rerankers import Reranker
from pydantic import PrivateAttr

from ._model import Model, given_or_opened


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


class NanoembedReranker(Reranker):
    """LanceDB's ``Reranker`` by a :class:`~nanoembed.Model` that reranks, or one opened with ``options``:
    results by how well the texts in ``column`` answer, the best first. A null is an empty text.

    :param return_score: ``"relevance"`` or ``"all"``: what becomes of the scores of the search.
    """

    def __init__(
        self,
        model: Model | Any,
        column: str = "text",
        return_score: str = "relevance",
        **options: Any,
    ) -> None:
        super().__init__(return_score)
        self.model, self.column = given_or_opened(model, options), column

    def _ranked(self, query: str, results: Any) -> Any:
        ranks = self.model.rerank(query, results[self.column].fill_null(""))
        places = pyarrow.array([it.index for it in ranks], pyarrow.int64())
        scores = pyarrow.array([it.score for it in ranks], pyarrow.float32())
        found = results.take(places).append_column("_relevance_score", scores)
        others = {"_distance", "_score"} if self.score == "relevance" else set()
        return found.drop_columns([name for name in found.column_names if name in others])

    def rerank_vector(self, query: str, vector_results: Any) -> Any:
        """The results of a search by vectors."""
        return self._ranked(query, vector_results)

    def rerank_fts(self, query: str, fts_results: Any) -> Any:
        """The results of a search by words."""
        return self._ranked(query, fts_results)

    def rerank_hybrid(self, query: str, vector_results: Any, fts_results: Any) -> Any:
        """The results of both."""
        merge = self.merge_results if self.score == "relevance" else self._merge_and_keep_scores
        return self._ranked(query, merge(vector_results, fts_results))

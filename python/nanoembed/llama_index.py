"""An embedding model and a reranker for LlamaIndex (package ``llama-index-core``).

>>> from nanoembed.llama_index import NanoembedEmbedding                    # doctest: +SKIP
>>> Settings.embed_model = NanoembedEmbedding()                             # doctest: +SKIP
>>> reranker = NanoembedReranker("bge-reranker-base/", top_n=3)             # doctest: +SKIP
>>> index.as_query_engine(node_postprocessors=[reranker])                   # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from ._keywords import check_counts
from ._model import Model, given_or_opened


class NanoembedEmbedding(BaseEmbedding):
    """LlamaIndex's ``BaseEmbedding`` by a :class:`~nanoembed.Model`, or one opened with
    ``options``."""

    _model: Model = PrivateAttr()

    def __init__(self, model: Model | Any = None, **options: Any) -> None:
        super().__init__(model_name="nanoembed", embed_batch_size=1024)
        self._model = given_or_opened(model, options)

    @classmethod
    def class_name(cls) -> str:
        return "NanoembedEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._model.embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._model.embed_documents(texts).tolist()


class NanoembedReranker(BaseNodePostprocessor):
    """LlamaIndex's ``BaseNodePostprocessor`` by a :class:`~nanoembed.Model` that reranks, or one opened
    with ``options``: the ``top_n`` nodes that answer best, by default all of them, the best first."""

    top_n: int | None = None
    _model: Model = PrivateAttr()

    def __init__(self, model: Model | Any, *, top_n: int | None = None, **options: Any) -> None:
        check_counts(top_n=top_n)
        super().__init__()
        self.top_n = top_n
        self._model = given_or_opened(model, options)

    @classmethod
    def class_name(cls) -> str:
        return "NanoembedReranker"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("nodes are reranked by a query, and there is none")
        texts = [it.node.get_content(metadata_mode=MetadataMode.EMBED) for it in nodes]
        ranks = self._model.rerank(query_bundle.query_str, texts, k=self.top_n)
        return [NodeWithScore(node=nodes[it.index].node, score=it.score) for it in ranks]

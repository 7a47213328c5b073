"""An embedding model for LlamaIndex (package ``llama-index-core``).

>>> from nanoembed.llama_index import NanoembedEmbedding                    # doctest: +SKIP
>>> Settings.embed_model = NanoembedEmbedding()                             # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

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

"""An embedding function for ChromaDB.

>>> from nanoembed.chromadb import NanoembedFunction
>>> function = NanoembedFunction()
>>> collection = client.create_collection("texts", embedding_function=function)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._model import Model

if TYPE_CHECKING:

    class EmbeddingFunction:
        """What a collection calls."""

else:
    try:
        from chromadb.api.types import EmbeddingFunction
    except ImportError:
        EmbeddingFunction = object


class NanoembedFunction(EmbeddingFunction):
    """ChromaDB's ``EmbeddingFunction`` by the model at ``path``, or that of the package."""

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        self.path, self.threads = path, threads
        self._model = Model(path, threads=threads)

    def __call__(self, input: list[str]) -> list[npt.NDArray[np.float32]]:
        """The vectors of documents."""
        return list(self._model.embed_documents(input, to="numpy"))

    def embed_query(self, input: list[str]) -> list[npt.NDArray[np.float32]]:
        """The vectors of questions."""
        return [self._model.embed_query(text) for text in input]

    @staticmethod
    def name() -> str:
        """What the collection's configuration calls it."""
        return "nanoembed"

    def default_space(self) -> str:
        """How vectors are compared."""
        return "cosine"

    def supported_spaces(self) -> list[str]:
        """How they can be."""
        return ["cosine", "l2", "ip"]

    def get_config(self) -> dict[str, Any]:
        """What is kept with a collection."""
        return {"path": self.path, "threads": self.threads}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> NanoembedFunction:
        """The function of a collection that is opened."""
        return NanoembedFunction(config.get("path"), config.get("threads"))


try:
    from chromadb.utils.embedding_functions import register_embedding_function
except ImportError:
    pass
else:
    register_embedding_function(NanoembedFunction)

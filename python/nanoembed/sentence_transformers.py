"""``SentenceTransformer`` with this library behind it: replace the import, keep the rest.

>>> from nanoembed.sentence_transformers import SentenceTransformer
>>> model = SentenceTransformer("all-MiniLM-L6-v2")
>>> model.encode(["a cat on a mat"]).shape
(1, 384)

``util`` has ``cos_sim`` and ``dot_score``, which give numpy's arrays, and ``semantic_search``.
Nothing is downloaded: a name is a path, or the model that the package brings along.
"""

from __future__ import annotations

import os
from typing import Any

from . import _native
from . import _util as util
from ._encode import Encoding
from ._keywords import before_texts
from ._limits import Limits
from ._model import Model
from ._results import Embedded
from ._texts import Texts

__all__ = ["BUILT_IN", "SentenceTransformer", "util"]

BUILT_IN = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
"""Names of the model of the package."""


class SentenceTransformer(Model):
    """:class:`~nanoembed.Model` with the constructor and methods of sentence-transformers.

    ``truncate_dim`` is how many numbers of each vector are kept, by whichever method, unless a call
    says otherwise.
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str] | None = None,
        *,
        device: str | None = None,
        truncate_dim: int | None = None,
        threads: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        if device not in (None, "cpu"):
            raise ValueError(f"device={device!r}: this computes on the CPU")
        is_built_in = model_name_or_path in (None, *BUILT_IN)
        if not is_built_in and not os.path.exists(str(model_name_or_path)):
            raise FileNotFoundError(
                f"{model_name_or_path}: no such file or folder, and nothing is downloaded: give the"
                f" folder of a model, or one of {', '.join(BUILT_IN)}"
            )
        super().__init__(
            None if is_built_in else model_name_or_path, threads=threads, limits=limits
        )
        self.truncate_dim = truncate_dim

    def encode_query(
        self,
        sentences: Texts,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        **keywords: Any,
    ) -> Any:
        """``encode`` after the model's prompt for questions, if it has one."""
        before = before_texts(None, prompt_name, prompt, usual="query")
        return self._encode(sentences, before, Encoding(**keywords))

    def encode_document(
        self,
        sentences: Texts,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        **keywords: Any,
    ) -> Any:
        """``encode`` after the model's prompt for documents, if it has one."""
        before = before_texts(None, prompt_name, prompt, usual="document")
        return self._encode(sentences, before, Encoding(**keywords))

    def _embed(
        self,
        texts: Texts,
        before: _native.Before,
        truncate_dim: int | None = None,
        *arguments: Any,
        **keywords: Any,
    ) -> Embedded:
        if truncate_dim is None:
            truncate_dim = self.truncate_dim
        return super()._embed(texts, before, truncate_dim, *arguments, **keywords)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return super().dimensions if self.truncate_dim is None else self.truncate_dim

    @property
    def max_seq_length(self) -> int:
        """How many tokens of a text are used."""
        return self.max_tokens

    def get_sentence_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return self.dimensions

    def get_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return self.get_sentence_embedding_dimension()

    def __reduce__(self) -> tuple[Any, ...]:
        options = {name: self._options[name] for name in ("threads", "limits")}
        return _reopened, (type(self), self._path, {"truncate_dim": self.truncate_dim, **options})


def _reopened(
    kind: type[SentenceTransformer], path: str | None, options: dict[str, Any]
) -> SentenceTransformer:
    return kind(path, **options)

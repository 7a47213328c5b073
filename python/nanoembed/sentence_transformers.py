"""``SentenceTransformer``, ``CrossEncoder``, ``SparseEncoder`` and ``MultiVectorEncoder`` over this
library: replace the import, keep the rest.

>>> from nanoembed.sentence_transformers import SentenceTransformer
>>> model = SentenceTransformer("all-MiniLM-L6-v2")
>>> model.encode(["a cat on a mat"]).shape
(1, 384)

``SparseEncoder`` gives a :class:`~nanoembed.SparseVector` for each text, and ``MultiVectorEncoder``
an array ``[tokens, dimensions]``.

``util`` has ``cos_sim``, ``dot_score`` and their pairwise forms, which give numpy's arrays,
``normalize_embeddings``, ``semantic_search`` and ``paraphrase_mining``.
Nothing is downloaded: a name is a path, or the model that the package brings along. Keywords about
downloads, devices and torch are taken where they change nothing, and refused by name where they would.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from . import _native
from . import _util as util
from ._cross_encoder import CrossEncoder
from ._dense import Dense
from ._encode import Encoding, encoded
from ._keywords import OnError, before_texts
from ._limits import Limits
from ._model import BUILT_IN, Model
from ._progress import Progress
from ._results import Embedded, SparseVector
from ._st_keywords import Movable, check, path_of
from ._texts import Texts

__all__ = [
    "BUILT_IN", "CrossEncoder", "MultiVectorEncoder", "SentenceTransformer", "SparseEncoder", "util",
]  # fmt: skip


@dataclass(frozen=True)
class _Encoding(Encoding):
    """With keywords about processes, which have no effect."""

    pool: Any = None
    chunk_size: int | None = None


class SentenceTransformer(Movable):
    """:class:`~nanoembed.Model` with the constructor and methods of sentence-transformers.

    ``truncate_dim`` is how many numbers of each vector are kept, by whichever method, unless a call
    says otherwise.
    """

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str] | None = None,
        *,
        device: Any = None,
        truncate_dim: int | None = None,
        threads: int | None = None,
        limits: Limits | None = None,
        **keywords: Any,
    ) -> None:
        check(keywords)
        super().__init__(path_of(model_name_or_path, device), threads=threads, limits=limits)
        self.truncate_dim = truncate_dim

    def encode(
        self,
        sentences: Texts,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        **keywords: Any,
    ) -> Any:
        """As :meth:`nanoembed.Model.encode`; ``pool`` and ``chunk_size`` have no effect."""
        before = before_texts(None, prompt_name, prompt)
        return encoded(self, sentences, before, _Encoding(**keywords))

    def start_multi_process_pool(self, target_devices: Any = None) -> dict[str, Any]:
        """Nothing: threads compute."""
        return {}

    def stop_multi_process_pool(self, pool: dict[str, Any]) -> None:
        """Does nothing."""

    def encode_multi_process(self, sentences: Texts, pool: Any = None, **keywords: Any) -> Any:
        """``encode``, on all threads."""
        return self.encode(sentences, pool=pool, **keywords)

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
        return encoded(self, sentences, before, _Encoding(**keywords))

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
        return encoded(self, sentences, before, _Encoding(**keywords))

    def _embed(
        self,
        texts: Texts,
        before: _native.Before,
        dense: Dense,
        on_error: OnError = "raise",
        progress: Progress = None,
    ) -> Embedded:
        if dense.truncate_dim is None:
            dense = replace(dense, truncate_dim=self.truncate_dim)
        return super()._embed(texts, before, dense, on_error, progress)

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return super().dimensions if self.truncate_dim is None else self.truncate_dim

    def get_max_seq_length(self) -> int:
        """How many tokens of a text are used."""
        return self.max_tokens

    def get_sentence_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return self.dimensions

    def get_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return self.get_sentence_embedding_dimension()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (*_kept(self), {"truncate_dim": self.truncate_dim})


def _kept(model: Movable) -> tuple[Any, ...]:
    """What a pickled model keeps: its class, path and options."""
    return type(model), model._path, model._options


def _reopened(
    kind: type[Movable], path: str | None, options: dict[str, Any], own: dict[str, Any]
) -> Any:
    """A pickled model, with the attributes of its class."""
    model = kind.__new__(kind)
    Model.__init__(model, path, **options)
    for name, value in own.items():
        setattr(model, name, value)
    return model


class _OtherEncoder(Movable):
    """A model that makes other vectors than one for a text."""

    _kind: Literal["sparse", "multi"]

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str],
        *,
        device: Any = None,
        threads: int | None = None,
        limits: Limits | None = None,
        **keywords: Any,
    ) -> None:
        check(keywords)
        super().__init__(path_of(model_name_or_path, device), threads=threads, limits=limits)

    def encode_query(self, sentences: Texts, **keywords: Any) -> Any:
        """``encode`` of questions, after the model's prompt for these if it has one."""
        return self._encode_as("query", sentences, **keywords)

    def encode_document(self, sentences: Texts, **keywords: Any) -> Any:
        """``encode`` of texts that answer, after the model's prompt for these if it has one."""
        return self._encode_as("document", sentences, **keywords)

    def _encode_as(
        self,
        usual: str | None,
        sentences: Texts,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        **keywords: Any,
    ) -> Any:
        encoding = _Encoding(**keywords)
        of_dense = {
            "precision": encoding.precision != "float32",
            "normalize_embeddings": encoding.normalize_embeddings,
            "truncate_dim": encoding.truncate_dim is not None,
        }
        for name, is_given in of_dense.items():
            if is_given:
                raise ValueError(f"encode does not support {name}={keywords[name]!r} here")
        is_one = isinstance(sentences, str)
        found = self._embed_others(
            [sentences] if is_one else sentences,
            self._kind,
            before_texts(None, prompt_name, prompt, usual=usual),
            progress=bool(encoding.show_progress_bar),
        ).vectors
        return found[0] if is_one else found


class SparseEncoder(_OtherEncoder):
    """:class:`~nanoembed.Model` with the constructor and methods of sentence-transformers'
    ``SparseEncoder``: a :class:`~nanoembed.SparseVector` for each text, which ``decode`` spells and
    ``similarity`` compares.

    ``max_active_dims`` is how many weights of each vector are kept, the heaviest, unless a call says
    otherwise.
    """

    _kind = "sparse"

    def __init__(
        self,
        model_name_or_path: str | os.PathLike[str],
        *,
        max_active_dims: int | None = None,
        **keywords: Any,
    ) -> None:
        super().__init__(model_name_or_path, **keywords)
        self.max_active_dims = max_active_dims

    def encode(self, sentences: Texts, **keywords: Any) -> Any:
        """A :class:`~nanoembed.SparseVector` for each text, or one for one ``str``.

        Keywords are those of sentence-transformers that make sense here; ``convert_to_tensor`` and
        the like are refused.
        """
        return self._encode_as(None, sentences, **keywords)

    def _encode_as(
        self,
        usual: str | None,
        sentences: Texts,
        *,
        max_active_dims: int | None = None,
        **keywords: Any,
    ) -> Any:
        most = self.max_active_dims if max_active_dims is None else max_active_dims
        found = super()._encode_as(usual, sentences, **keywords)
        if isinstance(found, SparseVector):
            return _heaviest(found, most)
        return [_heaviest(vector, most) for vector in found]

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (*_kept(self), {"max_active_dims": self.max_active_dims})


def _heaviest(vector: SparseVector, most: int | None) -> SparseVector:
    """The heaviest weights of a vector."""
    if most is None or most >= len(vector.values):
        return vector
    if most < 0:
        raise ValueError(f"max_active_dims={most} is no number of weights")
    kept = np.sort(np.argsort(-vector.values, kind="stable")[:most])
    return SparseVector(vector.indices[kept], vector.values[kept])


class MultiVectorEncoder(_OtherEncoder):
    """:class:`~nanoembed.Model` with the constructor and methods of sentence-transformers'
    ``MultiVectorEncoder``: an array ``float32 [tokens, dimensions]`` for each text, which
    ``similarity`` compares by MaxSim.
    """

    _kind = "multi"

    def encode(self, sentences: Texts, **keywords: Any) -> Any:
        """The vectors of the tokens of each text, or of one ``str``. Models such as ColBERT, which
        make other vectors of questions than of texts that answer, need ``encode_query`` or
        ``encode_document``."""
        return self._encode_as(None, sentences, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (*_kept(self), {})

"""Models of texts."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from . import _keywords, _native, _texts
from ._dense import Dense
from ._encode import Encoding, EncodingKeywords, encoded
from ._keywords import Dtype, OnError, Role, VectorKind, before_texts, is_strict
from ._limits import Limits
from ._other_vectors import decoded, multi_vectors, sparse_vectors
from ._progress import Progress, watcher
from ._results import Embedded, Ranked, SparseVector, Tokens
from ._similarity import similarity
from ._texts import Texts
from ._truncation import warn_of_truncated

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _names(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise TypeError("allow_unknown is a list of names, not a str")
    return list(names)


BUILT_IN = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
"""Names of the model of the package."""


def is_built_in(name: object) -> bool:
    """Whether this names the model of the package, and no file or folder."""
    return name in BUILT_IN and not os.path.exists(str(name))


class Model:
    """A model of texts: one that embeds, compares or continues them.

    ``Model()`` is all-MiniLM-L6-v2 with 8-bit weights, which the package brings along: 384
    dimensions, 256 tokens.

    >>> import nanoembed
    >>> model = nanoembed.Model()
    >>> model.embed(["How do I log in again?", "Reset your password"]).shape
    (2, 384)

    A model is immutable and may be shared by threads. The interpreter's lock is released while it
    computes; Ctrl-C ends a call within a second. Weights of a file are mapped: processes that use
    one file share its memory. A forked process makes threads of its own; do not fork while another
    thread is in a call. Pickling keeps the path (or the bytes) and the options.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes | None = None,
        *,
        threads: int | None = None,
        memory: int | None = None,
        max_tokens: int | None = None,
        precise: bool = False,
        requantize: bool = False,
        limits: Limits | None = None,
        allow_unknown: Iterable[str] = (),
        adapter: str | os.PathLike[str] | None = None,
    ) -> None:
        """Opens a model.

        :param path_or_bytes: a ``.weights``, ``.amb``, GGUF or UQFF file, a folder as on Hugging
            Face, or the bytes of a ``.weights``, ``.amb`` or GGUF file; ``None`` and its name,
            ``all-MiniLM-L6-v2``, are the model of the package.
        :param threads: how many threads compute, 1 to 1024; ``None`` is one for each CPU, shared by
            all such models.
        :param memory: bytes that the process may take while the model continues texts, with all
            that it has already, such as imported packages; weights are then read from the file
            again for each token, which is slower. Refused for other models.
        :param max_tokens: tokens of a text that are used; ``None`` is as many as the model was made
            for.
        :param precise: compute in 32-bit floats throughout: slower, a little nearer to the original
            model.
        :param requantize: code weights as bytes when the model is opened, and compute in integers;
            excludes ``precise``.
        :param limits: how much the file may take; ``None`` is 1 TiB of files and 16 GiB of scratch
            memory a thread.
        :param allow_unknown: names of unknown settings to ignore, with a ``UserWarning`` each, in a folder's
            files or in a file that keeps their texts; the model would be refused for them.
        :param adapter: the folder of a LoRA adapter, as peft saves it, to merge into a model in a folder.
            Texts that it has, such as a tokenizer, are used instead of the model's.
        :raises FileMissing: there is no such file; other failures are :class:`StorageError`.
        :raises ModelError: something is wrong with the file or the model in it.
        """
        if precise and requantize:
            raise ValueError("precise and requantize exclude each other")
        self._path: str | None = None
        self._data: bytes | None = None
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._data = bytes(path_or_bytes)
        elif path_or_bytes is not None and not is_built_in(path_or_bytes):
            self._path = os.fspath(path_or_bytes)
        self._options: dict[str, Any] = {
            "threads": threads,
            "memory": memory,
            "max_tokens": max_tokens,
            "precise": precise,
            "requantize": requantize,
            "limits": limits,
            "allow_unknown": _names(allow_unknown),
            "adapter": None if adapter is None else os.fspath(adapter),
        }
        self._native = _native.Model(self._path, self._data, **self._options)

    def _reopen(self, **changed: Any) -> None:
        """Opens the model again with other options."""
        options = {**self._options, **changed}
        self._native = _native.Model(self._path, self._data, **options)
        self._options = options

    def __reduce__(self) -> tuple[Any, ...]:
        source = self._path if self._data is None else self._data
        return _reopened, (type(self), source, self._options)

    def __repr__(self) -> str:
        given = repr(BUILT_IN[0] if self._path is None else self._path)
        sizes = "" if self.kind == "cross-encoder" else f"{self.dimensions} dimensions, "
        return (
            f"<{type(self).__name__} {given if self._data is None else 'of bytes'}: {self.kind},"
            f" {sizes}{self.max_tokens} tokens>"
        )

    @property
    def kind(self) -> str:
        """``encoder``, ``cross-encoder`` or ``generator``; these embed too, by pooled states."""
        return self._native.kind

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._native.dimensions

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are used, special tokens included."""
        return self._native.max_tokens

    @property
    def fingerprint(self) -> str:
        """The identity of the model's vectors, 32 hexadecimal digits: vectors may be compared if their
        models have the same. It covers weights, settings, tokenizer, prompts, and the options that
        change vectors, and is the same on every machine; ``nanoembed inspect`` and Parquet files
        of the command line have it, too."""
        return self._native.fingerprint

    @property
    def positions(self) -> int:
        """The most tokens that the model can use."""
        return self._native.positions

    @property
    def labels(self) -> list[str]:
        """The labels of a reranker; those that rank have one."""
        return self._native.labels

    @overload
    def embed(
        self,
        texts: str,
        *,
        vectors: Literal["dense"] = "dense",
        **keywords: Unpack[_keywords.EmbeddingOne],
    ) -> npt.NDArray[Any]: ...
    @overload
    def embed(
        self,
        texts: str,
        *,
        vectors: Literal["sparse"],
        **keywords: Unpack[_keywords.EmbeddingOthers],
    ) -> SparseVector: ...
    @overload
    def embed(
        self,
        texts: str,
        *,
        vectors: Literal["multi"],
        **keywords: Unpack[_keywords.EmbeddingOthers],
    ) -> npt.NDArray[np.float32]: ...
    @overload
    def embed(
        self,
        texts: Texts,
        *,
        vectors: Literal["sparse"],
        details: Literal[False] = False,
        **keywords: Unpack[_keywords.EmbeddingOthers],
    ) -> list[SparseVector]: ...
    @overload
    def embed(
        self,
        texts: Texts,
        *,
        vectors: Literal["multi"],
        details: Literal[False] = False,
        **keywords: Unpack[_keywords.EmbeddingOthers],
    ) -> list[npt.NDArray[np.float32]]: ...
    @overload
    def embed(
        self,
        texts: Texts,
        *,
        vectors: Literal["sparse", "multi"],
        details: Literal[True],
        **keywords: Unpack[_keywords.EmbeddingOthers],
    ) -> Embedded: ...
    @overload
    def embed(
        self,
        texts: Texts,
        *,
        vectors: Literal["dense"] = "dense",
        details: Literal[True],
        **keywords: Unpack[_keywords.Embedding],
    ) -> Embedded: ...
    @overload
    def embed(
        self,
        texts: Texts,
        *,
        vectors: Literal["dense"] = "dense",
        details: Literal[False] = False,
        **keywords: Unpack[_keywords.Embedding],
    ) -> Any: ...
    def embed(
        self,
        texts: Texts,
        *,
        vectors: VectorKind = "dense",
        details: bool = False,
        as_: Role | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        truncate_dim: int | None = None,
        normalize: bool = False,
        dtype: Dtype = "float32",
        out: npt.NDArray[Any] | None = None,
        to: _texts.Family | None = None,
        on_error: OnError = "raise",
        progress: Progress = None,
    ) -> Any:
        """The embeddings of texts, in their order.

        :param texts: several texts, or one ``str``, whose vector has one dimension.
        :param vectors: ``dense``: one for a text; ``sparse``: a :class:`SparseVector` for a text,
            by models such as SPLADE and BGE-M3; ``multi``: one for each token, ``float32 [tokens,
            dimensions]`` for a text, by models for late interaction such as ColBERT and BGE-M3. The
            last two are lists, with ``None`` for a row without a text, and ``truncate_dim``,
            ``normalize``, ``dtype``, ``out`` and ``to`` are not for them. ColBERT makes other
            vectors of questions than of texts that answer: it needs ``as_``, or
            :meth:`embed_queries` and :meth:`embed_documents`.
        :param details: return :class:`Embedded`, with the status of each row.
        :param as_: put the model's prompt for such texts before each; refused if it has none. In a
            model with a Router, such texts take their route, with a prompt or without.
            :meth:`embed_query` and :meth:`embed_documents` use it where there is one.
        :param prompt_name: put the model's prompt of this name before each text.
        :param prompt: put this before each text; ``""`` is nothing, also for models with a default.
        :param truncate_dim: keep only the first numbers of each vector, for models made for it.
        :param normalize: bring each vector to length 1 at the end.
        :param dtype: ``float32``; ``float16``; ``int8``, codes whose largest of a row is ±127; or
            ``binary``: uint8, a bit for each number, 1 where it is above 0, as ``numpy.packbits``.
        :param out: a C-contiguous numpy array of the result's type and shape, which is written to
            and returned.
        :param to: the library whose array is returned; ``None``: that of a pyarrow or polars
            column, else numpy.
        :param on_error: what becomes of items that are no text, in lists ``None`` too: ``raise``
            TypeError or ValueError, or ``null``: no vector. Nulls of columns are never errors.
        :param progress: ``True`` for a line on stderr, or what is called every 50 ms or so.
        :returns: ``[n, dimensions]`` of the dtype, or ``uint8 [n, ⌈dimensions/8⌉]``: ``binary``.
            A row without a vector is null in pyarrow and polars, NaN or zeros in numpy.
        """
        before = before_texts(as_, prompt_name, prompt)
        if isinstance(texts, str) and (details or out is not None or to is not None):
            raise TypeError("details, out and to are for several texts: put it into a list")
        several = [texts] if isinstance(texts, str) else texts
        dense = Dense(truncate_dim, normalize, dtype, out, to)
        found = self._embed_kind(several, before, vectors, dense, on_error, progress)
        if details:
            return found
        rows = self._warned(found).vectors
        return rows[0] if isinstance(texts, str) else rows

    def _embed_kind(
        self,
        texts: Texts,
        before: _native.Before,
        vectors: VectorKind,
        dense: Dense,
        on_error: OnError,
        progress: Progress,
    ) -> Embedded:
        """The vectors of such a kind."""
        if vectors == "dense":
            return self._embed(texts, before, dense, on_error, progress)
        dense.refuse_for(vectors)
        return self._embed_others(texts, vectors, before, on_error, progress)

    def _warned(self, found: Embedded) -> Embedded:
        """What was found, after a warning if texts were cut."""
        warn_of_truncated(found.status, found.tokens)
        return found

    def _embed(
        self,
        texts: Texts,
        before: _native.Before,
        dense: Dense,
        on_error: OnError = "raise",
        progress: Progress = None,
    ) -> Embedded:
        rows, status, tokens, scales = self._native.embed(
            _texts.lowered(texts),
            before,
            truncate_dim=dense.truncate_dim,
            normalize=dense.normalize,
            dtype=dense.dtype,
            out=dense.out,
            strict=is_strict(on_error),
            nulls=_texts.allows_missing(texts),
            progress=watcher(progress),
        )
        return Embedded(
            dense.out if rows is None else _texts.converted(rows, dense.to or _texts.family(texts)),
            np.frombuffer(status, np.uint8),
            np.frombuffer(tokens, np.uint32),
            np.frombuffer(scales, np.float32) if dense.dtype == "int8" else None,
        )

    def _embed_others(
        self,
        texts: Texts,
        vectors: Literal["sparse", "multi"],
        before: _native.Before,
        on_error: OnError = "raise",
        progress: Progress = None,
    ) -> Embedded:
        embed = sparse_vectors if vectors == "sparse" else multi_vectors
        return embed(
            self._native,
            _texts.lowered(texts),
            before,
            strict=is_strict(on_error),
            nulls=_texts.allows_missing(texts),
            progress=watcher(progress),
        )

    @overload
    def embed_query(
        self,
        text: str,
        *,
        vectors: Literal["dense", "multi"] = "dense",
        truncate_dim: int | None = None,
        normalize: bool = False,
        dtype: Dtype = "float32",
    ) -> npt.NDArray[Any]: ...
    @overload
    def embed_query(self, text: str, *, vectors: Literal["sparse"]) -> SparseVector: ...
    def embed_query(
        self,
        text: str,
        *,
        vectors: VectorKind = "dense",
        truncate_dim: int | None = None,
        normalize: bool = False,
        dtype: Dtype = "float32",
    ) -> Any:
        """The embedding of a question, ``[dimensions]``, after the model's prompt for these if it
        has one; other ``vectors`` are as in :meth:`embed`."""
        return self.embed_queries(
            [text],
            vectors=vectors,
            truncate_dim=truncate_dim,
            normalize=normalize,
            dtype=dtype,
        )[0]

    def embed_queries(
        self,
        texts: Texts,
        *,
        vectors: VectorKind = "dense",
        truncate_dim: int | None = None,
        normalize: bool = False,
        dtype: Dtype = "float32",
        out: npt.NDArray[Any] | None = None,
        to: _texts.Family | None = None,
        on_error: OnError = "raise",
        progress: Progress = None,
    ) -> Any:
        """The embeddings of several questions, ``[n, dimensions]``: see :meth:`embed_query` and
        :meth:`embed`."""
        before = before_texts(usual="query")
        dense = Dense(truncate_dim, normalize, dtype, out, to)
        found = self._embed_kind(texts, before, vectors, dense, on_error, progress)
        return self._warned(found).vectors

    def embed_documents(
        self,
        texts: Texts,
        *,
        vectors: VectorKind = "dense",
        truncate_dim: int | None = None,
        normalize: bool = False,
        dtype: Dtype = "float32",
        out: npt.NDArray[Any] | None = None,
        to: _texts.Family | None = None,
        on_error: OnError = "raise",
        progress: Progress = None,
    ) -> Any:
        """The embeddings of texts that answer questions, ``[n, dimensions]``, after the model's
        prompt for these if it has one. Arguments are those of :meth:`embed`."""
        before = before_texts(usual="document")
        dense = Dense(truncate_dim, normalize, dtype, out, to)
        found = self._embed_kind(texts, before, vectors, dense, on_error, progress)
        return self._warned(found).vectors

    @overload
    def tokenize(self, texts: str, **keywords: Unpack[_keywords.Tokenizing]) -> Tokens: ...
    @overload
    def tokenize(
        self, texts: Texts, **keywords: Unpack[_keywords.Tokenizing]
    ) -> list[Tokens | None]: ...
    def tokenize(
        self,
        texts: Texts,
        *,
        as_: Role | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        max_tokens: int | None = None,
        on_error: OnError = "raise",
    ) -> Any:
        """The token ids of texts as they are embedded; ``None`` for a row without a text.

        :param max_tokens: how many are kept; ``None`` as many as this model embeds, see
            :attr:`max_tokens`, 0 all.
        """
        found = self._native.tokenize(
            _texts.lowered([texts] if isinstance(texts, str) else texts),
            before_texts(as_, prompt_name, prompt),
            max_tokens=max_tokens,
            strict=is_strict(on_error),
            nulls=_texts.allows_missing(texts),
        )
        all_tokens = [None if tokens is None else Tokens(*tokens) for tokens in found]
        return all_tokens[0] if isinstance(texts, str) else all_tokens

    # A list without anything is one text.
    @overload
    def detokenize(  # type: ignore[overload-overlap]
        self, ids: Tokens | Sequence[int] | npt.NDArray[np.integer[Any]]
    ) -> str: ...
    @overload
    def detokenize(self, ids: Sequence[Tokens | Sequence[int]]) -> list[str]: ...
    def detokenize(self, ids: Any) -> Any:
        """The text of token ids, or of each of several lists of them: without special tokens, and
        as the tokenizer has normalised it."""
        is_one = isinstance(ids, Tokens) or all(isinstance(id, (int, np.integer)) for id in ids)
        lists = [it.ids if isinstance(it, Tokens) else it for it in ([ids] if is_one else ids)]
        found = self._native.detokenize([[int(id) for id in it] for it in lists])
        return found[0] if is_one else found

    def token(self, id: int) -> str | None:
        """A token as the vocabulary spells it; ``None`` for an id that it does not have."""
        return self._native.token(id)

    @overload
    def decode(
        self, vectors: SparseVector, top_k: int | None = None
    ) -> list[tuple[str, float]]: ...
    @overload
    def decode(
        self, vectors: Sequence[SparseVector], top_k: int | None = None
    ) -> list[list[tuple[str, float]]]: ...
    def decode(
        self, vectors: SparseVector | Sequence[SparseVector], top_k: int | None = None
    ) -> Any:
        """The tokens of sparse vectors as the vocabulary spells them, with their weights, the
        heaviest first.

        :param top_k: how many of each; ``None`` all.
        """
        if isinstance(vectors, SparseVector):
            return decoded(vectors, top_k, self.token)
        return [decoded(vector, top_k, self.token) for vector in vectors]

    def rerank(
        self,
        query: str,
        texts: Texts,
        *,
        k: int | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        progress: Progress = None,
    ) -> list[Ranked]:
        """The ``k`` texts that answer ``query`` best, the best first, by a cross-encoder such as
        bge-reranker or a model for late interaction such as ColBERT; ``None`` all of them.

        :param prompt: the instruction to a reranker whose chat template has a place for one, such
            as Qwen3-Reranker; ``""`` for the template's own. By default the model's default prompt.
        :param prompt_name: the model's prompt of this name as the instruction.
        """
        if k is not None and k < 0:
            raise ValueError(f"k={k} is no number of texts")
        found = self._native.rerank(
            query,
            _texts.lowered(texts),
            before_texts(None, prompt_name, prompt),
            progress=watcher(progress),
        )
        return [Ranked(*ranked) for ranked in found[:k]]

    def predict(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        progress: Progress = None,
    ) -> npt.NDArray[np.float32]:
        """What a cross-encoder says of pairs: scores, ``float32 [n]``, or ``[n, labels]`` with
        several labels; the MaxSim of pairs by a model for late interaction. ``prompt`` and ``prompt_name`` are as in :meth:`rerank`."""
        queries, texts = [query for query, _ in pairs], [text for _, text in pairs]
        before = before_texts(None, prompt_name, prompt)
        found = self._native.score(queries, texts, before, progress=watcher(progress))
        scores = np.array([score for _, score in found], np.float32)
        scores = scores.reshape(len(pairs), len(self.labels))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def generate(
        self,
        prompt: str | Sequence[Mapping[str, str]],
        *,
        max_tokens: int = 128,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        presence_penalty: float = 0.0,
        frequency_penalty: float = 0.0,
        seed: int | None = None,
        stop: str | Iterable[str] = (),
        special_tokens: bool = False,
    ) -> Iterator[str]:
        """Continues a text, piece by piece.

        :param prompt: a text, or messages such as ``{"role": "user", "content": "…"}``, which are
            put in the form of the model's chat template, or of ChatML if it has none.
        :param max_tokens: how many tokens are added at most.
        :param temperature: 0 always takes the likeliest token. ``None`` is the model's own here and
            below (``generation_config.json``), or 0.7.
        :param top_k: consider only so many of the likeliest tokens; 0 all; or 40.
        :param top_p: consider only the likeliest tokens that together have this probability; or
            0.95.
        :param min_p: consider only tokens with this share of the likeliest one's probability; or 0.
        :param repetition_penalty: makes tokens of the prompt and the text less likely; 1 changes
            nothing; or 1.
        :param presence_penalty: makes tokens of the text less likely, as with OpenAI.
        :param frequency_penalty: the same for each time that they are there.
        :param seed: the same seed gives the same text; ``None`` is another one each time.
        :param stop: texts before the first of which it ends; they are not part of what is given.
        :param special_tokens: take special tokens that the text spells as such: for templates that
            are filled in, never for what others have written; refused for messages, which have
            those of their template.
        """
        text = prompt if isinstance(prompt, str) else None
        messages = None
        if not isinstance(prompt, str):
            if special_tokens:
                raise ValueError("special_tokens is for a text: messages have their template's")
            messages = [_role_and_content(message) for message in prompt]
        return self._native.generate(
            {
                "template": text if special_tokens else None,
                "text": text,
                "messages": messages,
                "max_tokens": max_tokens,
                "temperature": temperature,
                "top_k": top_k,
                "top_p": top_p,
                "min_p": min_p,
                "repetition_penalty": repetition_penalty,
                "presence_penalty": presence_penalty,
                "frequency_penalty": frequency_penalty,
                "seed": random.getrandbits(32) if seed is None else seed,
                "stop": [stop] if isinstance(stop, str) else list(stop),
            }
        )

    def similarity(self, a: Any, b: Any) -> npt.NDArray[np.float32]:
        """Cosines of dense vectors, dot products of sparse ones, MaxSim of those for each token: see
        :func:`nanoembed.similarity`."""
        return similarity(a, b)

    def encode(
        self,
        sentences: Texts,
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        **keywords: Unpack[EncodingKeywords],
    ) -> Any:
        """The same as sentence-transformers' ``encode``: ``float32 [n, dimensions]``, or
        ``[dimensions]`` for one ``str``. Its other keywords are those of
        :class:`~nanoembed._encode.Encoding`.

        :raises ValueError: devices and other outputs are asked for: this computes on the CPU.
        """
        before = before_texts(None, prompt_name, prompt)
        return encoded(self, sentences, before, Encoding(**keywords))


def _role_and_content(message: Mapping[str, str]) -> tuple[str, str]:
    others = sorted(set(message) - {"role", "content"})
    if others:
        raise ValueError(f"a message has a role and content, and no {', '.join(others)}")
    return message["role"], message["content"]


def given_or_opened(model: Model | Any, options: Mapping[str, Any]) -> Model:
    """A model that is given, or what it is opened with; options are for one that is opened."""
    if not isinstance(model, Model):
        return Model(model, **options)
    if options:
        raise TypeError(f"{', '.join(options)}: the model has been opened already")
    return model


def _reopened(kind: type[Model], source: Any, options: dict[str, Any]) -> Model:
    """A pickled model; subclasses, too, are opened with these arguments alone."""
    model = kind.__new__(kind)
    Model.__init__(model, source, **options)
    return model

"""Search in folders of texts and code."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import _native, _texts
from ._files import Path
from ._model import Model, given_or_opened
from ._progress import Progress, watcher
from ._texts import Texts
from ._truncation import warn_of_truncated_query
from ._warning import warn

By: TypeAlias = Literal["both", "words", "meaning"]
Unit: TypeAlias = Literal["line", "paragraph"]


@dataclass(frozen=True)
class Hit:
    """A passage that answers a query, as ``nanoembed search --json`` has it."""

    file: str
    """The file's name, beginning with the folder as it was given; the name of a text."""
    line: int
    """The number of its first line, from 1."""
    end_line: int
    text: str
    score: float
    """How well it answers: the larger, the better."""
    similarity: float | None
    """That of the meanings; ``None`` if they were not compared."""
    members: dict[str, Any] = field(default_factory=dict)
    """The ``id`` of its JSON line, if that has one."""


@dataclass(frozen=True)
class IndexStatus:
    """The index of a folder, as ``nanoembed index --status --json`` has it."""

    folder: str
    """The indexed folder: the one that was given, or one that contains it."""
    files: int
    passages: int
    bytes: int
    age_seconds: int
    index: str
    """The file that has the index."""


class Index:
    """Files and folders that are searched by words and by meaning, as by ``nanoembed search``.

    >>> import nanoembed
    >>> texts = ["The cat sat on the mat.", "Oil is dearer than last year."]
    >>> index = nanoembed.Index.from_texts(texts)
    >>> index.search("Where is my pet?", k=1)[0].text
    'The cat sat on the mat.'

    ``Index("docs/", "src/")`` is about folders: its passages are sections of Markdown and HTML,
    functions of code, paragraphs of other texts, and the texts of JSON lines; ``.gitignore`` is
    heeded. Folders have an index in the user's folder for caches, the one of the command line, with
    the same hits: only what is new is read and embedded. ``len(index)`` is the number of different
    passages.
    """

    def __init__(
        self,
        *paths: Path,
        model: Model | Path | None = None,
        glob: str | Iterable[str] = (),
        type: str | Iterable[str] = (),
        hidden: bool = False,
        no_ignore: bool = False,
        unit: Unit | None = None,
        lossy: bool = False,
        keep: bool = True,
        progress: Progress = None,
    ) -> None:
        """Reads files, and embeds passages that have no vectors yet. Files that cannot be read are
        left out with a ``UserWarning``.

        :param paths: files and folders; the files that are given are embedded each time.
        :param model: the model, or its file or folder; ``None`` is the model of the package.
        :param glob: only files of folders that match one of these, or none of those that begin with
            ``!``.
        :param type: only files of folders of these types, such as ``md``, ``py`` or ``rust``.
        :param hidden: hidden files and folders, too.
        :param no_ignore: files that ``.gitignore`` and its like leave out, too.
        :param unit: the passages of all files are ``line`` or ``paragraph``, whatever the file.
        :param lossy: replace bytes that are not UTF-8 by U+FFFD in files that are given, too.
        :param keep: keep an index of each folder, in ``search`` of ``NANOEMBED_CACHE``, else of
            ``nanoembed`` in the user's folder for caches, or in ``.nanoembed`` of the folder if
            ``nanoembed index --in-folder`` made one; ``False`` embeds everything again.
        :param progress: ``True`` for a line on stderr, or what is called every 50 ms or so.
        :raises FileMissing: there is no such file or folder.
        """
        if not paths:
            raise ValueError("an index is of one file or folder at least")
        self._model = given_or_opened(model, {})
        self._files: _native.SearchedFiles | None = {
            "paths": [os.fspath(path) for path in paths],
            "glob": _several(glob),
            "types": _several(type),
            "hidden": hidden,
            "no_ignore": no_ignore,
            "unit": unit,
            "lossy": lossy,
            "keep": keep,
        }
        self._native = self._opened(progress)

    @classmethod
    def from_texts(
        cls,
        texts: Texts,
        names: Iterable[str] | None = None,
        *,
        model: Model | Path | None = None,
        progress: Progress = None,
    ) -> Index:
        """Texts in memory, each of them one passage.

        :param texts: as for :meth:`Model.embed`.
        :param names: the ``file`` of each in hits; ``None`` is its number, from 0.
        """
        index = cls.__new__(cls)
        index._model = given_or_opened(model, {})
        index._files = None
        index._native = _native.Index.from_texts(
            index._model._native,  # pyright: ignore[reportPrivateUsage]
            _texts.lowered(texts),
            None if names is None else _several(names),
            progress=watcher(progress),
        )
        return index

    def _opened(self, progress: Progress) -> _native.Index:
        if self._files is None:
            raise TypeError("an index of texts has no files")
        native = self._model._native  # pyright: ignore[reportPrivateUsage]
        opened = _native.Index.open(native, self._files, progress=watcher(progress))
        for message in opened.messages:
            warn(message)
        return opened

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        paths = "texts" if self._files is None else ", ".join(map(repr, self._files["paths"]))
        return f"<Index of {paths}: {len(self)} passages>"

    @property
    def embedded(self) -> int:
        """How many texts had to be embedded when files were read last."""
        return self._native.embedded

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        by: By = "both",
        vectors: Literal["dense", "sparse"] | None = None,
        min: float | None = None,
        rerank: Model | None = None,
        progress: Progress = None,
    ) -> list[Hit]:
        """The ``k`` passages that answer a query best, the best first.

        :param by: ``words`` are the stems and the parts of identifiers, ``meaning`` is the model's.
        :param vectors: kind of vectors that are compared; ``None`` is what the model is made for.
        :param min: leave out hits whose meaning is less similar.
        :param rerank: a cross-encoder or a model for late interaction, which orders the best
            hundred anew: ``score`` is its.
        """
        if k < 1:
            raise ValueError(f"k={k} is no number of hits")
        found, is_cut, warning = self._native.search(
            {
                "query": query,
                "k": k,
                "by": by,
                "vectors": vectors,
                "min": min,
                "rerank": None if rerank is None else rerank._native,  # pyright: ignore[reportPrivateUsage]
            },
            progress=watcher(progress),
        )
        if is_cut:
            warn_of_truncated_query(self._model.max_tokens)
        if warning is not None:
            warn(warning)
        return [
            Hit(file, line, end_line, text, score, similarity, json.loads(members or "{}"))
            for file, line, end_line, text, score, similarity, members in found
        ]

    def update(self, *, progress: Progress = None) -> None:
        """Reads files that have changed since, and embeds what is new of them."""
        self._native = self._opened(progress)

    def status(self) -> list[IndexStatus]:
        """The indices of the folders, as far as they have one."""
        if self._files is None:
            return []
        native = self._model._native  # pyright: ignore[reportPrivateUsage]
        return [IndexStatus(*state) for state in _native.index_states(native, self._files)]

    def drop(self) -> list[str]:
        """Removes these; their folders. What is in memory can be searched all the same."""
        if self._files is None:
            return []
        native = self._model._native  # pyright: ignore[reportPrivateUsage]
        return _native.drop_indices(native, self._files)


def _several(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)

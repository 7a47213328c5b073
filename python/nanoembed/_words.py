"""Word vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._limits import Limits


class Neighbour(NamedTuple):
    """A word that is near another."""

    word: str
    similarity: float
    """The cosine of the angle between both vectors."""


class WordVectors:
    """Vectors of words: finalfusion as it is; word2vec, text (GloVe), fastText and floret files
    through a temporary file.

    ``word in words`` tells whether the file has a word; others may have a vector by their subwords.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Opens a file.

        :param threads: how many threads compute, 1 to 1024; ``None`` is one for each CPU.
        :param limits: how large the file may be; ``None`` is 1 TiB.
        """
        self._path = os.fspath(path)
        self._options: dict[str, Any] = {"threads": threads, "limits": limits}
        self._native = _native.Words(self._path, **self._options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (type(self), self._path, self._options)

    def __repr__(self) -> str:
        return f"WordVectors({self._path!r}, {len(self)} words, {self.dimensions} dimensions)"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._native.dimensions

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[str]:
        """The words in the order of the file; what is not UTF-8 in one is U+FFFD."""
        return iter(self._native.words())

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._native.contains(word)

    def vector(self, word: str) -> npt.NDArray[np.float32] | None:
        """The vector of a word, ``float32 [dimensions]``: the file's or one of its subwords;
        ``None`` if it has none."""
        vector: npt.NDArray[np.float32] = np.asarray(self._native.vectors([word]))[0]
        return None if np.isnan(vector).all() else vector

    def __getitem__(self, word: str) -> npt.NDArray[np.float32]:
        """The same; KeyError if it has none."""
        vector = self.vector(word)
        if vector is None:
            raise KeyError(word)
        return vector

    def vectors(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors of words, ``float32 [n, dimensions]``; NaN for one that has none."""
        found: npt.NDArray[np.float32] = np.asarray(self._native.vectors(list(words)))
        return found

    def similar(self, word: str, k: int = 10) -> list[Neighbour]:
        """The ``k`` words that are nearest to ``word``, without it, the nearest first.

        :raises NotFound: the word has no vector; ``hint`` has words that are nearly it.
        """
        return [Neighbour(*near) for near in self._native.similar(word, k)]

    def analogy(self, a: str, b: str, c: str, k: int = 10) -> list[Neighbour]:
        """The ``k`` words that are to ``c`` as ``b`` is to ``a``, without these three, the nearest
        first.

        :raises NotFound: one of the words has no vector.
        """
        return [Neighbour(*near) for near in self._native.analogy((a, b, c), k)]


def _reopened(kind: type[WordVectors], path: str, options: dict[str, Any]) -> WordVectors:
    return kind(path, **options)

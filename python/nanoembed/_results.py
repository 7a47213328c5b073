"""What becomes of texts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Status(IntEnum):
    """What became of a row; the numbers are those of the C interface."""

    OK = 0
    """It has a vector."""
    NULL = 1
    """There is no text: None, null, NaN."""
    TRUNCATED = 2
    """It has a vector of its first tokens; the text has more."""
    INVALID_UTF8 = 3
    """Its bytes are not UTF-8, or a string has a lone surrogate."""
    BAD_OFFSETS = 4
    """The Arrow column's offsets lead out of its data."""
    NOT_TEXT = 5
    """It is no string."""


class SparseVector(NamedTuple):
    """A vector most of whose elements are 0: weights for some tokens of the vocabulary."""

    indices: npt.NDArray[np.uint32]
    """``uint32``, the ids of the tokens, in ascending order; :meth:`Model.decode` spells them."""
    values: npt.NDArray[np.float32]
    """``float32``, their weights, which are positive."""


class Embedded(NamedTuple):
    """Vectors, and what became of each text."""

    vectors: Any
    """As :meth:`Model.embed` gives them; a row without a vector is null, NaN or, of integers, 0, and
    ``None`` where vectors are not dense."""
    status: npt.NDArray[np.uint8]
    """``uint8 [n]``, a :class:`Status` for each text."""
    tokens: npt.NDArray[np.uint32]
    """``uint32 [n]``, how many tokens of each text were embedded, special tokens included."""
    scales: npt.NDArray[np.float32] | None
    """``float32 [n]`` with ``dtype="int8"``: vector ≈ codes × scale. Cosines need no scales."""

    @property
    def has_vector(self) -> npt.NDArray[np.bool_]:
        """``bool [n]``, whether each text has a vector."""
        return np.isin(self.status, (Status.OK, Status.TRUNCATED))


@dataclass(frozen=True)
class Ranked:
    """A text by its rank."""

    index: int
    """Which of the texts it is."""
    score: float
    """How well it answers: from 0 to 1 as a rule, by late interaction a sum over the question's
    tokens."""


class Tokens(NamedTuple):
    """The tokens of a text."""

    ids: list[int]
    """Ids, special tokens included."""
    truncated: bool
    """Whether the text has more."""


"""The warning that texts were cut."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import numpy.typing as npt

from ._results import Status


class TruncationWarning(UserWarning):
    """Some texts have more tokens than the model uses, and were cut: ``embed(details=True)`` says
    which."""


def warn_of_truncated(status: npt.NDArray[np.uint8], tokens: npt.NDArray[np.uint32]) -> None:
    """Warns if texts were cut, of which so many tokens were used, at the first caller outside of
    this package."""
    is_cut = status == Status.TRUNCATED
    cut = int(np.count_nonzero(is_cut))
    if cut == 0:
        return
    depth, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("nanoembed."):
        depth, frame = depth + 1, frame.f_back
    texts = "the text has" if len(status) == 1 else f"{cut} of {len(status)} texts have"
    warnings.warn(
        f"{texts} more than {tokens[is_cut].max()} tokens: only these are embedded",
        TruncationWarning,
        stacklevel=depth,
    )

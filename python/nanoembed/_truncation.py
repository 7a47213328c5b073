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


def warn_of_truncated(status: npt.NDArray[np.uint8], most: int) -> None:
    """Warns if texts were cut, at the first caller outside of this package."""
    cut = int(np.count_nonzero(status == Status.TRUNCATED))
    if cut == 0:
        return
    depth, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("nanoembed."):
        depth, frame = depth + 1, frame.f_back
    texts = "the text has" if len(status) == 1 else f"{cut} of {len(status)} texts have"
    warnings.warn(
        f"{texts} more than {most} tokens: only these are embedded",
        TruncationWarning,
        stacklevel=depth,
    )

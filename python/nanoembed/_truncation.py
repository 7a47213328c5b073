"""The warning that texts were cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._results import Status
from ._warning import warn


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
    texts = "the text has" if len(status) == 1 else f"{cut} of {len(status)} texts have"
    message = f"{texts} more than {tokens[is_cut].max()} tokens: only these are embedded"
    warn(message, TruncationWarning)


def warn_of_truncated_query(max_tokens: int) -> None:
    """Warns that a query has more tokens than the model uses."""
    message = f"the query has more than {max_tokens} tokens: only these are embedded"
    warn(message, TruncationWarning)

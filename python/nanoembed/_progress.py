"""How far a call is, for people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = "bool | Callable[[int, int | None], object] | None"
"""``True`` for a line on stderr, or what is called with how many texts are done, of how many."""


def watcher(progress: Progress) -> Callable[[int, int | None], object] | None:
    """What is called while texts are worked on."""
    if progress is None or progress is False:
        return None
    return _line if progress is True else progress


def _line(done: int, total: int | None) -> None:
    """Progress as one line on stderr."""
    end = "\n" if total is not None and done >= total else ""
    sys.stderr.write(f"\r{done} of {total} texts{end}" if total else f"\r{done} texts{end}")
    sys.stderr.flush()

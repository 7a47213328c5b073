"""Models of processes that engines send work to."""

from __future__ import annotations

from functools import lru_cache

from ._model import Model


@lru_cache(maxsize=4)
def opened(path: str | None, threads: int) -> Model:
    """A model that a process opens once, whatever it is asked for by it."""
    return Model(path, threads=threads)

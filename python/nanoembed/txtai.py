"""Vectors for txtai: what its ``external`` method calls.

>>> from nanoembed.txtai import transform
>>> config = {"method": "external", "transform": transform()}
>>> embeddings = txtai.Embeddings(config)                                   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._model import Model, given_or_opened


def transform(
    model: Model | Any = None, **options: Any
) -> Callable[[list[str]], npt.NDArray[np.float32]]:
    """A function of several texts; its vectors, ``float32 [n, dimensions]``, have length 1.

    :param model: a :class:`~nanoembed.Model`, or what one is opened with, as are ``options``.
    """
    opened = given_or_opened(model, options)

    def embed(texts: list[str]) -> npt.NDArray[np.float32]:
        vectors: npt.NDArray[np.float32] = opened.embed(texts, normalize=True, to="numpy")
        return vectors

    return embed

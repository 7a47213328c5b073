"""How dense vectors are given."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ._keywords import Dtype
from ._texts import Family


@dataclass(frozen=True)
class Dense:
    """What is asked for of dense vectors: keywords of :meth:`nanoembed.Model.embed`."""

    truncate_dim: int | None = None
    normalize: bool = False
    dtype: Dtype = "float32"
    out: Any = None
    to: Family | None = None

    def __post_init__(self) -> None:
        if self.to not in (None, "numpy", "pyarrow", "polars"):
            raise ValueError(f"to={self.to!r} is not 'numpy', 'pyarrow' or 'polars'")
        if self.out is not None and self.to not in (None, "numpy"):
            raise ValueError("out is a numpy array")

    def refuse_for(self, vectors: str) -> None:
        """Refuses what is for dense vectors alone, and a kind of vectors that there is not."""
        if vectors not in ("sparse", "multi"):
            raise ValueError(f"vectors={vectors!r} is not 'dense', 'sparse' or 'multi'")
        for field in fields(self):
            value = getattr(self, field.name)
            # Arrays are not compared as a whole.
            is_given = value is not None if field.name == "out" else value != field.default
            if is_given:
                raise ValueError(f"{field.name} is for dense vectors, not for {vectors} ones")

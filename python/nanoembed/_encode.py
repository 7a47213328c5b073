"""How sentence-transformers' ``encode`` is asked for vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._keywords import Dtype


@dataclass(frozen=True)
class Encoding:
    """Its keywords but for prompts. What makes no sense here is refused, not ignored."""

    batch_size: int = 32
    show_progress_bar: bool | None = None
    output_value: str | None = "sentence_embedding"
    precision: str = "float32"
    convert_to_numpy: bool = True
    convert_to_tensor: bool = False
    device: Any = None
    normalize_embeddings: bool = False
    truncate_dim: int | None = None
    pool: Any = None
    chunk_size: int | None = None

    def __post_init__(self) -> None:
        refused = {
            "output_value": self.output_value != "sentence_embedding",
            "device": self.device is not None and str(self.device) != "cpu",
            "precision": self.precision not in ("float32", "binary", "ubinary"),
            "batch_size": self.batch_size < 1,
        }
        for name, is_refused in refused.items():
            if is_refused:
                raise ValueError(f"encode does not support {name}={getattr(self, name)!r} here")

    @property
    def dtype(self) -> Dtype:
        """What vectors are computed as."""
        return "float32" if self.precision == "float32" else "binary"

    def rows(self, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Vectors of that type as ``encode`` gives them."""
        if self.precision == "binary":
            return (vectors.astype(np.int16) - 128).astype(np.int8)
        return vectors


def as_tensor(rows: npt.NDArray[Any]) -> Any:
    """The same numbers as a tensor of torch."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(
            "convert_to_tensor=True needs torch; without it there are numpy arrays"
        ) from error
    return torch.from_numpy(rows)

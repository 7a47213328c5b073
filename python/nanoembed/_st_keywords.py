"""Keywords and methods of sentence-transformers that change nothing here, and those that would."""

from __future__ import annotations

import os
import shutil
from typing import Any

from ._model import BUILT_IN, Model, is_built_in

HARMLESS = frozenset(
    {
        "backend", "cache_folder", "local_files_only", "model_card_data", "revision", "token",
        "trust_remote_code", "use_auth_token",
    }
)  # fmt: skip
"""Keywords about downloading a model and about the engine that runs it: nothing is downloaded, no
code of a model is run, and there is one engine."""

LOADING = frozenset({"attn_implementation", "device_map", "dtype", "low_cpu_mem_usage", "torch_dtype"})
"""Members of ``model_kwargs`` that say how torch holds a model."""


def check(keywords: dict[str, Any]) -> None:
    """Refuses keywords that would change what a model is."""
    loading = keywords.get("model_kwargs") or {}
    others = sorted(set(loading) - LOADING)
    if others:
        raise ValueError(f"model_kwargs: {', '.join(others)} is not done here")
    for name, value in keywords.items():
        if name not in HARMLESS and name != "model_kwargs" and value not in (None, {}):
            raise ValueError(f"{name}={value!r} is not done here")


def path_of(model: str | os.PathLike[str] | None, device: Any) -> Any:
    """What :class:`~nanoembed.Model` opens for such arguments."""
    on_cpu(device)
    if model is None or is_built_in(model):
        return None
    if not os.path.exists(str(model)):
        raise FileNotFoundError(
            f"{model}: no such file or folder, and nothing is downloaded: give the"
            f" folder of a model, or one of {', '.join(BUILT_IN)}"
        )
    return model


def on_cpu(device: Any) -> None:
    """Refuses other devices."""
    if device is not None and str(device).split(":")[0] != "cpu":
        raise ValueError(f"device={str(device)!r}: this computes on the CPU")


class Movable(Model):
    """What programs do to a model of torch before they use it."""

    def to(self, device: Any = None, *_: Any, **__: Any) -> Any:
        """The model itself: it is on the CPU."""
        on_cpu(device)
        return self

    def cpu(self) -> Any:
        """The model itself."""
        return self

    def eval(self) -> Any:
        """The model itself, which is never trained."""
        return self

    @property
    def device(self) -> str:
        """``cpu``."""
        return "cpu"

    @property
    def max_seq_length(self) -> int:
        """How many tokens of a text are used; may be set."""
        return self.max_tokens

    @max_seq_length.setter
    def max_seq_length(self, most: int) -> None:
        self._reopen(max_tokens=most)

    def save(self, path: str | os.PathLike[str], *_: Any, **__: Any) -> None:
        """Copies the model's folder, or its file into a folder."""
        if self._path is None:
            raise ValueError("save: the model of the package has no folder; take its file from the package")
        if os.path.isdir(self._path):
            shutil.copytree(self._path, path, dirs_exist_ok=True)
        else:
            os.makedirs(path, exist_ok=True)
            shutil.copy2(self._path, path)

    save_pretrained = save

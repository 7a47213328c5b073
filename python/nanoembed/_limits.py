"""What a stranger's file may take."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields

from . import _native


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a file may make the library take, as numbers of bytes. What asks for more is refused
    before it is taken: :class:`ModelError` with the code 209 (``over_limit``) and the limit's name.

    >>> import nanoembed
    >>> limits = nanoembed.Limits(file_bytes=1 << 30, session_bytes=1 << 28)
    >>> model = nanoembed.Model(limits=limits)
    """

    file_bytes: int = _native.FILE_BYTES
    """All files that hold a model's weights, or the file of word vectors: 1 TiB."""
    session_bytes: int = _native.SESSION_BYTES
    """Scratch memory that a thread takes for the longest text, which ``max_tokens`` makes shorter:
    16 GiB. While ``memory`` is given for models that continue texts, and for word vectors, it does
    not count."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= operator.index(value) < 1 << 64:
                raise ValueError(f"{field.name}={value!r} is no number of bytes")

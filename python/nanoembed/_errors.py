"""What can go wrong. Every class is also the built-in exception that Python would raise."""

from __future__ import annotations

from typing import Any


class NanoembedError(Exception):
    """An error of the library.

    ``code`` and ``name`` never change their meaning; ``docs/errors.md`` lists them. ``path`` is the
    file that the error is about, ``offset`` the byte in it, ``hint`` what can be done, ``argument``
    the argument that is wrong; each is ``None`` where it does not apply. Hints may name commands
    and options of the ``nanoembed`` program.
    """

    code: int = 0
    name: str = ""
    path: str | None = None
    offset: int | None = None
    hint: str | None = None
    argument: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class ModelError(NanoembedError, ValueError):
    """A file is damaged or not supported, or the model in it is incomplete (1xx, 2xx, 3xx, 603)."""


class ArgumentError(NanoembedError, ValueError):
    """An argument is wrong for this model (4xx, 601)."""


class NotFound(NanoembedError, LookupError):
    """A thing that was asked for is not there: a prompt, a word (602)."""


class StorageError(NanoembedError, OSError):
    """Reading or writing failed (5xx)."""


class FileMissing(StorageError, FileNotFoundError):
    """There is no such file or folder."""


class OutOfMemory(NanoembedError, MemoryError):
    """Memory was refused (407)."""


def _rebuild(
    kind: type[NanoembedError], args: tuple[Any, ...], state: dict[str, Any]
) -> NanoembedError:
    error = kind(*args)
    error.__dict__.update(state)
    return error


def _kind(code: int, is_missing: bool) -> type[NanoembedError]:
    if code == 407:
        return OutOfMemory
    if code == 602:
        return NotFound
    if code // 100 == 5:
        return FileMissing if is_missing else StorageError
    if code // 100 == 4 or code == 601:
        return ArgumentError
    return ModelError


def make(
    code: int,
    is_missing: bool,
    name: str,
    message: str,
    path: str | None,
    offset: int | None,
    hint: str | None,
    argument: str | None,
) -> NanoembedError:
    """The exception for an error of the library; ``is_missing`` where a file is not there."""
    error = _kind(code, is_missing)(message)
    error.code, error.name, error.path, error.offset = code, name, path, offset
    error.hint, error.argument = hint, argument
    return error

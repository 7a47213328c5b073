"""What may be embedded, told by what an object can do. pandas, polars and pyarrow are imported only
to make arrays of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np

Texts: TypeAlias = Any
"""Several texts: a list or another iterable of ``str``, a numpy array of one dimension, a pandas or
polars series, a pyarrow array or chunked array, or anything with Arrow's C data interface, of type
string, large_string, string_view, binary (of UTF-8), or a dictionary of these."""

Family: TypeAlias = Literal["numpy", "pyarrow", "polars"]


def family(texts: object) -> Family:
    """In which library's arrays the vectors of these texts are expected."""
    package = type(texts).__module__.partition(".")[0]
    if package == "pyarrow":
        return "pyarrow"
    return "polars" if package == "polars" else "numpy"


def lowered(texts: Any) -> Any:
    """The texts as an Arrow column or something to iterate over, ``None`` for what is missing."""
    if isinstance(texts, (str, bytes, bytearray, memoryview, dict)):
        raise TypeError(f"texts must be several strings, not {type(texts).__name__}")
    if isinstance(texts, np.ndarray):
        if texts.ndim != 1:
            raise ValueError(f"an array of texts has one dimension, not {texts.ndim}")
        return texts.tolist()
    if type(texts).__module__.partition(".")[0] == "pandas":
        return _of_pandas(texts)
    if hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__"):
        return texts
    if not isinstance(texts, Iterable):
        raise TypeError(f"texts must be several strings, not {type(texts).__name__}")
    return texts


def _of_pandas(texts: Any) -> Any:
    """A series in Arrow's memory is taken as it is, another as Python's strings."""
    if getattr(texts, "ndim", 1) != 1 or not hasattr(texts, "isna"):
        raise TypeError(f"a column of texts is a Series, not {type(texts).__name__}")
    values = texts.array
    storage = str(getattr(texts.dtype, "storage", texts.dtype))
    if hasattr(values, "__arrow_array__") and "pyarrow" in storage:
        return values.__arrow_array__()
    items, missing = texts.astype(object).tolist(), texts.isna().tolist()
    return [None if gone else item for item, gone in zip(items, missing, strict=True)]


def allows_missing(texts: object) -> bool:
    """Whether a missing item is a null of the column rather than a mistake."""
    return type(texts).__module__.partition(".")[0] == "pandas"


def converted(rows: Any, kind: Family) -> Any:
    """Rows as arrays of a library, without a copy."""
    if kind == "numpy":
        return np.asarray(rows)
    if kind == "pyarrow":
        import pyarrow  # type: ignore[import-untyped, unused-ignore]

        return pyarrow.array(rows)
    import polars

    return polars.Series(rows)

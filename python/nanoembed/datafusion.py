"""Functions for DataFusion: texts of a query become vectors, a batch at a time, through Arrow.

>>> from datafusion import SessionContext                                    # doctest: +SKIP
>>> import nanoembed.datafusion                                              # doctest: +SKIP
>>> context = SessionContext()                                               # doctest: +SKIP
>>> nanoembed.datafusion.register(context)                                   # doctest: +SKIP
>>> context.sql('''
...     SELECT text FROM 'texts.parquet'
...     ORDER BY cosine(embed(text), embed_query('a kitten')) DESC LIMIT 3
... ''')                                                                     # doctest: +SKIP

The names are those of the Rust crate ``nanoembed-datafusion``, whose ``embed`` also takes bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow  # type: ignore[import-untyped, unused-ignore]
from datafusion import SessionContext, udf

from ._model import Model, given_or_opened


def register(context: SessionContext, model: Model | Any = None, **options: Any) -> None:
    """Adds functions to a context, of which all but ``cosine`` give vectors of float32:

    * ``embed(text)`` after the model's default prompt, if it has one, ``embed_query(text)`` and
      ``embed_document(text)`` after the prompts that the model has for these;
    * ``embed_bytes(bytes)`` is ``embed`` for columns of bytes: DataFusion itself makes text of
      bytes for the others, and ends a query where they are not UTF-8;
    * ``cosine(a, b)`` of two such vectors, also from tables.

    NULL gives NULL, as do bytes that are not UTF-8.

    :param model: a :class:`~nanoembed.Model`, or what one is opened with, as are ``options``.
    """
    opened = given_or_opened(model, options)
    vector = pyarrow.list_(pyarrow.field("item", pyarrow.float32()), opened.dimensions)
    text, number = pyarrow.string_view(), pyarrow.float32()

    def embedding(embed: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda texts: embed(texts, to="pyarrow", on_error="null").cast(vector)

    functions: list[tuple[str, Callable[..., Any], list[Any], Any]] = [
        ("embed", embedding(opened.embed), [text], vector),
        ("embed_query", embedding(opened.embed_queries), [text], vector),
        ("embed_document", embedding(opened.embed_documents), [text], vector),
        ("embed_bytes", embedding(opened.embed), [pyarrow.binary_view()], vector),
        ("cosine", _cosines, [vector, vector], number),
    ]
    for name, function, given, result in functions:
        context.register_udf(udf(function, given, result, "immutable", name))


def _cosines(a: Any, b: Any) -> Any:
    """The cosine of each pair of vectors: null if one of them is, 0 if one has no length."""
    rows, others = _rows(a), _rows(b)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(others, axis=1)
    products = np.einsum("ij,ij->i", rows, others)
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    is_missing = np.isnan(products)
    return pyarrow.array(cosines.astype(np.float32), mask=is_missing)


def _rows(vectors: Any) -> Any:
    """``float64 [n, dimensions]``, not numbers in rows that are null or have such elements."""
    width = vectors.type.list_size
    values = vectors.values.slice(vectors.offset * width, len(vectors) * width)
    rows = values.to_numpy(zero_copy_only=False).reshape(len(vectors), width).astype(np.float64)
    rows[vectors.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return rows

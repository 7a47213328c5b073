"""Functions for DuckDB: texts of a query become vectors, a batch at a time, through Arrow.

>>> import duckdb                                                            # doctest: +SKIP
>>> import nanoembed.duckdb                                                  # doctest: +SKIP
>>> connection = duckdb.connect()                                            # doctest: +SKIP
>>> nanoembed.duckdb.register(connection)                                    # doctest: +SKIP
>>> connection.sql('''
...     SELECT text FROM 'texts.parquet'
...     ORDER BY array_cosine_similarity(embed(text), embed_query('a kitten')) DESC LIMIT 3
... ''')                                                                     # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb

from ._model import Model, given_or_opened


def register(
    connection: duckdb.DuckDBPyConnection,
    model: Model | Any = None,
    *,
    name: str = "embed",
    query_name: str = "embed_query",
    **options: Any,
) -> None:
    """Adds two functions to a connection: ``embed(text)`` and ``embed_query(text)``, which give
    ``FLOAT[dimensions]`` after the model's prompts for documents and questions. Texts are of type
    ``VARCHAR`` or ``BLOB``; NULL gives NULL, as do bytes that are not UTF-8.

    :param model: a :class:`~nanoembed.Model`, or what one is opened with, as are ``options``.
    """
    opened = given_or_opened(model, options)
    kind = duckdb.dtype(f"FLOAT[{opened.dimensions}]")

    # Without types, as DuckDB has one function of a name: their argument may be of any type.
    def documents(texts):  # type: ignore[no-untyped-def]
        return opened.embed_documents(texts, to="pyarrow", on_error="null")

    def queries(texts):  # type: ignore[no-untyped-def]
        return opened.embed_queries(texts, to="pyarrow", on_error="null")

    functions: dict[str, Callable[[Any], Any]] = {name: documents, query_name: queries}
    for called, function in functions.items():
        connection.create_function(  # type: ignore[call-overload, unused-ignore]
            called, function, None, kind, type="arrow", null_handling="special"
        )

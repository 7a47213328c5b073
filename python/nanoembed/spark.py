"""A function for Spark: texts of a column become vectors, a batch at a time, through Arrow.

>>> from nanoembed.spark import embed_udf                                    # doctest: +SKIP
>>> embed = embed_udf()                                                      # doctest: +SKIP
>>> table = spark.read.parquet("texts.parquet")                              # doctest: +SKIP
>>> table.withColumn("vector", embed("text")).write.parquet("vectors")      # doctest: +SKIP

The model is opened once in each Python worker, and not sent over the network: a path must be there
on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ._workers import opened


def embed_batches(
    batches: Iterator[Any], path: str | None = None, threads: int = 1
) -> Iterator[Any]:
    """Series of texts to series of vectors, lists of floats; ``None`` for a row without a text.
    :func:`embed_udf` makes a function of a column of it, of strings or of bytes in UTF-8."""
    import pandas  # type: ignore[import-untyped, unused-ignore]

    model = opened(path, threads)
    for texts in batches:
        # Strings in Arrow's memory are not made Python's, which those that are not UTF-8 cannot be.
        given = [_decoded(text) for text in texts] if texts.dtype == object else texts
        found = model.embed(given, details=True, on_error="null", to="numpy")
        pairs = zip(found.vectors, found.has_vector, strict=True)
        vectors = [vector if has_vector else None for vector, has_vector in pairs]
        yield pandas.Series(vectors, index=texts.index, dtype=object)


def _decoded(text: Any) -> Any:
    """Bytes as a string; those that are not UTF-8 as one that is no text either."""
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text


def embed_udf(path: str | os.PathLike[str] | None = None, *, threads: int = 1) -> Any:
    """A ``pandas_udf`` from ``string`` or ``binary`` to ``array<float>``; null for null, and for
    bytes that are not UTF-8.

    :param path: the model; ``None`` is that of the package.
    :param threads: in each Python worker, of which Spark runs one for each core.
    """
    from pyspark.sql.functions import pandas_udf

    place = None if path is None else os.fspath(path)

    def embed(batches: Iterator[Any]) -> Iterator[Any]:
        return embed_batches(batches, place, threads)

    import pandas  # type: ignore[import-untyped, unused-ignore]

    embed.__annotations__ = {"batches": Iterator[pandas.Series], "return": Iterator[pandas.Series]}
    return pandas_udf(embed, returnType="array<float>")

"""Tables of pyarrow with a column of texts, and files of them."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._dense import Dense
from ._keywords import Role, before_texts
from ._model import Model
from ._results import Status


@dataclass(frozen=True)
class Columns:
    """Which column has the texts, and what the new ones are called and hold."""

    text: str = "text"
    vector: str = "embedding"
    status: str = "embedding_error"
    """Null where a row has a vector of all its tokens, else the name of its
    :class:`~nanoembed.Status` in small letters: ``truncated``, ``null``, ``invalid_utf8``."""
    as_: Role | None = None
    """What texts are: the model's prompt for these stands before them, if it has one."""


def with_vectors(model: Model, table: Any, columns: Columns) -> Any:
    """A table with vectors and statuses beside its columns, which are kept."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    for name in (columns.vector, columns.status):
        if name in table.column_names:
            raise ValueError(f"the table has a column {name!r} already: name another one")
    found = model._embed(  # pyright: ignore[reportPrivateUsage]
        table.column(columns.text),
        before_texts(usual=columns.as_),
        Dense(to="pyarrow"),
        on_error="null",
    )
    table = table.append_column(columns.vector, found.vectors)
    return table.append_column(columns.status, _names(found.status))


def _names(status: npt.NDArray[np.uint8]) -> Any:
    """A column of names, null for ``OK``. It is put together from its parts, as ``pyarrow.array``
    imports pandas for a list, which takes tens of megabytes of each process."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    names = {it.value: b"" if it == Status.OK else it.name.lower().encode() for it in Status}
    rows = [names[it] for it in status.tolist()]
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    is_valid = np.packbits(status != Status.OK, bitorder="little")
    buffers = [pyarrow.py_buffer(it) for it in (is_valid, offsets, b"".join(rows))]
    return pyarrow.StringArray.from_buffers(len(rows), buffers[1], buffers[2], buffers[0])


def embed_file(model: Model, source: str, target: str, columns: Columns) -> int:
    """Embeds a Parquet file, a row group at a time, into a file that appears when it is complete.
    How many rows it has."""
    import pyarrow.parquet  # type: ignore[import-untyped, unused-ignore]

    folder = os.path.dirname(os.path.abspath(target))
    handle, unfinished = tempfile.mkstemp(".unfinished", f".{os.path.basename(target)}.", folder)
    os.close(handle)
    try:
        with pyarrow.parquet.ParquetFile(source) as file:
            rows = _embed_groups(model, file, unfinished, columns)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise
    return rows


def remove_unfinished(target: str) -> None:
    """Removes what processes that were killed left of a file."""
    folder, name = os.path.split(os.path.abspath(target))
    for entry in os.scandir(folder):
        if entry.name.startswith(f".{name}.") and entry.name.endswith(".unfinished"):
            os.unlink(entry.path)


def _embed_groups(model: Model, file: Any, target: str, columns: Columns) -> int:
    import pyarrow.parquet  # type: ignore[import-untyped, unused-ignore]

    # Numbers of vectors are all different: a dictionary of them takes more memory than they do.
    repeated = [file.schema.column(at).path for at in range(len(file.schema))]
    repeated.append(columns.status)
    writer = None
    try:
        for group in range(file.num_row_groups):
            table = with_vectors(model, file.read_row_group(group), columns)
            writer = writer or pyarrow.parquet.ParquetWriter(
                target, table.schema, use_dictionary=repeated
            )
            writer.write_table(table, row_group_size=max(table.num_rows, 1))
        if writer is None:
            table = with_vectors(model, file.schema_arrow.empty_table(), columns)
            writer = pyarrow.parquet.ParquetWriter(
                target, table.schema, use_dictionary=repeated
            )
    finally:
        if writer is not None:
            writer.close()
        # What a file took is not kept for the next one, which another process may embed.
        pyarrow.default_memory_pool().release_unused()
    return int(file.metadata.num_rows)

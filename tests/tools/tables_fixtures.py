#!/usr/bin/env python3
"""Writes tests/data/tables/texts.*: one table of texts in columns of every layout, by pyarrow.

    pip install pyarrow==26.0.1
    tests/tools/tables_fixtures.py tests/data/tables
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

TEXTS = [
    "I forgot my login credentials",
    "The cat sleeps on the sofa",
    None,
    "",
    "Grüße aus Köln",
    "cat " * 200,
    "hello world",
]


def table():
    raw = [None if text is None else text.encode() for text in TEXTS]
    raw[6] = b"hello \xff world"
    nested = pa.struct([("a", pa.list_(pa.int32())), ("b", pa.string())])
    return pa.table(
        {
            "id": pa.array(range(10, 17), pa.int64()),
            "text": pa.array(TEXTS),
            "large": pa.array(TEXTS, pa.large_string()),
            "view": pa.array(TEXTS, pa.string_view()),
            "dictionary": pa.array(TEXTS).dictionary_encode(),
            "bytes": pa.array(raw, pa.binary()),
            "nested": pa.array(
                [{"a": [1, 2], "b": "x"}, None, {"a": [], "b": None}, {"a": None, "b": "y"}]
                + [{"a": [n], "b": "z"} for n in range(3)],
                nested,
            ),
        },
        metadata={"made by": "pyarrow"},
    )


def main(folder):
    made = table()
    pq.write_table(made, folder / "texts.parquet", row_group_size=3, compression="zstd")
    with ipc.new_file(folder / "texts.arrow", made.schema) as writer:
        writer.write_table(made, max_chunksize=3)
    with ipc.new_stream(folder / "texts.arrows", made.schema) as writer:
        writer.write_table(made, max_chunksize=3)


main(Path(sys.argv[1]))

#!/usr/bin/env python3
"""Reads with pyarrow what `nanoembed embed` writes, and compares it with its lines of JSON.

    tests/tools/tables_check.py PROGRAM MODEL TABLES OUT

TABLES is tests/data/tables, OUT a folder for what is written.
"""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

PROGRAM, MODEL = sys.argv[1:3]
TABLES, OUT = map(Path, sys.argv[3:5])
ADDED = ["embedding", "embedding_tokens", "embedding_truncated", "embedding_error"]


def embed(*arguments):
    command = [PROGRAM, "embed", "-q", "-m", MODEL, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    opened = ipc.open_file if path.suffix == ".arrow" else ipc.open_stream
    return opened(path).read_all()


def lines(source, *arguments):
    output = embed("-f", source, "--format", "jsonl", "--on-error", "null", *arguments)
    return [json.loads(line) for line in output.splitlines()]


def check_vectors(table, expected, dtype):
    column = table.column("embedding")
    assert column.null_count == sum(line["embedding"] is None for line in expected)
    for at, line in enumerate(expected):
        found = column[at].as_py()
        if dtype == "binary" and found is not None:
            found = list(found)
        if found is None or dtype == "binary" or dtype == "int8":
            assert found == line["embedding"], (at, found, line["embedding"])
        else:
            assert len(found) == len(line["embedding"])
            assert all(abs(a - b) < 1e-7 for a, b in zip(found, line["embedding"])), at
        assert table.column("embedding_tokens")[at].as_py() == line["tokens"]
        assert table.column("embedding_truncated")[at].as_py() == line["truncated"]
        error = table.column("embedding_error")[at].as_py()
        assert (error is None) == ("error" not in line), (at, error)
        if dtype == "int8":
            scale = table.column("embedding_scale")[at].as_py()
            assert scale is None and found is None or abs(scale - line["embedding_scale"]) < 1e-9


def write(table, path, compression=None):
    if path.suffix == ".parquet":
        return pq.write_table(table, path)
    opened = ipc.new_file if path.suffix == ".arrow" else ipc.new_stream
    with opened(path, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)


def check_broken_strings():
    """A string that is not UTF-8 is an error of its row alone, whatever the layout and the file."""
    count = 0
    texts = [b"the cats", b"broken \xff and longer than twelve", b"sing"]
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    for kind, raw in kinds.items():
        column = pa.Array.from_buffers(kind, len(texts), pa.array(texts, raw).buffers())
        table = pa.table({"id": [1, 2, 3], "text": column})
        for ending, compression in [(".parquet", None), (".arrow", None), (".arrows", "zstd"), (".arrow", "lz4")]:
            source, target = OUT / f"broken{ending}", OUT / "mended.arrows"
            write(table, source, compression)
            embed("-f", source, "--on-error", "null", "-o", target)
            made = read(target)
            assert made.schema.field("text").type == kind
            assert made.column("text").to_pylist() == [text.decode(errors="replace") for text in texts]
            assert made.column("embedding_error").to_pylist() == [None, "not valid UTF-8 at its byte 7", None]
            assert [row is None for row in made.column("embedding").to_pylist()] == [False, True, False]
            embed("-f", source, "--on-error", "skip", "-o", target)
            assert read(target).column("id").to_pylist() == [1, 3]
            strict = [PROGRAM, "embed", "-q", "-m", MODEL, "-f", source, "-o", target]
            failed = subprocess.run(strict, capture_output=True, text=True)
            assert failed.returncode == 1 and "row 2: not valid UTF-8 at its byte 7" in failed.stderr, failed.stderr
            count += 1
    return count


def main():
    count = check_broken_strings()
    for source in sorted(TABLES.glob("texts.*")):
        given = read(source)
        for column in ["text", "large", "view", "dictionary", "bytes"]:
            expected = lines(source, "--column", column)
            for ending in [".parquet", ".arrows"]:
                target = OUT / f"{column}{ending}"
                embed("-f", source, "--column", column, "--on-error", "null", "-o", target)
                made = read(target)
                check_vectors(made, expected, "f32")
                assert made.column_names == given.column_names + ADDED
                for name in given.column_names:
                    # Field names inside lists are Parquet's; values and nulls are kept.
                    assert made.column(name).to_pylist() == given.column(name).to_pylist(), name
                assert made.schema.field(column).type == given.schema.field(column).type
                metadata = made.schema.metadata
                assert metadata[b"made by"] == b"pyarrow"
                assert metadata[b"nanoembed.dtype"] == b"f32"
                assert metadata[b"nanoembed.dimensions"] == str(len(expected[0]["embedding"])).encode()
                count += 1
        skipped = OUT / "skipped.parquet"
        embed("-f", source, "--column", "bytes", "--on-error", "skip", "-o", skipped)
        assert read(skipped).column("id").to_pylist() == [10, 11, 13, 14, 15]
        for dtype in ["f16", "int8", "binary"]:
            target = OUT / f"{dtype}.parquet"
            embed("-f", source, "--dtype", dtype, "-o", target)
            check_vectors(read(target), lines(source, "--dtype", dtype), dtype)
            count += 1
    width = read(OUT / "f16.parquet").schema.field("embedding").type
    assert width == pa.list_(pa.field("item", pa.float16()), width.list_size)
    print(f"{count} tables are as pyarrow should read them")


main()

"""Functions for engines: with the engine where it is installed, else as it would call them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas
import pytest
from conftest import installed

import nanoembed

TEXTS = ["a cat on a mat", None, "the price of oil", "", "a kitten sleeps"]


@installed("duckdb")
def test_duckdb_ranks_a_table_by_meaning(model, tmp_path):
    import duckdb
    import pyarrow
    import pyarrow.parquet

    import nanoembed.duckdb

    connection = duckdb.connect()
    nanoembed.duckdb.register(connection, model)
    file = tmp_path / "texts.parquet"
    column = pyarrow.array(TEXTS)
    pyarrow.parquet.write_table(pyarrow.table({"id": range(5), "text": column}), file)
    rows = connection.sql(f"SELECT id, embed(text) FROM '{file}' ORDER BY id").fetchall()
    expected = model.embed(column, to="numpy")
    for id, vector in rows:
        if TEXTS[id] is None:
            assert vector is None
        else:
            assert np.array_equal(np.array(vector, np.float32), expected[id])
    nearest = connection.sql(f"""
        SELECT id FROM '{file}' WHERE text <> ''
        ORDER BY array_cosine_similarity(embed(text), embed_query('a young cat')) DESC LIMIT 2
    """).fetchall()
    assert sorted(id for [id] in nearest) == [0, 4]
    many = connection.sql("SELECT embed('text ' || i) AS v FROM range(5000) r(i)").fetchnumpy()
    assert len(many["v"]) == 5000


BYTES = [b"a cat on a mat", b"\xff\xfe", None, b"", b"cut \xe2\x82", b"word " * 200_000]


def expected_of_bytes(model):
    """Vectors, ``None`` where bytes are no text."""
    import pyarrow

    column = pyarrow.array(BYTES, pyarrow.binary())
    found = model.embed(column, on_error="null", details=True, to="numpy")
    assert found.has_vector.tolist() == [True, False, False, True, False, True]
    pairs = zip(found.vectors, found.has_vector, strict=True)
    return [vector if has_vector else None for vector, has_vector in pairs]


def claimed_strings():
    """The same as strings, which some are not: as of producers that do not look."""
    import pyarrow

    column = pyarrow.array(BYTES, pyarrow.large_binary())
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(column), column.buffers())


def same_or_both_none(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        assert a is None or np.array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


@installed("duckdb")
def test_duckdb_gives_null_for_broken_texts(model):
    import duckdb
    import pyarrow

    import nanoembed.duckdb

    connection = duckdb.connect()
    nanoembed.duckdb.register(connection, model)
    for texts in (pyarrow.array(BYTES, pyarrow.binary()), claimed_strings()):
        connection.register("broken", pyarrow.table({"id": range(len(texts)), "text": texts}))
        rows = connection.sql("SELECT embed(text) FROM broken ORDER BY id")
        same_or_both_none([vector for [vector] in rows.fetchall()], expected_of_bytes(model))
    [[nothing, one, other]] = connection.sql(
        "SELECT embed(NULL), embed('a'), embed('a'::BLOB)"
    ).fetchall()
    assert nothing is None and one == other
    with pytest.raises(duckdb.Error, match="holds no texts"):
        connection.sql("SELECT embed(3)").fetchall()


@installed("datafusion")
def test_datafusion_ranks_a_table_by_meaning(model, tmp_path):
    import pyarrow
    import pyarrow.parquet
    from datafusion import SessionContext

    import nanoembed.datafusion

    context = SessionContext()
    nanoembed.datafusion.register(context, model)
    column = pyarrow.array(TEXTS)
    file = tmp_path / "texts.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": range(5), "text": column}), file)
    context.register_parquet("texts", str(file))

    def values(sql):
        [found] = context.sql(sql).to_pydict().values()
        return found

    found = values("SELECT embed(text) FROM texts ORDER BY id")
    assert found[1] is None
    expected = model.embed(column, to="numpy")
    same_or_both_none(found, [None if it is None else v for it, v in zip(TEXTS, expected)])
    nearest = values("""
        SELECT id FROM texts WHERE text <> ''
        ORDER BY cosine(embed(text), embed_query('a young cat')) DESC LIMIT 2
    """)
    assert sorted(nearest) == [0, 4]
    [cosine] = values("SELECT cosine(embed('a dog'), embed_document('a cat'))")
    assert abs(cosine - nanoembed.similarity(model.embed("a dog"), model.embed("a cat"))) < 1e-6
    assert values("SELECT cosine(embed('a dog'), embed(NULL))") == [None]

    for kind in (pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()):
        table = pyarrow.table({"id": range(len(BYTES)), "text": pyarrow.array(BYTES, kind)})
        context.from_arrow(table, name=f"of_{kind}")
        found = values(f"SELECT embed_bytes(text) FROM of_{kind} ORDER BY id")
        same_or_both_none(found, expected_of_bytes(model))
    table = pyarrow.table({"id": range(len(BYTES)), "text": claimed_strings()})
    context.from_arrow(table, name="claimed")
    found = values("SELECT embed(text) FROM claimed ORDER BY id")
    same_or_both_none(found, expected_of_bytes(model))


def test_spark_gives_none_for_broken_texts(model):
    from nanoembed.spark import embed_batches

    given = pandas.Series([*BYTES, "a string", "\ud800", float("nan")], dtype=object)
    [found] = embed_batches(iter([given]))
    expected = [*expected_of_bytes(model), model.embed("a string"), None, None]
    same_or_both_none(found.tolist(), expected)


def test_spark_gives_none_for_broken_strings_of_arrow(model):
    """As Spark 4 passes columns of strings, which it does not check."""
    import pyarrow

    from nanoembed.spark import embed_batches

    chunks = pyarrow.chunked_array([claimed_strings()])
    for array in (pandas.arrays.ArrowStringArray, pandas.arrays.ArrowExtensionArray):
        [found] = embed_batches(iter([pandas.Series(array(chunks))]))
        same_or_both_none(found.tolist(), expected_of_bytes(model))


def test_spark_calls_a_function_of_batches(model):
    from nanoembed.spark import embed_batches

    batches = [pandas.Series(TEXTS[:2], index=[7, 8]), pandas.Series(TEXTS[2:])]
    first, second = embed_batches(iter(batches))
    assert first.index.tolist() == [7, 8] and first[8] is None
    assert np.array_equal(first[7], model.embed(TEXTS[0]))
    assert np.array_equal(np.stack(second.tolist()), model.embed(TEXTS[2:]))


@installed("pyspark")
@pytest.mark.filterwarnings("default")
def test_spark_embeds_a_column(model):
    from pyspark.sql import SparkSession

    from nanoembed.spark import embed_udf

    session = SparkSession.builder.master("local[2]").getOrCreate()
    table = session.createDataFrame(list(enumerate(TEXTS)), "id int, text string")
    rows = table.withColumn("vector", embed_udf()("text")).orderBy("id").collect()
    assert rows[1].vector is None
    assert np.array_equal(np.array(rows[0].vector, np.float32), model.embed(TEXTS[0]))
    table = session.createDataFrame(list(enumerate(BYTES)), "id int, text binary")
    for text in ("text", "CAST(text AS STRING)"):
        column = table.selectExpr("id", f"{text} AS text").withColumn("vector", embed_udf()("text"))
        rows = column.orderBy("id").collect()
        same_or_both_none([row.vector for row in rows], expected_of_bytes(model))


def parquet(folder, count=3):
    """Files of texts in several row groups, some of them bad."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    for number in range(count):
        texts = [f"text {number} {row}" for row in range(20)] + [None, "", "word " * 600]
        binary = pyarrow.array([None if it is None else it.encode() for it in texts] + [b"\xff"])
        table = pyarrow.table({"id": range(24), "text": binary, "other": [number] * 24})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet", row_group_size=7)
    return folder


def test_a_file_of_a_table_gets_vectors_and_statuses(model, tmp_path):
    import pyarrow.parquet

    from nanoembed._tables import Columns, embed_file

    source = parquet(tmp_path / "texts", 1) / "0.parquet"
    target = tmp_path / "vectors.parquet"
    assert embed_file(model, str(source), str(target), Columns()) == 24
    table = pyarrow.parquet.read_table(target)
    assert table.column_names == ["id", "text", "other", "embedding", "embedding_error"]
    status = table["embedding_error"].to_pylist()
    assert status[:20] == [None] * 20
    assert status[20:] == ["null", None, "truncated", "invalid_utf8"]
    is_missing = table["embedding"].is_null().to_pylist()
    assert is_missing[19:] == [False, True, False, False, True]
    group = pyarrow.parquet.ParquetFile(target).metadata.row_group(0)
    written = [group.column(at) for at in range(group.num_columns)]
    encodings = {it.path_in_schema.split(".")[0]: it.encodings for it in written}
    assert "RLE_DICTIONARY" in encodings["text"]
    assert "RLE_DICTIONARY" not in encodings["embedding"]
    first = np.array(table["embedding"][0].as_py(), np.float32)
    assert np.array_equal(first, model.embed("text 0 0"))
    again = tmp_path / "again.parquet"
    embed_file(model, str(source), str(again), Columns())
    assert again.read_bytes() == target.read_bytes()
    with pytest.raises(ValueError, match="already"):
        embed_file(model, str(target), str(again), Columns())
    with pytest.raises(KeyError):
        embed_file(model, str(source), str(again), Columns(text="body"))
    names = {it.name for it in tmp_path.iterdir()}
    assert names == {"again.parquet", "texts", "vectors.parquet"}


LEAN = """
import sys
import nanoembed.ray
from nanoembed._tables import Columns, embed_file

embed_file(nanoembed.Model(threads=1), sys.argv[1], sys.argv[2], Columns())
print("pandas" in sys.modules)
"""


def test_a_worker_does_not_import_pandas(tmp_path):
    """It would take more memory than all else that a worker has of its own."""
    source = parquet(tmp_path / "texts", 1) / "0.parquet"
    command = [sys.executable, "-c", LEAN, str(source), str(tmp_path / "vectors.parquet")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_no_workers_embed_nothing(tmp_path):
    from nanoembed.ray import embed_parquet

    with pytest.raises(ValueError, match="workers=0"):
        embed_parquet(tmp_path, tmp_path / "vectors", workers=0)


@installed("ray")
@pytest.mark.filterwarnings("default")
def test_ray_embeds_files_and_skips_those_that_are_there(model, tmp_path):
    import ray

    from nanoembed._tables import Columns, embed_file
    from nanoembed.ray import Embedder, embed_parquet

    source = parquet(tmp_path / "texts")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    try:
        assert embed_parquet(source, tmp_path / "one", workers=1) == 72
        assert embed_parquet(source, tmp_path / "two", workers=2) == 72
        (tmp_path / "two" / "1.parquet").unlink()
        (tmp_path / "two" / ".1.parquet.killed.unfinished").write_bytes(b"part of a file")
        assert embed_parquet(source, tmp_path / "two", workers=2) == 24
        assert embed_parquet(source, tmp_path / "two", workers=2) == 0
        assert len(list((tmp_path / "two").iterdir())) == 3
        alone = tmp_path / "alone.parquet"
        for number in range(3):
            embed_file(model, str(source / f"{number}.parquet"), str(alone), Columns())
            for folder in ("one", "two"):
                assert (tmp_path / folder / f"{number}.parquet").read_bytes() == alone.read_bytes()
        dataset = ray.data.read_parquet(str(source))
        rows = dataset.map_batches(Embedder, batch_format="pyarrow", concurrency=1, batch_size=5)
        assert sorted(row["id"] for row in rows.take_all()) == sorted(list(range(24)) * 3)
    finally:
        ray.shutdown()

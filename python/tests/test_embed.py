"""Texts of every kind give the vectors of the command line."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import DECODER, PROMPTED, RERANKER, ROUTED, SMALL_F32, TABLE, TEXTS, by_program

import nanoembed

ARROW_TYPES = [
    pyarrow.string(),
    pyarrow.large_string(),
    pyarrow.string_view(),
    pyarrow.binary(),
    pyarrow.large_binary(),
    pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
    pyarrow.dictionary(pyarrow.uint32(), pyarrow.large_string()),
]

KINDS = {
    "list": lambda: TEXTS,
    "tuple": lambda: tuple(TEXTS),
    "iterator": lambda: iter(TEXTS),
    "numpy of objects": lambda: np.array(TEXTS, dtype=object),
    "numpy of characters": lambda: np.array(TEXTS),
    "numpy backwards": lambda: np.array(TEXTS[::-1], dtype=object)[::-1],
    "pandas": lambda: pandas.Series(TEXTS),
    "pandas of objects": lambda: pandas.Series(TEXTS, dtype=object),
    "pandas of arrow": lambda: pandas.Series(TEXTS, dtype=pandas.ArrowDtype(pyarrow.string())),
    "pandas with an index": lambda: pandas.Series(TEXTS, index=range(7, -1, -1)),
    "polars": lambda: polars.Series(TEXTS),
    "polars of categories": lambda: polars.Series(TEXTS).cast(polars.Categorical),
    **{f"arrow {kind}": lambda kind=kind: pyarrow.array(TEXTS, pyarrow.string()).cast(kind)
       for kind in ARROW_TYPES},
}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_any_kind_give_the_bits_of_the_command_line(kind, model, expected):
    vectors = model.embed(KINDS[kind](), to="numpy")
    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), 384)
    assert vectors.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ["list", "pandas", "polars", "arrow string"])
def test_a_model_of_floats_agrees_with_the_command_line(kind):
    vectors = nanoembed.Model(SMALL_F32).embed(KINDS[kind](), to="numpy")
    by_cli = by_program(TEXTS, "--model", str(SMALL_F32))
    assert np.abs(vectors - by_cli).max() <= 1e-6


def test_results_do_not_depend_on_threads_or_neighbours(model, expected):
    for threads in (1, 3):
        other = nanoembed.Model(threads=threads)
        assert other.embed(TEXTS).tobytes() == expected.tobytes()
    for text, vector in zip(TEXTS, expected):
        assert model.embed(text).tobytes() == vector.tobytes()


def test_an_array_comes_out_in_the_library_of_the_column():
    model = nanoembed.Model(SMALL_F32)
    two = ["one", "two"]
    width = model.dimensions
    arrow = model.embed(pyarrow.array(two))
    assert arrow.type == pyarrow.list_(pyarrow.field("item", pyarrow.float32(), False), width)
    series = model.embed(polars.Series(two))
    assert series.dtype == polars.Array(polars.Float32, width)
    assert isinstance(model.embed(pandas.Series(two)), np.ndarray)
    vectors = model.embed(two)
    assert np.array_equal(np.stack(arrow.to_numpy(zero_copy_only=False)), vectors)
    assert np.array_equal(series.to_numpy(), vectors)
    assert np.array_equal(np.array(model.embed(two, to="pyarrow").to_pylist(), np.float32), vectors)


def test_nothing_is_copied_on_the_way_out(model):
    rows, *_ = model._native.embed(
        ["one", "two"],
        {"prompt": None, "prompt_name": None, "role": None, "usual_role": None},
        truncate_dim=None, normalize=False, dtype="float32", out=None,
        strict=True, nulls=False, progress=None,
    )
    address = rows.__array_interface__["data"][0]
    assert np.asarray(rows).__array_interface__["data"][0] == address
    assert pyarrow.array(rows).values.buffers()[1].address == address
    array = np.asarray(rows)
    del rows
    array[0, 0] = 5.0
    assert array[0, 0] == 5.0


def test_slices_and_chunks_are_seen_as_they_are(model, expected):
    column = pyarrow.array(["before", *TEXTS, "after"])
    assert model.embed(column.slice(1, len(TEXTS)), to="numpy").tobytes() == expected.tobytes()
    for kind in ARROW_TYPES:
        column = pyarrow.array(["before", *TEXTS], pyarrow.string()).cast(kind)
        parts = [column.slice(1, 3), column.slice(4, 0), column.slice(4)]
        chunked = pyarrow.chunked_array(parts, kind)
        assert model.embed(chunked, to="numpy").tobytes() == expected.tobytes(), kind
    sliced = polars.concat([polars.Series(["before"]), polars.Series(TEXTS)], rechunk=False)[1:]
    assert model.embed(sliced, to="numpy").tobytes() == expected.tobytes()
    table = pandas.concat([pandas.Series(["before"]), pandas.Series(TEXTS)])[1:]
    assert model.embed(table).tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ARROW_TYPES)
def test_nulls_give_nulls(kind, model):
    texts = ["one", None, "two", None]
    column = pyarrow.array(texts, pyarrow.string()).cast(kind)
    found = model.embed(column, details=True)
    assert found.vectors.is_null().to_pylist() == [False, True, False, True]
    assert found.status.tolist() == [0, 1, 0, 1]
    assert found.tokens.tolist() == [3, 0, 3, 0]
    vectors = model.embed(column, to="numpy")
    assert np.isnan(vectors[[1, 3]]).all()
    assert np.array_equal(vectors[[0, 2]], model.embed(["one", "two"]))


def test_nulls_of_other_libraries_give_nulls(model):
    assert model.embed(polars.Series(["one", None])).is_null().to_list() == [False, True]
    for missing in (None, float("nan"), pandas.NA):
        vectors = model.embed(pandas.Series(["one", missing], dtype=object))
        assert np.isnan(vectors).any(axis=1).tolist() == [False, True]
    assert model.embed(pyarrow.nulls(2)).null_count == 2
    empty = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([None, None], pyarrow.int8()), pyarrow.array([], pyarrow.string())
    )
    assert model.embed(empty).null_count == 2


def test_nothing_gives_nothing(model):
    assert model.embed([]).shape == (0, 384)
    assert len(model.embed(pyarrow.array([], pyarrow.string()))) == 0
    assert len(model.embed(pyarrow.chunked_array([], pyarrow.string()))) == 0
    assert model.embed(pandas.Series([], dtype=object)).shape == (0, 384)


def test_vectors_in_fewer_bytes(model, expected):
    halves = model.embed(TEXTS, dtype="float16")
    assert np.array_equal(halves, expected.astype(np.float16))
    found = model.embed(TEXTS, dtype="int8", details=True)
    codes, scales = found.vectors, found.scales
    assert codes.dtype == np.int8 and scales.dtype == np.float32
    assert np.abs(expected - codes * scales[:, None]).max() <= scales.max() * 0.501
    assert (np.abs(codes.astype(int)).max(axis=1) == 127).all()
    bits = model.embed(TEXTS, dtype="binary")
    assert np.array_equal(bits, np.packbits(expected > 0, axis=1))
    cosines = nanoembed.similarity(expected, expected)
    assert np.abs(nanoembed.similarity(codes, codes) - cosines).max() < 0.01
    assert np.abs(nanoembed.similarity(bits, bits) - cosines).max() < 0.25
    assert model.embed(pyarrow.array(["a"]), dtype="int8").type.value_type == pyarrow.int8()
    assert model.embed(pyarrow.array(["a"]), dtype="float16").type.value_type == pyarrow.float16()
    assert model.embed(pyarrow.array(["a"]), dtype="binary").type.list_size == 48
    assert model.embed(["a", None], dtype="int8", on_error="null")[1].max() == 0


def test_memory_of_the_caller_is_written_to(model, expected):
    for dtype, kind, width in [
        ("float32", np.float32, 384), ("float16", np.float16, 384),
        ("int8", np.int8, 384), ("binary", np.uint8, 48),
    ]:
        out = np.full((len(TEXTS) + 2, width), 7, kind)
        given = out[1:-1]
        assert model.embed(TEXTS, dtype=dtype, out=given) is given
        assert np.array_equal(given, model.embed(TEXTS, dtype=dtype))
        assert (out[[0, -1]] == 7).all()
    with pytest.raises(ValueError, match="shape"):
        model.embed(TEXTS, out=np.zeros((3, 384), np.float32))
    with pytest.raises(TypeError, match="type"):
        model.embed(TEXTS, out=np.zeros((8, 384)))
    with pytest.raises(ValueError, match="contiguous"):
        model.embed(TEXTS, out=np.zeros((384, 8), np.float32).T)
    locked = np.zeros((8, 384), np.float32)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        model.embed(TEXTS, out=locked)
    with pytest.raises(TypeError, match="numpy"):
        model.embed(TEXTS, out=[0.0])


def test_vectors_are_cut_and_brought_to_length_1(model, expected):
    cut = model.embed(TEXTS, truncate_dim=64)
    assert np.array_equal(cut, expected[:, :64])
    unit = model.embed(TEXTS, truncate_dim=64, normalize=True)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    assert np.allclose(unit, cut / np.linalg.norm(cut, axis=1, keepdims=True), atol=1e-6)
    with pytest.raises(nanoembed.ArgumentError) as raised:
        model.embed(TEXTS, truncate_dim=385)
    assert raised.value.argument == "truncate_dim" and raised.value.code == 601


def test_prompts_stand_before_texts():
    model = nanoembed.Model(PROMPTED)
    usual = model.embed(["text"])
    assert np.array_equal(usual, by_program(["text"], "--model", str(PROMPTED)))
    none = model.embed(["text"], prompt="")
    assert np.array_equal(none, by_program(["text"], "--model", str(PROMPTED), "--prompt", ""))
    assert not np.array_equal(usual, none)
    assert np.array_equal(model.embed(["text"], prompt="a "), model.embed(["a text"], prompt=""))
    with pytest.raises(nanoembed.NotFound) as raised:
        model.embed(["text"], prompt_name="no such")
    assert raised.value.code == 602 and isinstance(raised.value, LookupError)
    with pytest.raises(ValueError, match="exclude"):
        model.embed(["text"], prompt="a", as_="query")
    with pytest.raises(ValueError, match="as_="):
        model.embed(["text"], as_="question")


def test_queries_and_documents_have_the_prompts_of_the_model():
    gemma = nanoembed.Model(SMALL_F32.parent / "embeddinggemma")
    query, documents = gemma.embed_query("text"), gemma.embed_documents(["text", "other"])
    assert query.shape == (gemma.dimensions,) and documents.shape == (2, gemma.dimensions)
    options = ("--model", str(SMALL_F32.parent / "embeddinggemma"))
    assert np.abs(query - by_program(["text"], *options, "--as", "query")[0]).max() <= 1e-6
    by_cli = by_program(["text", "other"], *options, "--as", "document")
    assert np.abs(documents - by_cli).max() <= 1e-6
    assert np.array_equal(gemma.embed("text", as_="query"), query)


def test_texts_take_the_route_of_their_role(tmp_path):
    model = nanoembed.Model(ROUTED / "model")
    query, document = (
        np.array(json.loads((ROUTED / f"{role}.json").read_text())) for role in ("query", "document")
    )
    texts = ["hello password", "world"]
    assert np.abs(model.embed(texts) - document).max() <= 1e-4
    assert np.abs(model.embed_documents(texts) - document).max() <= 1e-4
    assert np.abs(model.embed_query(texts[0]) - query[0]).max() <= 1e-4
    assert np.abs(model.embed(texts, as_="query") - query).max() <= 1e-4
    assert list(model.tokenize(texts[0], as_="query").ids) == [28, 30]
    assert list(model.tokenize(texts[0]).ids) == [2, 28, 30, 3]
    nanoembed.convert(ROUTED / "model", tmp_path / "query.weights", as_="query")
    assert np.abs(nanoembed.Model(tmp_path / "query.weights").embed(texts) - query).max() <= 1e-4


def test_a_decoder_embeds_by_its_pooled_states():
    qwen = nanoembed.Model(SMALL_F32.parent / "qwen3_embedding")
    assert qwen.kind in ("encoder", "generator")
    options = ("--model", str(SMALL_F32.parent / "qwen3_embedding"))
    assert np.abs(qwen.embed(TEXTS[:4]) - by_program(TEXTS[:4], *options)).max() <= 1e-6


def test_a_model_in_memory_is_the_same(model):
    data = PROMPTED.read_bytes()
    vectors = nanoembed.Model(data).embed(TEXTS)
    assert np.array_equal(vectors, nanoembed.Model(PROMPTED).embed(TEXTS))
    assert np.array_equal(vectors, nanoembed.Model(memoryview(data)).embed(TEXTS))


def test_tokens_are_those_of_the_command_line(model):
    tokens = model.tokenize("How do I reset my password?")
    assert tokens.ids[0] == 101 and tokens.ids[-1] == 102 and not tokens.truncated
    assert [model.token(id) for id in tokens.ids[:3]] == ["[CLS]", "how", "do"]
    assert model.token(10**9) is None
    assert model.detokenize(tokens) == model.detokenize(tokens.ids) == "how do i reset my password?"
    assert model.detokenize(model.tokenize(["A cat", ""])) == ["a cat", ""]
    assert model.detokenize(np.array(tokens.ids[1:3])) == "how do"
    assert nanoembed.Model(DECODER).detokenize([]) == ""
    with pytest.raises(nanoembed.ArgumentError, match="there is no token 1000000000"):
        model.detokenize([10**9])
    all_tokens = model.tokenize(TEXTS)
    assert [len(it.ids) for it in all_tokens] == model.embed(TEXTS, details=True).tokens.tolist()
    long = model.tokenize([TEXTS[5]], max_tokens=0)[0]
    assert len(long.ids) > 256 and not long.truncated
    assert model.tokenize([TEXTS[5]], max_tokens=8)[0].truncated
    assert model.tokenize(["a", None], on_error="null")[1] is None


@pytest.mark.parametrize("path", [None, SMALL_F32, TABLE, DECODER])
@pytest.mark.parametrize("max_tokens", [None, 16])
def test_tokens_are_as_many_as_are_embedded(path, max_tokens):
    model = nanoembed.Model(path, max_tokens=max_tokens)
    texts = [*TEXTS[:5], "The weather is lovely today. " * 200]
    found = model.embed(texts, details=True)
    tokens = model.tokenize(texts)
    assert [len(it.ids) for it in tokens] == found.tokens.tolist()
    assert [it.truncated for it in tokens] == (found.status == nanoembed.Status.TRUNCATED).tolist()
    assert max_tokens is None or len(tokens[-1].ids) == max_tokens and tokens[-1].truncated
    whole = model.tokenize(texts[-1], max_tokens=0)
    assert len(whole.ids) > 1000 and not whole.truncated


def test_tokens_that_no_text_can_have_are_refused():
    decoder = nanoembed.Model(DECODER, max_tokens=10**9)
    with pytest.raises(nanoembed.NanoembedError, match="max_tokens"):
        decoder.tokenize("Once")
    reranker = nanoembed.Model(RERANKER, max_tokens=8)
    assert len(reranker.tokenize("Where is Berlin, and how do I get there?").ids) == 8


def test_a_role_that_there_is_not_is_refused(model):
    from nanoembed._tables import Columns, with_vectors

    table = pyarrow.table({"text": ["a"]})
    with pytest.raises(ValueError, match='as_="queries"'):
        with_vectors(model, table, Columns(as_="queries"))
    with pytest.raises(ValueError, match='as_="queries"'):
        model.embed("a", as_="queries")


def test_progress_is_told(model):
    seen = []
    model.embed(TEXTS, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(TEXTS), len(TEXTS))
    seen.clear()
    model.embed("one", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1, 1)

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.embed(TEXTS, progress=stop)


def test_a_model_says_what_it_is(model):
    named = nanoembed.Model("all-MiniLM-L6-v2")
    assert np.array_equal(named.embed("a"), model.embed("a"))
    assert repr(named) == "<Model 'all-MiniLM-L6-v2': encoder, 384 dimensions, 256 tokens>"
    small = nanoembed.Model(SMALL_F32)
    assert repr(str(SMALL_F32)) in repr(small) and f"{small.dimensions} dimensions" in repr(small)
    assert "of bytes: encoder" in repr(nanoembed.Model(PROMPTED.read_bytes()))
    assert repr(nanoembed.Model(RERANKER)).startswith("<Model '") and "cross-encoder" in repr(nanoembed.Model(RERANKER))


def test_texts_that_are_cut_are_warned_about_where_the_caller_is(model):
    long = "the weather is lovely " * 100
    for embed in (model.embed, model.embed_queries, model.embed_documents, model.encode):
        with pytest.warns(nanoembed.TruncationWarning, match="1 of 2 texts have more than 256") as found:
            embed(["short", long])
        assert [warning.filename for warning in found] == [__file__]
    with pytest.warns(nanoembed.TruncationWarning, match="the text has more than 256 tokens"):
        model.embed(long)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.embed(["short"])
        model.embed([long], details=True)

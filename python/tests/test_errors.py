"""Rows that are no texts, files that are no models."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow
import pytest
from conftest import DECODER, PROMPTED, ROOT, WORDS

import nanoembed
from nanoembed import Status


def test_what_takes_more_than_the_limits_is_refused_by_their_names():
    from nanoembed.sentence_transformers import SentenceTransformer

    def refused(name, opened, path, **limits):
        with pytest.raises(nanoembed.ModelError, match=f"`{name}`") as caught:
            opened(path, limits=nanoembed.Limits(**limits))
        assert (caught.value.code, caught.value.name) == (209, "over_limit")

    def in_memory(path, **options):
        return nanoembed.Model(path.read_bytes(), **options)

    def in_pieces(path, **options):
        return nanoembed.Model(path, memory=1 << 30, **options)

    for opened, path in [
        (nanoembed.Model, PROMPTED),
        (in_memory, PROMPTED),
        (SentenceTransformer, PROMPTED),
        (nanoembed.Model, DECODER),
        (in_pieces, DECODER),
        (nanoembed.WordVectors, WORDS),
    ]:
        own = path.stat().st_size
        refused("file_bytes", opened, path, file_bytes=own - 1)
        model = opened(path, limits=nanoembed.Limits(file_bytes=own))
        # What is pickled is opened within the same limits.
        assert pickle.loads(pickle.dumps(model))._options["limits"].file_bytes == own
    for opened in (nanoembed.Model, SentenceTransformer):
        refused("session_bytes", opened, PROMPTED, session_bytes=1000)
    few = nanoembed.Limits(session_bytes=1000)
    assert nanoembed.Model(DECODER, limits=few).tokenize("Once").ids
    with pytest.raises(nanoembed.ModelError, match="`session_bytes`"):
        next(nanoembed.Model(DECODER, limits=few).generate("Once", max_tokens=1))


def test_arguments_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="precise and requantize"):
        nanoembed.Model(precise=True, requantize=True)


def test_limits_are_those_of_the_library_and_are_numbers_of_bytes():
    assert nanoembed.Limits() == nanoembed.Limits(file_bytes=1 << 40, session_bytes=1 << 34)
    with pytest.raises(TypeError):
        nanoembed.Limits(1 << 40)
    with pytest.raises(TypeError):
        nanoembed.Limits(file_bytes="much")
    for wrong in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"session_bytes={wrong} is no number of bytes"):
            nanoembed.Limits(session_bytes=wrong)
    for other in ({"file_bytes": 1}, 1):
        with pytest.raises(AttributeError, match="file_bytes"):
            nanoembed.Model(limits=other)


@pytest.mark.parametrize("item", [None, 5, b"bytes", float("nan"), ["text"]])
def test_what_is_no_string_raises_and_is_named(item, model):
    with pytest.raises(TypeError, match=r"texts\[1\] is"):
        model.embed(["text", item])


def test_lone_surrogates_raise_and_are_named(model):
    with pytest.raises(ValueError, match=r"texts\[2\] has a lone surrogate"):
        model.embed(["a", "b", "\ud800"])


def test_bad_rows_have_a_status_on_request(model):
    texts = ["good", None, "", "\udfff", 7, "word " * 200_000]
    found = model.embed(texts, on_error="null", details=True)
    assert [Status(it) for it in found.status] == [
        Status.OK, Status.NULL, Status.OK, Status.INVALID_UTF8, Status.NOT_TEXT, Status.TRUNCATED,
    ]
    assert np.isnan(found.vectors).all(axis=1).tolist() == [False, True, False, True, True, False]
    assert found.tokens.tolist() == [3, 0, 2, 0, 0, 256]
    again = model.embed(texts, on_error="null", details=True)
    assert again.vectors.tobytes() == found.vectors.tobytes()


def test_bytes_that_are_not_utf8_have_a_status(model):
    for kind in (pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()):
        column = pyarrow.array([b"good", b"\xff\xfe", None, b"\xe4\xbd\xa0" * 9], kind)
        with pytest.raises(ValueError, match="row 1 is not valid UTF-8"):
            model.embed(column)
        found = model.embed(column, on_error="null", details=True)
        assert found.status.tolist() == [0, 3, 1, 0]
        assert found.vectors.is_null().to_pylist() == [False, True, True, False]
    # A column that claims to be of strings, and is not.
    data = pyarrow.py_buffer(b"good\xff")
    offsets = pyarrow.py_buffer(np.array([0, 4, 5], np.int32).tobytes())
    column = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, offsets, data])
    assert model.embed(column, on_error="null", details=True).status.tolist() == [0, 3]


def test_what_holds_no_texts_is_refused(model):
    for texts in (b"text", {"a": 1}, 5, None):
        with pytest.raises(TypeError):
            model.embed(texts)
    with pytest.raises(TypeError, match="Int64"):
        model.embed(pyarrow.array([1, 2]))
    with pytest.raises(TypeError, match="Struct"):
        model.embed(pyarrow.table({"text": ["a"]}))
    with pytest.raises(ValueError, match="one dimension"):
        model.embed(np.array([["a"]]))
    for wrong in ({"dtype": "float64"}, {"on_error": "skip"}, {"to": "torch"}):
        with pytest.raises(ValueError):
            model.embed(["a"], **wrong)


def test_a_missing_file_is_a_builtin_error_too():
    with pytest.raises(FileNotFoundError) as raised:
        nanoembed.Model("no/such/model")
    error = raised.value
    assert isinstance(error, nanoembed.NanoembedError)
    assert (error.code, error.name, error.path) == (501, "read_failed", "no/such/model")


def test_errors_say_where_and_survive_pickling(tmp_path):
    whole = PROMPTED.read_bytes()
    file = tmp_path / "cut.weights"
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(nanoembed.ModelError) as raised:
        nanoembed.Model(file)
    error = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(error, ValueError) and str(error) == str(raised.value)
    assert error.path == str(file) and error.code // 100 == 1 and error.offset is not None
    with pytest.raises(nanoembed.ModelError) as raised:
        nanoembed.Model(b"\x00" * 100)
    assert raised.value.code == 203 or raised.value.code // 100 in (1, 2)


def test_every_hostile_file_is_refused_with_a_code():
    files = [it for it in (ROOT / "tests/data/hostile").rglob("*") if it.is_file()]
    refused = 0
    for file in files:
        try:
            nanoembed.Model(file)
        except (nanoembed.NanoembedError, TypeError) as error:
            refused += 1
            assert not isinstance(error, nanoembed.NanoembedError) or error.code > 0
    assert files and refused > 0


def test_models_of_other_kinds_say_what_they_are(model):
    with pytest.raises(TypeError, match="WordVectors"):
        nanoembed.Model(WORDS)
    with pytest.raises(TypeError, match="cross-encoder"):
        model.rerank("query", ["text"])
    with pytest.raises(TypeError, match="continues no texts"):
        model.generate("Once")


def test_options_that_a_model_does_not_have_are_refused():
    with pytest.raises(nanoembed.ArgumentError) as raised:
        nanoembed.Model(memory=1 << 30)
    assert raised.value.argument == "memory"
    for threads in (0, 1025):
        with pytest.raises(ValueError, match="threads"):
            nanoembed.Model(threads=threads)
    with pytest.raises(nanoembed.ArgumentError):
        nanoembed.Model(max_tokens=10_000)
    assert nanoembed.Model(DECODER, memory=1 << 28).kind == "generator"


@pytest.mark.parametrize("kind, raw", [
    (pyarrow.string(), pyarrow.binary()),
    (pyarrow.large_string(), pyarrow.large_binary()),
    (pyarrow.string_view(), pyarrow.binary_view()),
])
def test_a_string_of_arrow_that_is_not_utf8_is_a_status(model, kind, raw):
    buffers = pyarrow.array([b"a cat", b"broken \xff and longer than twelve"], raw).buffers()
    column = pyarrow.Array.from_buffers(kind, 2, buffers)
    found = model.embed(column, details=True, on_error="null")
    assert found.status.tolist() == [Status.OK, Status.INVALID_UTF8]
    assert found.vectors[1].as_py() is None
    with pytest.raises(ValueError, match="row 1 is not valid UTF-8"):
        model.embed(column)

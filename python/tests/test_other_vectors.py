"""Sparse vectors, and a vector for each token, against those of other programs."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from conftest import ROOT, SMALL_F32

import nanoembed
from nanoembed.sentence_transformers import MultiVectorEncoder, SparseEncoder

HEADS = ROOT / "tests/data/heads"
COLBERT = HEADS / "colbert"
TOLERANCE = 2e-5


def rows(name):
    return json.loads((HEADS / name / "expected.json").read_text())["rows"]


def sided(side):
    """The texts of ColBERT on a side, and PyLate's vectors of their tokens."""
    numbers = np.fromfile(COLBERT / "expected.f32", np.float32).reshape(-1, 128)
    found = [row for row in rows("colbert") if row["kind"] == side]
    return [row["text"] for row in found], [
        numbers[row["offset"] : row["offset"] + row["tokens"]] for row in found
    ]


def check_sparse(found, row):
    expected = {int(id): weight for id, weight in row["sparse"].items()}
    assert found.indices.dtype == np.uint32 and found.values.dtype == np.float32
    assert found.indices.tolist() == sorted(expected)
    weights = np.array([expected[id] for id in sorted(expected)], np.float64)
    assert len(weights) == 0 or np.abs(found.values - weights).max() <= TOLERANCE


@pytest.mark.parametrize("name", ["splade", "splade_distil", "bge_m3_multi"])
def test_sparse_vectors_are_those_of_transformers(name):
    model = nanoembed.Model(HEADS / name, precise=True)
    expected = rows(name)
    found = model.embed([row["text"] for row in expected], vectors="sparse")
    assert len(found) == len(expected)
    for vector, row in zip(found, expected):
        check_sparse(vector, row)
        check_sparse(model.embed(row["text"], vectors="sparse"), row)


def test_vectors_of_tokens_are_those_of_pylate():
    model = nanoembed.Model(COLBERT, precise=True)
    for side, usual in (("query", model.embed_queries), ("document", model.embed_documents)):
        texts, expected = sided(side)
        found = model.embed(texts, vectors="multi", as_=side)
        for vectors, wanted in zip(found, expected, strict=True):
            assert vectors.dtype == np.float32 and vectors.shape == wanted.shape
            assert np.abs(vectors - wanted).max() <= TOLERANCE
        for vectors, same in zip(usual(texts, vectors="multi"), found, strict=True):
            assert np.array_equal(vectors, same)
    one = model.embed_query(sided("query")[0][0], vectors="multi")
    assert one.shape == (32, 128)


def test_vectors_of_tokens_are_those_of_flagembedding():
    model = nanoembed.Model(HEADS / "bge_m3_multi", precise=True)
    numbers = np.fromfile(HEADS / "bge_m3_multi/expected_colbert.f32", np.float32).reshape(-1, 32)
    expected = rows("bge_m3_multi")
    ends = np.cumsum([row["colbert_rows"] for row in expected])
    found = model.embed([row["text"] for row in expected], vectors="multi")
    for vectors, wanted in zip(found, np.split(numbers, ends[:-1]), strict=True):
        assert vectors.shape == wanted.shape and np.abs(vectors - wanted).max() <= TOLERANCE
    dense = model.embed([row["text"] for row in expected])
    assert dense.shape == (len(expected), model.dimensions)


def test_documents_are_compared_by_maxsim():
    model = nanoembed.Model(COLBERT, precise=True)
    expected = np.array(json.loads((COLBERT / "expected.json").read_text())["maxsim"])
    (queries, query_vectors), (documents, document_vectors) = sided("query"), sided("document")
    # Of 32 vectors.
    close = 32 * TOLERANCE
    assert np.abs(nanoembed.max_sim(query_vectors, document_vectors) - expected).max() <= close
    found = model.similarity(
        model.embed_queries(queries, vectors="multi"),
        model.embed_documents(documents, vectors="multi"),
    )
    assert found.dtype == np.float32 and np.abs(found - expected).max() <= close
    for query, scores, wanted in zip(queries, found, expected):
        ranked = model.rerank(query, documents)
        assert [it.index for it in ranked] == np.argsort(-wanted, kind="stable").tolist()
        assert [it.score for it in ranked] == scores[[it.index for it in ranked]].tolist()
        assert model.rerank(query, documents, k=1) == ranked[:1]
    pairs = [(query, document) for query in queries for document in documents]
    assert np.array_equal(model.predict(pairs), found.ravel())
    assert model.labels == [""]
    with pytest.raises(nanoembed.ArgumentError, match="prompt"):
        model.rerank("a", ["b"], prompt="do")


def test_maxsim_is_a_sum_of_the_largest_products():
    numbers = np.random.default_rng(3)
    queries = [numbers.standard_normal((n, 24)).astype(np.float32) for n in (1, 33, 0)]
    documents = [numbers.standard_normal((n, 24)).astype(np.float32) for n in (2, 40, 0, 7)]
    found = nanoembed.max_sim(queries, documents)
    assert found.shape == (3, 4)
    for query, row in zip(queries, found):
        for document, score in zip(documents, row):
            products = query.astype(np.float64) @ document.T.astype(np.float64)
            wanted = products.max(axis=1).sum() if products.size else 0
            assert abs(score - wanted) <= 1e-5 * max(1, len(query))
    assert np.array_equal(nanoembed.max_sim(queries[1], documents), found[1:2])
    assert nanoembed.max_sim([], documents).shape == (0, 4)
    for odd in ([np.zeros(3)], [np.zeros((2, 0))], [np.zeros((2, 3)), np.zeros((2, 4))]):
        with pytest.raises(ValueError):
            nanoembed.max_sim(odd, odd)


def test_sparse_vectors_are_compared_and_spelled():
    model = nanoembed.Model(HEADS / "splade")
    texts = [row["text"] for row in rows("splade")]
    found = model.embed(texts, vectors="sparse")
    dense = np.zeros((len(found), 1 + max(it.indices.max() for it in found if len(it.indices))))
    for row, vector in zip(dense, found):
        row[vector.indices] = vector.values
    assert np.abs(nanoembed.similarity(found, found) - dense @ dense.T).max() <= 1e-5
    assert nanoembed.similarity(found[0], found).shape == (1, len(found))
    vocabulary = json.loads((HEADS / "splade/tokenizer.json").read_text())["model"]["vocab"]
    for vector, spelled in zip(found, model.decode(found)):
        assert {vocabulary[token]: weight for token, weight in spelled} == dict(
            zip(vector.indices.tolist(), vector.values.tolist())
        )
        weights = [weight for _, weight in spelled]
        assert weights == sorted(weights, reverse=True)
        assert model.decode(vector, top_k=2) == spelled[:2]
    with pytest.raises(TypeError, match="sparse"):
        nanoembed.similarity(found, dense)


def test_rows_without_a_text_have_none():
    for name, vectors in (("splade", "sparse"), ("bge_m3_multi", "multi")):
        model = nanoembed.Model(HEADS / name, max_tokens=4)
        texts = ["", None, "a b c d e f g h", "\ud800"]
        found = model.embed(texts, vectors=vectors, on_error="null", details=True)
        assert [it is None for it in found.vectors] == [False, True, False, True]
        assert found.status.tolist() == [0, 1, 2, 3]
        assert found.tokens[1] == found.tokens[3] == 0 and found.tokens[2] == 4
        alone = model.embed("a b c d e f g h", vectors=vectors)
        for of_several, of_one in zip(found.vectors[2], alone):
            assert np.array_equal(of_several, of_one)
        assert model.embed([], vectors=vectors) == []
        with pytest.raises(TypeError, match=re.escape("texts[1]")):
            model.embed(texts, vectors=vectors)


def test_what_other_vectors_are_not_is_refused():
    splade, colbert = nanoembed.Model(HEADS / "splade"), nanoembed.Model(COLBERT)
    for keywords in ({"truncate_dim": 4}, {"normalize": True}, {"dtype": "int8"}, {"to": "numpy"}):
        [name] = keywords
        for embed in (splade.embed, splade.embed_queries, splade.embed_documents):
            with pytest.raises(ValueError, match=f"{name} is for dense"):
                embed(["a"], vectors="sparse", **keywords)
    with pytest.raises(ValueError, match="'odd'"):
        splade.embed(["a"], vectors="odd")
    with pytest.raises(nanoembed.ModelError, match="no dense vectors") as raised:
        splade.embed(["a"])
    assert "sparse" in raised.value.hint
    with pytest.raises(nanoembed.ModelError, match="no sparse vectors"):
        nanoembed.Model(SMALL_F32).embed(["a"], vectors="sparse")
    with pytest.raises(nanoembed.ArgumentError, match="query than of a document"):
        colbert.embed(["a"], vectors="multi")
    with pytest.raises(TypeError, match="late interaction"):
        splade.rerank("a", ["b"])


def test_encoders_of_sentence_transformers():
    sparse = SparseEncoder(HEADS / "splade", max_active_dims=3)
    text = rows("splade")[0]["text"]
    vector = sparse.encode(text)
    assert len(vector.indices) == 3 and (np.diff(vector.indices.astype(int)) > 0).all()
    whole = sparse.encode([text], max_active_dims=10**6)[0]
    assert sparse.decode(whole, top_k=3) == sparse.decode(vector)
    assert np.array_equal(pickle.loads(pickle.dumps(sparse)).encode(text).values, vector.values)
    assert np.array_equal(sparse.encode_document([text])[0].values, vector.values)
    late = MultiVectorEncoder(COLBERT)
    queries, documents = late.encode_query(["a b"]), late.encode_document(["a, b", "c"])
    assert queries[0].shape == (32, 128) and len(documents) == 2
    assert late.similarity(queries, documents).shape == (1, 2)
    with pytest.raises(nanoembed.ArgumentError):
        late.encode("a")
    with pytest.raises(ValueError, match="truncate_dim"):
        late.encode_query("a", truncate_dim=3)

"""Objects that other packages take: with the package if it is installed, else by its protocol."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import installed

import nanoembed
from nanoembed.sentence_transformers import SentenceTransformer

TEXTS = ["a cat on a mat", "the price of oil"]


def test_encode_takes_the_keywords_of_sentence_transformers(model):
    expected = model.embed(TEXTS)
    vectors = model.encode(
        TEXTS, batch_size=64, show_progress_bar=False, convert_to_numpy=True, device="cpu"
    )
    assert np.array_equal(vectors, expected)
    assert np.array_equal(model.encode(TEXTS[0]), expected[0])
    unit = model.encode(TEXTS, normalize_embeddings=True, truncate_dim=32)
    assert unit.shape == (2, 32) and np.allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    rows = model.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(rows, list) and np.array_equal(rows[1], expected[1])
    bits = model.encode(TEXTS, precision="ubinary")
    assert np.array_equal(bits, np.packbits(expected > 0, axis=1))
    signed = model.encode(TEXTS, precision="binary")
    assert signed.dtype == np.int8 and np.array_equal(signed.astype(int) + 128, bits)


@pytest.mark.parametrize(
    "keywords",
    [
        {"convert_to_tensor": True},
        {"device": "cuda"},
        {"output_value": "token_embeddings"},
        {"precision": "int8"},
        {"batch_size": 0},
    ],
)
def test_what_encode_cannot_do_is_refused_by_name(keywords, model):
    with pytest.raises(ValueError, match=next(iter(keywords))):
        model.encode(TEXTS, **keywords)
    with pytest.raises(TypeError, match="pool"):
        model.encode(TEXTS, pool=None)


def test_one_import_replaces_sentence_transformers(model):
    other = SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")
    assert np.array_equal(other.encode(TEXTS), model.embed(TEXTS))
    assert np.array_equal(other.encode_query(TEXTS), model.embed(TEXTS))
    assert np.array_equal(other.encode_document(TEXTS), model.embed(TEXTS))
    assert other.get_sentence_embedding_dimension() == 384 and other.max_seq_length == 256
    assert other.similarity(other.encode(TEXTS), other.encode(TEXTS)).shape == (2, 2)
    cut = pickle.loads(pickle.dumps(SentenceTransformer("all-MiniLM-L6-v2", truncate_dim=16)))
    assert cut.encode(TEXTS).shape == (2, 16)
    for vectors in (
        cut.embed(TEXTS), cut.embed_documents(TEXTS), cut.embed_queries(TEXTS), cut.encode_query(TEXTS)
    ):
        assert np.array_equal(vectors, model.embed(TEXTS, truncate_dim=16))
    assert np.array_equal(cut.embed(TEXTS[0]), cut.embed_query(TEXTS[0]))
    assert cut.embed(TEXTS, truncate_dim=32).shape == (2, 32)
    assert cut.dimensions == cut.get_sentence_embedding_dimension() == cut.embed("a").shape[0]
    with pytest.raises(FileNotFoundError, match="nothing is downloaded"):
        SentenceTransformer("BAAI/bge-m3")
    with pytest.raises(ValueError, match="device"):
        SentenceTransformer(device="cuda")


def test_util_ranks_as_that_of_sentence_transformers(model):
    from nanoembed.sentence_transformers import util

    corpus = model.embed([*TEXTS, "a kitten sleeps", "a dog"])
    queries = model.embed(["a young cat", "petrol", "a puppy"])
    cosines = nanoembed.similarity(queries, corpus)
    assert np.array_equal(util.cos_sim(queries, corpus), cosines)
    assert np.allclose(util.dot_score(queries * 2, corpus), cosines * 2, atol=1e-6)
    found = util.semantic_search(queries, corpus, top_k=2, query_chunk_size=2)
    exact = np.float64(queries) @ np.float64(corpus).T
    for hits, row in zip(found, exact, strict=True):
        assert [hit["corpus_id"] for hit in hits] == np.argsort(-row)[:2].tolist()
        assert all(abs(hit["score"] - row[hit["corpus_id"]]) < 1e-5 for hit in hits)
    rows = np.array([[np.nan, np.nan], [-1, 0.03]], np.float32)
    [near, none] = util.semantic_search(rows[::-1] * -1, rows)
    assert [hit["corpus_id"] for hit in near] == [1] and near[0]["score"] < 0 and none == []
    [[best]] = util.semantic_search(queries[0], corpus, top_k=1, score_function=util.dot_score)
    assert best["corpus_id"] == 0
    for wrong in ({"top_k": -1}, {"query_chunk_size": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            util.semantic_search(queries, corpus, **wrong)


def test_langchain_takes_lists_of_floats(model):
    from nanoembed.langchain import NanoembedEmbeddings

    embeddings = NanoembedEmbeddings(model)
    found = embeddings.embed_documents(TEXTS)
    assert found == model.embed(TEXTS).tolist()
    assert embeddings.embed_query(TEXTS[0]) == found[0] and type(found[0][0]) is float


@pytest.mark.parametrize(
    "place", ["langchain.NanoembedEmbeddings", "txtai.transform", "duckdb.register", "datafusion.register"]
)
def test_options_are_not_for_a_model_that_is_open(place, model):
    module, function = place.split(".")
    function = getattr(pytest.importorskip(f"nanoembed.{module}"), function)
    before = [None] if place.endswith(".register") else []
    with pytest.raises(TypeError, match="max_tokens.*opened already"):
        function(*before, model, max_tokens=8)


@installed("langchain_core")
def test_langchain_searches_by_it(model):
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    from nanoembed.langchain import NanoembedEmbeddings

    embeddings = NanoembedEmbeddings(model)
    assert isinstance(embeddings, Embeddings)
    store = InMemoryVectorStore.from_texts(TEXTS, embeddings)
    assert store.similarity_search("a kitten", k=1)[0].page_content == TEXTS[0]


@installed("llama_index")
def test_llama_index_embeds_by_it(model):
    from nanoembed.llama_index import NanoembedEmbedding

    embedding = NanoembedEmbedding(model)
    expected = model.embed(TEXTS).tolist()
    assert embedding.get_text_embedding_batch(TEXTS) == expected
    assert embedding.get_query_embedding(TEXTS[0]) == expected[0]


@installed("haystack")
def test_haystack_embeds_by_it(model):
    from haystack import Document, Pipeline

    from nanoembed.haystack import NanoembedDocumentEmbedder, NanoembedTextEmbedder

    documents = NanoembedDocumentEmbedder().run([Document(content=text) for text in TEXTS])
    expected = model.embed(TEXTS).tolist()
    assert [it.embedding for it in documents["documents"]] == expected
    pipeline = Pipeline()
    pipeline.add_component("embedder", NanoembedTextEmbedder())
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["nanoembed.haystack"])
    found = again.run({"embedder": {"text": TEXTS[0]}})
    assert found["embedder"]["embedding"] == expected[0]


def test_txtai_calls_a_transform(model):
    from nanoembed.txtai import transform

    vectors = transform(model)(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (2, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_chromadb_calls_a_function(model):
    from nanoembed.chromadb import NanoembedFunction

    function = NanoembedFunction()
    assert np.array_equal(np.stack(function(TEXTS)), model.embed(TEXTS))
    assert np.array_equal(np.stack(function.embed_query(TEXTS)), model.embed(TEXTS))
    again = NanoembedFunction.build_from_config(function.get_config())
    assert again.name() == "nanoembed" and again.default_space() == "cosine"


@installed("chromadb")
def test_chromadb_searches_by_it():
    import chromadb

    from nanoembed.chromadb import NanoembedFunction

    client = chromadb.EphemeralClient()
    collection = client.create_collection("texts", embedding_function=NanoembedFunction())
    collection.add(ids=["cat", "oil"], documents=TEXTS)
    assert collection.query(query_texts=["a kitten"], n_results=1)["ids"] == [["cat"]]
    assert client.get_collection("texts").query(query_texts=["fuel"])["ids"][0][0] == "oil"


@installed("lancedb")
def test_lancedb_searches_by_it(tmp_path):
    import lancedb
    from lancedb.embeddings import get_registry
    from lancedb.pydantic import LanceModel, Vector

    import nanoembed.lancedb  # noqa: F401

    function = get_registry().get("nanoembed").create()

    class Passage(LanceModel):
        text: str = function.SourceField()
        vector: Vector(function.ndims()) = function.VectorField()

    table = lancedb.connect(tmp_path).create_table("passages", schema=Passage)
    table.add([{"text": text} for text in TEXTS])
    assert table.search("a kitten").limit(1).to_list()[0]["text"] == TEXTS[0]

"""Objects that other packages take: with the package if it is installed, else by its protocol."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import HEADS, RERANKER, SMALL_F32, installed

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


def test_harmless_keywords_of_sentence_transformers_change_nothing(model, tmp_path):
    other = SentenceTransformer(
        "all-MiniLM-L6-v2",
        device="cpu",
        trust_remote_code=True,
        cache_folder="/nowhere",
        local_files_only=True,
        token=None,
        revision="main",
        backend="onnx",
        model_kwargs={"torch_dtype": "float16"},
        tokenizer_kwargs={},
    )
    expected = model.embed(TEXTS)
    assert other.to("cpu").eval().cpu() is other and other.device == "cpu"
    assert np.array_equal(other.encode(TEXTS, pool=None, chunk_size=8), expected)
    pool = other.start_multi_process_pool(["cpu"])
    assert np.array_equal(other.encode_multi_process(TEXTS, pool), expected)
    other.stop_multi_process_pool(pool)
    other.max_seq_length = 8
    copy = pickle.loads(pickle.dumps(other))
    for short in (other, copy):
        assert short.max_seq_length == short.get_max_seq_length() == 8
        with pytest.warns(nanoembed.TruncationWarning, match="1 of 2 texts have more than 8 tokens"):
            short.encode(["a", "a " * 20])
    for wrong in (
        {"model_kwargs": {"quantization_config": 1}},
        {"tokenizer_kwargs": {"padding_side": "left"}},
        {"prompts": {"query": "q"}},
        {"modules": []},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SentenceTransformer("all-MiniLM-L6-v2", **wrong)
    with pytest.raises(ValueError, match="cuda"):
        other.to("cuda:0")
    with pytest.raises(ValueError, match="no folder"):
        other.save(tmp_path / "copy")
    SentenceTransformer(SMALL_F32).save(tmp_path / "copy")
    again = SentenceTransformer(tmp_path / "copy")
    assert np.array_equal(again.encode(TEXTS), nanoembed.Model(SMALL_F32).embed(TEXTS))


def test_tensors_are_those_of_torch(model):
    try:
        import torch
    except ImportError:
        with pytest.raises(ImportError, match="torch"):
            model.encode(TEXTS, convert_to_tensor=True)
    else:
        found = model.encode(TEXTS, convert_to_tensor=True)
        assert torch.equal(found, torch.from_numpy(model.embed(TEXTS)))


def test_cross_encoders_predict_and_rank(tmp_path):
    from nanoembed.sentence_transformers import CrossEncoder

    model = nanoembed.Model(RERANKER)
    other = CrossEncoder(RERANKER, max_length=32, device="cpu")
    pairs = [("a cat", text) for text in TEXTS]
    expected = nanoembed.Model(RERANKER, max_tokens=32).predict(pairs)
    assert np.array_equal(other.predict(pairs, batch_size=1, show_progress_bar=False), expected)
    assert other.predict(pairs[0]) == expected[0] and other.num_labels == 1
    ranked = other.rank("a cat", TEXTS, return_documents=True, top_k=1)
    best = int(np.argmax(expected))
    assert ranked == [{"corpus_id": best, "score": pytest.approx(expected[best]), "text": TEXTS[best]}]
    assert len(other.rank("a cat", TEXTS)) == 2 and model.labels == other.labels
    with pytest.raises(ValueError, match="activation_fn"):
        other.predict(pairs, activation_fn=abs)
    with pytest.raises(TypeError, match="compares no texts"):
        CrossEncoder("all-MiniLM-L6-v2")


def test_pairs_are_mined_as_an_exhaustive_search_finds_them(model):
    from nanoembed.sentence_transformers import util

    texts = ["a cat on a mat", "the price of oil", "a kitten on a rug", "petrol costs", "rain"]
    found = util.paraphrase_mining(model, texts, top_k=10)
    vectors = np.float64(model.embed(texts))
    exact = [(vectors[i] @ vectors[j], i, j) for j in range(5) for i in range(j)]
    assert [tuple(pair[1:]) for pair in found] == [pair[1:] for pair in sorted(exact, reverse=True)]
    assert found[0][0] == pytest.approx(max(exact)[0], abs=1e-5)
    assert util.paraphrase_mining_embeddings(vectors, max_pairs=2) == found[:2]
    rows = util.normalize_embeddings([[3, 4], [0, 0]])
    assert np.allclose(rows, [[0.6, 0.8], [0, 0]])
    assert np.allclose(util.pairwise_cos_sim(vectors[:2], vectors[2:4]), [exact[1][0], vectors[1] @ vectors[3]])
    assert np.allclose(util.pairwise_dot_score([[1, 2]], [[3, 4]]), [11])


def test_one_import_replaces_fastembed(model):
    from nanoembed.fastembed import TextCrossEncoder, TextEmbedding

    other = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2", threads=2, lazy_load=True, cache_dir="/nowhere")
    expected = model.embed(TEXTS)
    drawn = []
    texts = (drawn.append(text) or text for text in TEXTS)
    vectors = other.embed(texts, batch_size=1, parallel=0)
    assert drawn == [] and np.array_equal(next(vectors), expected[0]) and drawn == TEXTS[:1]
    assert np.array_equal(np.stack([*other.query_embed(TEXTS)]), expected)
    [one] = other.passage_embed(TEXTS[1])
    assert np.array_equal(one, expected[1]) and other.embedding_size == 384
    assert other.token_count(TEXTS) == sum(len(tokens.ids) for tokens in model.tokenize(TEXTS))
    [built_in] = TextEmbedding.list_supported_models()
    assert TextEmbedding(built_in["model"]).embedding_size == built_in["dim"]
    reranker = TextCrossEncoder(RERANKER)
    scores = [*reranker.rerank("a cat", iter(TEXTS), batch_size=1)]
    sigmoid = 1 / (1 + np.exp(-np.array(scores)))
    assert np.allclose(sigmoid, nanoembed.Model(RERANKER).predict([("a cat", text) for text in TEXTS]), atol=1e-6)
    with pytest.raises(ValueError, match="cuda"):
        TextEmbedding(cuda=True)
    with pytest.raises(TypeError, match="odd"):
        TextEmbedding(odd=1)
    with pytest.raises(FileNotFoundError, match="nothing is downloaded"):
        TextEmbedding("BAAI/bge-small-en-v1.5")


@pytest.mark.parametrize("name", ["splade", "bge_m3_multi"])
def test_fastembeds_sparse_and_late_models_are_those_of_the_library(name):
    from nanoembed.fastembed import (
        LateInteractionTextEmbedding, SparseEmbedding, SparseTextEmbedding,
    )  # fmt: skip

    path = HEADS / name
    model = nanoembed.Model(path)
    for found, expected in zip(
        SparseTextEmbedding(path).embed(TEXTS), model.embed(TEXTS, vectors="sparse"), strict=True
    ):
        assert np.array_equal(found.indices, expected.indices)
        assert np.array_equal(found.values, expected.values)
        again = SparseEmbedding.from_dict(found.as_dict())
        assert np.array_equal(again.values, found.as_object()["values"])
    if name == "bge_m3_multi":
        late = LateInteractionTextEmbedding(path)
        for embed, expected in (
            (late.query_embed, model.embed_queries(TEXTS, vectors="multi")),
            (late.passage_embed, model.embed_documents(TEXTS, vectors="multi")),
        ):
            for found, rows in zip(embed(TEXTS), expected, strict=True):
                assert np.array_equal(found, rows)


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


@pytest.fixture(scope="module")
def reranker():
    return nanoembed.Model(RERANKER)


QUERY = "Where is Berlin?"
ANSWERS = ["On a mat.", "It is in Germany.", "By train.", ""]


@installed("langchain_core")
def test_langchain_compresses_by_it(reranker):
    from langchain_core.documents import BaseDocumentCompressor, Document

    from nanoembed.langchain import NanoembedReranker

    documents = [Document(it, id=it, metadata={"length": len(it)}) for it in ANSWERS]
    compressor = NanoembedReranker(reranker, top_n=2)
    assert isinstance(compressor, BaseDocumentCompressor)
    found = compressor.compress_documents(documents, QUERY)
    ranks = reranker.rerank(QUERY, ANSWERS)
    for document, rank in zip(found, ranks[:2], strict=True):
        text = ANSWERS[rank.index]
        assert document.id == document.page_content == text
        assert document.metadata == {"length": len(text), "relevance_score": rank.score}
    assert all("relevance_score" not in it.metadata for it in documents)
    opened = NanoembedReranker(str(RERANKER), threads=1)
    assert len(opened.compress_documents(documents, QUERY)) == len(ANSWERS)
    assert opened.compress_documents([], QUERY) == []
    with pytest.raises(ValueError, match="top_n=0"):
        NanoembedReranker(reranker, top_n=0)


@installed("llama_index")
def test_llama_index_reranks_by_it(reranker):
    from llama_index.core.schema import NodeWithScore, TextNode

    from nanoembed.llama_index import NanoembedReranker

    nodes = [NodeWithScore(node=TextNode(text=it), score=0.5) for it in ANSWERS]
    ranks = reranker.rerank(QUERY, ANSWERS)
    found = NanoembedReranker(reranker, top_n=3).postprocess_nodes(nodes, query_str=QUERY)
    assert [it.node.text for it in found] == [ANSWERS[it.index] for it in ranks[:3]]
    assert [it.score for it in found] == [it.score for it in ranks[:3]]
    assert [it.score for it in nodes] == [0.5] * len(nodes)
    assert NanoembedReranker(str(RERANKER)).postprocess_nodes([], query_str=QUERY) == []
    with pytest.raises(ValueError, match="there is none"):
        NanoembedReranker(reranker).postprocess_nodes(nodes)


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


@installed("haystack")
def test_haystack_ranks_by_it(reranker):
    from haystack import Document, Pipeline

    from nanoembed.haystack import NanoembedRanker

    documents = [Document(content=it, meta={"length": len(it)}) for it in ANSWERS]
    pipeline = Pipeline()
    pipeline.add_component("ranker", NanoembedRanker(str(RERANKER), top_k=2))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["nanoembed.haystack"])
    ranks = reranker.rerank(QUERY, ANSWERS)
    for given, count in (({}, 2), ({"top_k": 3}, 3)):
        inputs = {"query": QUERY, "documents": documents, **given}
        found = again.run({"ranker": inputs})["ranker"]["documents"]
        assert [it.content for it in found] == [ANSWERS[it.index] for it in ranks[:count]]
        assert [it.score for it in found] == [it.score for it in ranks[:count]]
        assert found[0].meta == {"length": len(found[0].content)}
    assert all(it.score is None for it in documents)
    with pytest.raises(ValueError, match="top_k=0"):
        NanoembedRanker(str(RERANKER), top_k=0)


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


@installed("lancedb")
def test_lancedb_reranks_by_it(tmp_path, model, reranker):
    import lancedb
    import pyarrow
    from lancedb.index import FTS

    from nanoembed.lancedb import NanoembedReranker

    texts = pyarrow.array([*ANSWERS[:3], None])
    kind = pyarrow.list_(pyarrow.float32(), 384)
    vectors = pyarrow.array([*model.embed(ANSWERS)], kind)
    rows = pyarrow.table({"text": texts, "vector": vectors})
    table = lancedb.connect(tmp_path).create_table("passages", rows)
    table.create_index("text", config=FTS())
    ranks = reranker.rerank(QUERY, ANSWERS)
    expected = [(ANSWERS[it.index] or None, it.score) for it in ranks]
    by_vector = table.search(model.embed_query(QUERY)).limit(4)
    found = by_vector.rerank(NanoembedReranker(reranker), query_string=QUERY).to_list()
    assert [(it["text"], it["_relevance_score"]) for it in found] == expected
    assert all("_distance" not in it for it in found)
    every = NanoembedReranker(str(RERANKER), return_score="all", threads=1)
    hybrid = table.search(query_type="hybrid").vector(model.embed_query(QUERY)).text("Germany")
    found = hybrid.rerank(every).limit(4).to_list()
    ranks = reranker.rerank("Germany", ANSWERS)
    assert [it["text"] for it in found] == [ANSWERS[it.index] or None for it in ranks]
    assert all({"_distance", "_score"} <= it.keys() for it in found)
    by_words = table.search("Germany", query_type="fts").limit(4)
    [best] = by_words.rerank(NanoembedReranker(reranker)).to_list()
    assert best["text"] == ANSWERS[1]
    # Nothing is found.
    none = table.search("Hamburg", query_type="fts").limit(4).rerank(NanoembedReranker(reranker))
    assert none.to_list() == []

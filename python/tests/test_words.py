"""Word vectors, cross-encoders, similarity."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import RERANKER, WORDS, program

import nanoembed


def by_program(*arguments):
    return [json.loads(line) for line in program(*arguments).splitlines()]


@pytest.fixture(scope="module")
def words():
    return nanoembed.WordVectors(WORDS)


def test_words_are_looked_up(words):
    known = list(words)
    assert len(words) == len(known) == 184
    assert known[0] in words and "no word of the file" not in words and 5 not in words
    [found] = by_program("vector", str(WORDS), known[0], "--json")
    vector = words[known[0]]
    assert vector.shape == (words.dimensions,)
    expected = np.array(found["embedding"], np.float32) * found.get("norm", 1.0)
    lengths = np.linalg.norm(vector) * np.linalg.norm(expected)
    assert abs(vector @ expected / lengths - 1) < 1e-6


def test_unknown_words_have_vectors_by_their_subwords(words):
    unknown = next(iter(words)) + "s"
    if unknown in words:
        unknown += "x"
    assert words.vector(unknown) is not None and unknown not in words
    # Too short for an n-gram.
    vectors = words.vectors([next(iter(words)), unknown])
    assert vectors.shape == (2, words.dimensions) and np.isfinite(vectors).all()


def test_neighbours_are_those_of_the_command_line(words):
    word = next(iter(words))
    found = by_program("similar", str(WORDS), word, "-k", "5", "--json")
    similar = words.similar(word, k=5)
    assert [near.word for near in similar] == [line["word"] for line in found]
    for near, line in zip(similar, found):
        assert abs(near.similarity - line["similarity"]) < 1e-6
    a, b, c = list(words)[:3]
    found = by_program("analogy", str(WORDS), a, b, c, "-k", "4", "--json")
    assert [near.word for near in words.analogy(a, b, c, k=4)] == [line["word"] for line in found]


def test_missing_files_and_words_are_errors(words, tmp_path):
    with pytest.raises(FileNotFoundError):
        nanoembed.WordVectors(tmp_path / "no.fifu")
    plain = tmp_path / "plain.txt"
    plain.write_text("one 1 0\ntwo 0 1\n")
    few = nanoembed.WordVectors(plain)
    assert few.vector("three") is None
    with pytest.raises(KeyError):
        few["three"]
    assert np.isnan(few.vectors(["three", "one"])).all(axis=1).tolist() == [True, False]
    with pytest.raises(nanoembed.NotFound) as raised:
        few.similar("three")
    assert raised.value.code == 602


def test_texts_are_ranked_by_a_cross_encoder():
    model = nanoembed.Model(RERANKER)
    assert model.kind == "cross-encoder"
    query, texts = "Where is Berlin?", ["On a mat.", "It is in Germany.", "By train."]
    ranked = model.rerank(query, texts)
    lines = by_program("rerank", "-m", str(RERANKER), query, *texts, "--json")
    by_score = sorted(lines, key=lambda line: -line["score"])
    assert [it.index for it in ranked] == [line["index"] for line in by_score]
    for it, line in zip(ranked, by_score):
        assert abs(it.score - line["score"]) < 1e-6
    assert model.rerank(query, texts, k=1) == ranked[:1] and model.rerank(query, texts, k=0) == []
    with pytest.raises(ValueError, match="k=-1"):
        model.rerank(query, texts, k=-1)
    scores = model.predict([(query, text) for text in texts])
    assert scores.shape == (3,)
    assert np.allclose(scores[[it.index for it in ranked]], [it.score for it in ranked])
    with pytest.raises(TypeError, match=r"texts\[1\]"):
        model.rerank(query, ["a", None])
    with pytest.raises(TypeError, match="embeds no texts"):
        model.embed(texts)


def test_similarity_takes_all_forms():
    a, b = np.array([[1.0, 0.0], [3.0, 4.0]], np.float32), np.array([0.0, 2.0], np.float32)
    assert np.allclose(nanoembed.similarity(a, b), [[0.0], [0.8]])
    assert nanoembed.similarity(a[0], a[0]).shape == (1, 1)
    assert nanoembed.similarity(np.zeros(2), b) == 0
    missing = np.array([[np.nan, np.nan], [-1, 0.03]], np.float32)
    for kind in (np.float32, np.float16):
        found = nanoembed.similarity(missing.astype(kind), [1, 0]).ravel()
        assert np.isnan(found[0]) and found[1] < 0
    assert np.isnan(nanoembed.similarity(np.zeros((1, 2), np.int8), np.ones((1, 2), np.int8)))
    codes = np.array([[127, 0], [95, 127]], np.int8)
    assert np.allclose(nanoembed.similarity(codes, codes).diagonal(), 1)
    bits = np.array([[0b11110000], [0b11111111]], np.uint8)
    assert np.allclose(nanoembed.similarity(bits, bits), [[1, 0], [0, 1]], atol=1e-6)
    assert np.allclose(nanoembed.similarity(bits, bits, dimensions=4), 1)
    with pytest.raises(ValueError, match="cannot be compared"):
        nanoembed.similarity(a, np.zeros(3))
    with pytest.raises(TypeError, match="binary"):
        nanoembed.similarity(bits, np.zeros((1, 1)))
    with pytest.raises(ValueError, match="dimensions is for binary"):
        nanoembed.similarity(a, b, dimensions=1)
    for wrong in (0, 9):
        with pytest.raises(ValueError, match="8 bits"):
            nanoembed.similarity(bits, bits, dimensions=wrong)

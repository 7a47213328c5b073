"""Files are inspected, verified, converted and quantised as by the command line."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from conftest import PROMPTED, ROOT, SMALL_F32, TEXTS, WORDS, program

import nanoembed

GGUF = ROOT / "tests/data/gguf/small.gguf"


@pytest.mark.parametrize("file", [PROMPTED, GGUF, WORDS, SMALL_F32], ids=lambda file: file.name)
def test_inspections_are_those_of_the_command_line(file):
    assert nanoembed.inspect(file) == json.loads(program("inspect", "--json", file))


def test_the_fingerprint_is_that_of_the_command_line():
    for file in (PROMPTED, SMALL_F32):
        told = json.loads(program("inspect", "--json", file))["fingerprint"]
        assert nanoembed.Model(file).fingerprint == told
    model = nanoembed.Model(PROMPTED, max_tokens=8)
    assert model.fingerprint != nanoembed.Model(PROMPTED).fingerprint
    assert nanoembed.Model(PROMPTED.read_bytes(), max_tokens=8).fingerprint == model.fingerprint


def test_a_sound_file_verifies_and_a_changed_byte_is_found(tmp_path):
    verified = nanoembed.verify(PROMPTED)
    assert verified and verified.checked and verified.findings == []
    data = bytearray(PROMPTED.read_bytes())
    data[-100] ^= 1
    changed = tmp_path / "changed.weights"
    changed.write_bytes(data)
    verified = nanoembed.verify(changed)
    assert not verified
    lines = program("verify", "--json", changed, status=1).splitlines()
    assert [vars(finding) for finding in verified.findings] == [json.loads(it) for it in lines]
    with pytest.raises(FileNotFoundError):
        nanoembed.verify(tmp_path / "missing")


def test_conversions_are_those_of_the_command_line(tmp_path):
    ours, theirs = tmp_path / "ours.weights", tmp_path / "theirs.weights"
    found = nanoembed.convert(PROMPTED, ours, type="f16", name="small")
    program("convert", PROMPTED, theirs, "--type", "f16", "--name", "small")
    assert ours.read_bytes() == theirs.read_bytes()
    assert found["files"] == [{"path": str(ours), "bytes": ours.stat().st_size}]
    vectors, whole = nanoembed.Model(ours).embed(TEXTS), nanoembed.Model(PROMPTED).embed(TEXTS)
    assert nanoembed.similarity(vectors, whole).diagonal().min() > 0.999


def test_word_vectors_are_converted(tmp_path):
    found = nanoembed.convert(WORDS, tmp_path / "words.vec")
    assert found["words"] == 184
    words, text = nanoembed.WordVectors(WORDS), nanoembed.WordVectors(tmp_path / "words.vec")
    first = next(iter(words))
    assert np.allclose(words[first], text[first], atol=1e-5)
    few = tmp_path / "few.fifu"
    assert nanoembed.convert(tmp_path / "words.vec", few, first=3)["words"] == 3
    assert len(nanoembed.WordVectors(few)) == 3


def test_weights_are_quantised(tmp_path):
    ours, theirs = tmp_path / "ours.gguf", tmp_path / "theirs.gguf"
    found = nanoembed.quantize(GGUF, ours, "q8_0")
    program("quantize", GGUF, theirs, "--type", "q8_0")
    assert ours.read_bytes() == theirs.read_bytes()
    assert {"name", "dtype", "bits", "nmse"} <= found["tensors"][0].keys()
    report = nanoembed.quantize(WORDS, tmp_path / "words.pq.fifu", "pq")
    assert 0 < report["nmse"] < 1


def test_options_that_mean_nothing_are_refused(tmp_path):
    with pytest.raises(ValueError, match="first is for word vectors"):
        nanoembed.convert(PROMPTED, tmp_path / "a.weights", first=3)
    with pytest.raises(ValueError, match="type is for models"):
        nanoembed.convert(WORDS, tmp_path / "a.vec", type="f16")
    with pytest.raises(nanoembed.ArgumentError):
        nanoembed.convert(PROMPTED, tmp_path / "a.weights", bits=4.5)
    with pytest.raises(ValueError, match="type="):
        nanoembed.convert(PROMPTED, tmp_path / "a.weights", type="int7")
    with pytest.raises(ValueError, match="type="):
        nanoembed.quantize(GGUF, tmp_path / "a.gguf", "q7")
    with pytest.raises(ValueError, match="bits"):
        nanoembed.quantize(GGUF, tmp_path / "a.gguf", "q8_0", bits=4)
    assert list(tmp_path.iterdir()) == []


def test_unknown_settings_are_passed_over_by_name_with_a_warning(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(SMALL_F32, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "is_matryoshka": True}))
    with pytest.raises(nanoembed.ModelError, match="is_matryoshka"):
        nanoembed.Model(folder)
    with pytest.warns(UserWarning, match="is_matryoshka"):
        model = nanoembed.Model(folder, allow_unknown=["is_matryoshka"])
    assert np.array_equal(model.embed(TEXTS), nanoembed.Model(SMALL_F32).embed(TEXTS))
    assert model.tokenize("a").ids == nanoembed.Model(SMALL_F32).tokenize("a").ids
    out = tmp_path / "out.weights"
    with pytest.warns(UserWarning, match="is_matryoshka"):
        nanoembed.convert(folder, out, allow_unknown=["is_matryoshka"])
    assert nanoembed.Model(out).dimensions == model.dimensions
    with pytest.raises(TypeError, match="allow_unknown"):
        nanoembed.Model(folder, allow_unknown="is_matryoshka")

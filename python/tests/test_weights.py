"""Weights in other formats, as floats, and compared: as the command line has them."""

from __future__ import annotations

import io
import json
from dataclasses import asdict

import numpy as np
import pytest
from conftest import PROMPTED, ROOT, program

import nanoembed

GGUF = ROOT / "tests/data/gguf/small.gguf"
TENSORS = [tensor["name"] for tensor in nanoembed.inspect(GGUF)["tensors"]]


WITHOUT_CONFIG = pytest.mark.filterwarnings("ignore:.*has the weights alone:UserWarning")


@WITHOUT_CONFIG
@pytest.mark.parametrize("name", ["a.safetensors", "a-0.uqff", "a.gguf"])
def test_migrated_files_are_those_of_the_command_line(tmp_path, name):
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    found = nanoembed.migrate(GGUF, tmp_path / "ours" / name, keep_names=True)
    program("migrate", "--keep-names", GGUF, tmp_path / "theirs" / name)
    files = {file.name: file.read_bytes() for file in (tmp_path / "ours").iterdir()}
    assert files == {it.name: it.read_bytes() for it in (tmp_path / "theirs").iterdir()}
    assert {file["path"] for file in found["files"]} <= {str(tmp_path / "ours" / it) for it in files}
    assert [file["bytes"] for file in found["files"]] == [
        len(files[file["path"].rsplit("/", 1)[1]]) for file in found["files"]
    ]


@WITHOUT_CONFIG
def test_several_files_and_options_are_passed_on(tmp_path):
    shards = nanoembed.migrate(GGUF, tmp_path / "a-0.uqff", keep_names=True, shard_bytes=1)
    paths = [file["path"] for file in shards["files"] if file["path"].endswith(".uqff")]
    again = nanoembed.migrate(paths, tmp_path / "again", to="safetensors", keep_names=True)
    assert again["files"][0]["path"] == str(tmp_path / "again")
    with pytest.raises(ValueError, match="exclude each other"):
        nanoembed.migrate(GGUF, tmp_path / "b.gguf", keep_names=True, names="names.json")
    with pytest.raises(ValueError, match="to="):
        nanoembed.migrate(GGUF, tmp_path / "b.gguf", to="onnx")
    with pytest.raises(ValueError, match="shard_bytes"):
        nanoembed.migrate(GGUF, tmp_path / "b.uqff", shard_bytes=0)
    with pytest.raises(FileNotFoundError):
        nanoembed.migrate([tmp_path / "missing.gguf"], tmp_path / "b.uqff")


@pytest.mark.parametrize("float", ["f32", "f16", "bf16"])
def test_dequantised_files_are_those_of_the_command_line(tmp_path, float):
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    found = nanoembed.dequantize(GGUF, ours, type=float)
    program("dequantize", GGUF, "-o", theirs, "--type", float)
    assert ours.read_bytes() == theirs.read_bytes()
    assert found["files"] == [{"path": str(ours), "bytes": ours.stat().st_size}]


def test_what_is_no_safetensors_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="safetensors"):
        nanoembed.dequantize(GGUF, tmp_path / "a.npy")
    with pytest.raises(ValueError, match="type="):
        nanoembed.dequantize(GGUF, tmp_path / "a.safetensors", type="int8")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_is_that_of_the_command_line(name):
    found = nanoembed.read_tensor(GGUF, name)
    expected = np.load(io.BytesIO(program("dequantize", GGUF, name, "-o", "-")))
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def test_a_tensor_outlives_its_file_and_a_missing_one_is_named():
    tensor = nanoembed.read_tensor(PROMPTED, nanoembed.inspect(PROMPTED)["tensors"][0]["name"])
    assert np.isfinite(tensor).all() and not tensor.flags.writeable
    with pytest.raises(nanoembed.NotFound, match="no tensor `nothing`"):
        nanoembed.read_tensor(GGUF, "nothing")


def test_differences_are_those_of_the_command_line(tmp_path):
    smaller = tmp_path / "smaller.gguf"
    nanoembed.quantize(GGUF, smaller, "q8_0")
    assert all(it.max_abs == 0 for it in nanoembed.diff(GGUF, GGUF).tensors)
    # The program's status tells that nothing is in both.
    for a, b, status in [(GGUF, smaller, 0), (GGUF, PROMPTED, 1)]:
        found = nanoembed.diff(a, b)
        assert asdict(found) == json.loads(program("diff", "--json", a, b, status=status))
    assert found.only_a and found.only_b

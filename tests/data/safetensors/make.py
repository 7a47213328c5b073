"""Writes the small safetensors files of the suites: good ones by the Python package `safetensors` 0.8.0, bad ones by hand."""

import json
import pathlib
import struct

import numpy as np
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent


def by_hand(name, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (HERE / f"{name}.safetensors").parent.mkdir(exist_ok=True)
    (HERE / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def f32(begin, end, shape=(1,)):
    return {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}


save_file(
    {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array([7], np.int8), "scalar": np.array(1.5, np.float16)},
    HERE / "mixed.safetensors",
    metadata={"format": "pt", "note": 'quoted "word"\n'},
)
save_file({}, HERE / "empty.safetensors")
by_hand("unsorted", {"z": f32(4, 8), "é\u0001": f32(0, 4), "none": f32(8, 8, (0, 3))}, bytes(8))

by_hand("bad_gap", {"a": f32(0, 4), "b": f32(8, 12)}, bytes(12))
by_hand("bad/overlap", {"a": f32(0, 8, (2,)), "b": f32(4, 8)}, bytes(8))
by_hand("bad/trailing", {"a": f32(0, 4)}, bytes(5))
by_hand("bad/size", {"a": f32(0, 4, (2,))}, bytes(4))
by_hand("bad/reversed", {"a": f32(4, 0)}, bytes(4))
by_hand("bad/product", {"a": f32(0, 4, (1 << 32, 1 << 32))}, bytes(4))
by_hand("bad/dtype", {"a": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}}, bytes(4))
by_hand("bad/missing", {"a": {"dtype": "F32", "shape": [1]}}, bytes(4))
by_hand("bad/twice", b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"\\u0061":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}')
by_hand("bad/depth", b'{"a":{"x":' + b"[" * 200)
by_hand("bad/length_huge", b"{}", length=1 << 40)
by_hand("bad/length_zero", b"", length=0)
by_hand("bad/metadata", b'{"__metadata__":{"n":1}}')

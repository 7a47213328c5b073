"""Writes the small GGUF files of the suites by the Python package `gguf` 0.19.0, and what its reader says of them.

`blocks.gguf` has tensors of every block type of `../quant`; the other files are small, for suites that try every byte.
"""

import json
import pathlib
import struct

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter

HERE = pathlib.Path(__file__).parent
QUANT = HERE.parent / "quant"


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


writer = GGUFWriter(HERE / "blocks.gguf", "bert", use_temp_file=False)
writer.add_token_list([b"[PAD]", "wörd".encode(), b"\xff\x00", b""])
writer.add_array("scores", [0.5, -1.0, 3.0])
writer.add_array("merges", ["a b", "c d"])
writer.add_key_value("numbers.u64", 2**63, GGUFValueType.UINT64)
writer.add_key_value("numbers.i64", -(2**62), GGUFValueType.INT64)
writer.add_key_value("numbers.f64", 0.1, GGUFValueType.FLOAT64)
weights = np.fromfile(QUANT / "weights.f32", np.float32).reshape(4, 512)
writer.add_tensor("f32", weights[:, :5].copy())
writer.add_tensor("f16", weights[:, :4].astype(np.float16).reshape(2, 2, 4))
for name in ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"]:
    blocks = np.fromfile(QUANT / f"{name}.blocks", np.uint8).reshape(4, -1)
    writer.add_tensor(name, blocks, raw_dtype=Type[name.upper()])
finish(writer)

writer = GGUFWriter(HERE / "small.gguf", "x", use_temp_file=False)
writer.add_bool("b", True)
writer.add_int8("i", -3)
writer.add_float32("f", 1.5)
writer.add_array("a", [1, 2])
writer.add_token_list([b"t", b"\xff"])
writer.add_custom_alignment(64)
writer.add_tensor("w", np.arange(3, dtype=np.float32))
writer.add_tensor("q", np.zeros((1, 34), np.uint8), raw_dtype=Type.Q8_0)
finish(writer)

writer = GGUFWriter(HERE / "unpadded/no_tensors.gguf", "x", use_temp_file=False)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_ti_data_to_file()
writer.close()

good = (HERE / "small.gguf").read_bytes()
(HERE / "bad_version.gguf").write_bytes(good[:4] + struct.pack("<I", 1) + good[8:])

expected = {}
for name in ["blocks", "small"]:
    reader = GGUFReader(HERE / f"{name}.gguf")
    fields = {}
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):
            continue
        if field.types[0] == GGUFValueType.ARRAY and field.types[-1] == GGUFValueType.STRING:
            fields[key] = [bytes(field.parts[index]).hex() for index in field.data]
        else:
            fields[key] = field.contents()
    tensors = {
        tensor.name: {
            "dtype": tensor.tensor_type.name.lower(),
            "shape": [int(dim) for dim in reversed(tensor.shape)],
            "offset": int(tensor.data_offset),
            "bytes": int(tensor.n_bytes),
        }
        for tensor in reader.tensors
    }
    expected[name] = {"fields": fields, "tensors": tensors}
(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")

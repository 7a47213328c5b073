"""Puts the conformance blobs into containers, by the Python package `safetensors` 0.8.0, as the reference does by its crate.

* `containers/all-0.uqff`: every blob of `legacy_0.2.0` under its index in `manifest.json`;
* `small_blobs.uqff`, `small_tensors.uqff`: a few layers, for suites that try every byte; `bad_*.uqff`: damaged ones;
* `containers/split-0.uqff`, `split-1.uqff`: the tensors of `v1.2.0/mixed-0.uqff`, cut in the middle of a layer.
"""

import json
import pathlib

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
OLD = HERE / "legacy_0.2.0"
(HERE / "containers").mkdir(exist_ok=True)


def blob(name):
    return np.frombuffer((OLD / f"{name}.uqfftensor").read_bytes(), np.uint8)


layers = json.loads((OLD / "manifest.json").read_text())["layers"]
there = [layer for layer in layers if (OLD / f"{layer['name']}.uqfftensor").exists()]
save_file({str(layer["index"]): blob(layer["name"]) for layer in there}, HERE / "containers/all-0.uqff")

small = {"0": blob("fp8"), "2": blob("unquant_bf16"), "10": blob("hqq_3g10")}
save_file(small, HERE / "small_blobs.uqff")
save_file({"0": blob("fp8"), "01": blob("fp8")}, HERE / "bad_index.uqff")

# Values are copied as bytes, since NumPy has no bfloat16 and no 8-bit floats.
container = (HERE / "v1.2.0/mixed-0.uqff").read_bytes()
length = int.from_bytes(container[:8], "little")
header = json.loads(container[8 : 8 + length])
metadata = header.pop("__metadata__")
data = container[8 + length :]


def write(path, names, metadata=None):
    out, body = ({"__metadata__": metadata} if metadata else {}), b""
    for name in sorted(names, key=lambda name: header[name]["data_offsets"][0]):
        begin, end = header[name]["data_offsets"]
        out[name] = header[name] | {"data_offsets": [len(body), len(body) + end - begin]}
        body += data[begin:end]
    text = json.dumps(out, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (HERE / path).write_bytes(len(text).to_bytes(8, "little") + text + body)


version = [name for name in header if name.startswith("uqff.version")]
write("small_tensors.uqff", version + [name for name in header if name.startswith("model.unquant")])
write("containers/bad_no_version.uqff", [name for name in header if name.startswith("model.unquant")])
rest = sorted(name for name in header if name not in version)
cut = rest.index("model.hqq4.weight.scales")
write("containers/split-0.uqff", version + rest[:cut], metadata)
write("containers/split-1.uqff", rest[cut:], metadata)

"""Writes a GGUF file anew with all tensors in f32, so that other programs run it without quantising activations.

    pip install gguf
    python tests/tools/gguf_to_f32.py IN.gguf OUT.gguf
"""

import sys

import gguf
import numpy as np

reader = gguf.GGUFReader(sys.argv[1])
architecture = reader.fields["general.architecture"].contents()
writer = gguf.GGUFWriter(sys.argv[2], architecture)
for field in reader.fields.values():
    if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
        continue
    kind = field.types[0]
    sub_type = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
    writer.add_key_value(field.name, field.contents(), kind, sub_type=sub_type)
for tensor in reader.tensors:
    values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    writer.add_tensor(tensor.name, values.reshape(tensor.shape[::-1]))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

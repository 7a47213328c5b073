"""Writes the ggml blocks that the quantisation tests compare with.

Needs the Python packages `libgguf` 0.2.2 (ggml's own code) and `numpy`. For each type:

* `<type>.blocks`: `weights.f32` (4 rows of 512) quantised by ggml, `<type>.expected.f32`: dequantised by ggml;
* `<type>.random`: blocks of random bits with finite scales, `<type>.random.expected.f32`: dequantised by ggml.
"""

import pathlib

import numpy as np
from libgguf import GGMLQuantizationType as Type
from libgguf import dequantize_rows, quantize_rows

HERE = pathlib.Path(__file__).parent
# For each type: bytes of a block, and where its half-precision scales lie.
TYPES = {
    "q4_0": (Type.Q4_0, 18, [0]),
    "q4_1": (Type.Q4_1, 20, [0, 2]),
    "q5_0": (Type.Q5_0, 22, [0]),
    "q5_1": (Type.Q5_1, 24, [0, 2]),
    "q8_0": (Type.Q8_0, 34, [0]),
    "q2_k": (Type.Q2_K, 84, [80, 82]),
    "q3_k": (Type.Q3_K, 110, [108]),
    "q4_k": (Type.Q4_K, 144, [0, 2]),
    "q5_k": (Type.Q5_K, 176, [0, 2]),
    "q6_k": (Type.Q6_K, 210, [208]),
    "tq1_0": (Type.TQ1_0, 54, [52]),
    "tq2_0": (Type.TQ2_0, 66, [64]),
    "iq4_nl": (Type.IQ4_NL, 18, [0]),
    "iq4_xs": (Type.IQ4_XS, 136, [0]),
}

random = np.random.default_rng(20)
weights = random.normal(0, 0.05, (4, 512)).astype(np.float32)
weights[1] *= random.choice([1, 1, 1, 6], 512).astype(np.float32)  # outliers
weights[2] = np.abs(weights[2])  # no negative values
weights[3, :64] = 0
weights.tofile(HERE / "weights.f32")

for name, (kind, block_bytes, scales) in TYPES.items():
    blocks = np.asarray(quantize_rows(weights, kind))
    blocks.tofile(HERE / f"{name}.blocks")
    np.asarray(dequantize_rows(blocks, kind)).astype(np.float32).tofile(HERE / f"{name}.expected.f32")
    count = 1024 // (256 if name.endswith(("k", "xs")) or name.startswith("tq") else 32)
    bits = random.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for at in scales:
        halves = random.normal(0, 1, (count, 1)).astype(np.float16)
        bits[:, at : at + 2] = halves.view(np.uint8)
    bits = bits.reshape(1, -1)
    bits.tofile(HERE / f"{name}.random")
    np.asarray(dequantize_rows(bits, kind)).astype(np.float32).tofile(HERE / f"{name}.random.expected.f32")

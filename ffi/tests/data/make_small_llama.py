#!/usr/bin/env python3
"""Makes small_llama.gguf: a decoder of two layers with random weights, matrices in blocks of Q8_0, norms in f32.

    python3 ffi/tests/data/make_small_llama.py

Needs numpy. Tokens are `t0` to `t63`; what it says means nothing, but it is the same everywhere.
"""

import struct
from pathlib import Path

import numpy as np

VOCABULARY, HIDDEN, HEADS, KV_HEADS, HEAD, INTERMEDIATE, LAYERS, POSITIONS = 64, 32, 4, 2, 8, 64, 2, 96
ALIGNMENT = 32
U32, F32, STRING, ARRAY = 4, 6, 8, 9  # GGUF's numbers of types of values
TYPE_F32, TYPE_Q8_0 = 0, 8

random = np.random.default_rng(11)


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def q8_0(values: np.ndarray) -> bytes:
    blocks = values.reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1, keepdims=True) / 127).astype(np.float16)
    codes = np.round(blocks / scale.astype(np.float32)).astype(np.int8)
    return b"".join(s.tobytes() + c.tobytes() for s, c in zip(scale, codes))


def main() -> None:
    metadata = [
        entry("general.architecture", STRING, text("llama")),
        entry("general.alignment", U32, struct.pack("<I", ALIGNMENT)),
        entry("llama.embedding_length", U32, struct.pack("<I", HIDDEN)),
        entry("llama.block_count", U32, struct.pack("<I", LAYERS)),
        entry("llama.attention.head_count", U32, struct.pack("<I", HEADS)),
        entry("llama.attention.head_count_kv", U32, struct.pack("<I", KV_HEADS)),
        entry("llama.context_length", U32, struct.pack("<I", POSITIONS)),
        entry("llama.feed_forward_length", U32, struct.pack("<I", INTERMEDIATE)),
        entry("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)),
        entry("llama.rope.freq_base", F32, struct.pack("<f", 10000.0)),
        entry(
            "tokenizer.ggml.tokens",
            ARRAY,
            struct.pack("<IQ", STRING, VOCABULARY) + b"".join(text(f"t{i}") for i in range(VOCABULARY)),
        ),
    ]
    tensors = []

    def matrix(name: str, rows: int, cols: int, size: float) -> None:
        values = (random.standard_normal((rows, cols)) * size).astype(np.float32)
        tensors.append((name, (cols, rows), TYPE_Q8_0, q8_0(values)))

    def vector(name: str, length: int) -> None:
        values = (1 + 0.1 * random.standard_normal(length)).astype("<f4")
        tensors.append((name, (length,), TYPE_F32, values.tobytes()))

    matrix("token_embd.weight", VOCABULARY, HIDDEN, 1.0)
    vector("output_norm.weight", HIDDEN)
    for layer in range(LAYERS):
        for name, rows, cols in [
            ("attn_q", HEADS * HEAD, HIDDEN),
            ("attn_k", KV_HEADS * HEAD, HIDDEN),
            ("attn_v", KV_HEADS * HEAD, HIDDEN),
            ("attn_output", HIDDEN, HEADS * HEAD),
            ("ffn_gate", INTERMEDIATE, HIDDEN),
            ("ffn_up", INTERMEDIATE, HIDDEN),
            ("ffn_down", HIDDEN, INTERMEDIATE),
        ]:
            matrix(f"blk.{layer}.{name}.weight", rows, cols, 0.4)
        vector(f"blk.{layer}.attn_norm.weight", HIDDEN)
        vector(f"blk.{layer}.ffn_norm.weight", HIDDEN)
    infos, data = b"", b""
    for name, dims, kind, values in tensors:
        data += bytes(-len(data) % ALIGNMENT)
        infos += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        data += values
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + b"".join(metadata) + infos
    head += bytes(-len(head) % ALIGNMENT)
    (Path(__file__).parent / "small_llama.gguf").write_bytes(head + data)


if __name__ == "__main__":
    main()

"""Writes AMB files by the decisions of docs/amb.md, and what their tensors are worth, with nothing of the project.

    python tests/tools/amb_fixtures.py tests/data/amb

Each `NAME.amb` comes with `NAME.expected.f32`: all tensors' values in f32, one tensor after the other.
"""

import json
import pathlib
import random
import struct
import sys

import numpy as np

FP32, FP16, BF16, INT8, INT4, INT5, INT4BLOCK, INT5BLOCK, ADAPTIVE = range(9)
BITS = {INT8: 8, INT4: 4, INT5: 5, INT4BLOCK: 4, INT5BLOCK: 5}
NONE = 0xFFFF


def pack(codes, bits):
    """A stream of two's complement codes, least significant bit first, filled up to whole bytes."""
    stream = 0
    for index, code in enumerate(codes):
        stream |= (int(code) & ((1 << bits) - 1)) << (bits * index)
    return stream.to_bytes((bits * len(codes) + 7) // 8, "little")


def scale_bytes(scale, scale_type):
    return np.float16(scale).tobytes() if scale_type == 1 else np.float32(scale).tobytes()


def quantized(rng, dtype, elements, block, scale_type, low=None):
    """Data of a tensor with random codes and scales, and its values."""
    bits = BITS[low if dtype == ADAPTIVE else dtype]
    size = block or elements
    blocks = 1 if block == 0 else -(-elements // block)
    kind = np.float16 if scale_type == 1 else np.float32
    values, scales, payloads, mask = [], [], [], []
    for index in range(blocks):
        count = min(size, elements - index * size)
        full = dtype == ADAPTIVE and rng.random() < 0.3
        mask.append(full)
        if full:
            halves = np.array([rng.gauss(0, 1) for _ in range(count)] + [0] * (size - count), np.float16)
            payloads.append(halves.tobytes())
            values += [np.float32(half) for half in halves[:count]]
            continue
        scale = kind(rng.uniform(-0.1, 0.1))
        codes = [rng.randrange(-(1 << bits - 1), 1 << bits - 1) for _ in range(count)]
        scales.append(scale_bytes(scale, scale_type))
        payloads.append(pack(codes + [0] * (size - count), bits))
        values += [np.float32(code) * np.float32(scale) for code in codes]
    kind = low if dtype == ADAPTIVE else dtype
    data = struct.pack("<BHB", kind, block, scale_type)
    if dtype in (INT4BLOCK, INT5BLOCK):
        data += b"".join(scale + payload for scale, payload in zip(scales, payloads))
    else:
        if dtype == ADAPTIVE:
            data += pack([int(full) for full in mask], 1)
        data += b"".join(scales) + b"".join(payloads)
    return data, values


def plain(rng, dtype, elements):
    values = np.array([rng.gauss(0, 1) for _ in range(elements)], np.float32)
    if dtype == FP32:
        return values.tobytes(), list(values)
    if dtype == FP16:
        return values.astype(np.float16).tobytes(), list(values.astype(np.float16).astype(np.float32))
    cut = values.view(np.uint32) >> 16
    return cut.astype(np.uint16).tobytes(), list((cut << 16).astype(np.uint32).view(np.float32))


def strings(items):
    return struct.pack("<I", len(items)) + b"".join(struct.pack("<H", len(item)) + item for item in items)


def tokenizer(kind, special, payload):
    return struct.pack("<B5H", kind, *special) + payload


def write(path, metadata, config, tokens, tensors):
    before = b"".join([metadata, config, tokens])
    weights, values = b"", []
    for name, dims, dtype, (data, of_tensor) in tensors:
        name = name.encode()
        weights += struct.pack("<H", len(name)) + name + struct.pack(f"<B{len(dims)}I", len(dims), *dims)
        weights += struct.pack("<BQ", dtype, len(data)) + data
        weights += bytes(-(28 + len(before) + len(weights)) % 8)
        values += of_tensor
    header = b"AMBEE\x01\0\0" + struct.pack("<IIIQ", len(metadata), len(config), len(tokens), len(weights))
    path.write_bytes(header + before + weights)
    path.with_suffix(".expected.f32").write_bytes(np.array(values, np.float32).tobytes())


def main(folder):
    rng = random.Random(6)
    every = {"floats": [], "separate": [], "interleaved": [], "adaptive": []}
    for dtype, name in [(FP32, "fp32"), (FP16, "fp16"), (BF16, "bf16")]:
        for dims in [(3, 5), (7,), ()]:
            every["floats"].append((f"{name}.{len(dims)}", dims, dtype, plain(rng, dtype, int(np.prod(dims)))))
    for dtype, name in [(INT8, "int8"), (INT4, "int4"), (INT5, "int5")]:
        for block in [0, 1, 3, 8, 32]:
            for scale_type in [0, 1]:
                data = quantized(rng, dtype, 39, block, scale_type)
                every["separate"].append((f"{name}.{block}.{scale_type}", (3, 13), dtype, data))
    for dtype, name in [(INT4BLOCK, "int4block"), (INT5BLOCK, "int5block")]:
        for block in [8, 32, 128]:
            for scale_type in [0, 1]:
                data = quantized(rng, dtype, 3 * 47, block, scale_type)
                every["interleaved"].append((f"{name}.{block}.{scale_type}", (3, 47), dtype, data))
    for low in [INT4, INT5]:
        for block in [8, 32]:
            for scale_type in [0, 1]:
                data = quantized(rng, ADAPTIVE, 5 * 61, block, scale_type, low)
                every["adaptive"].append((f"adaptive.{low}.{block}.{scale_type}", (5, 61), ADAPTIVE, data))
    every["separate"].append(("empty.int8", (0, 4), INT8, quantized(rng, INT8, 0, 0, 0)))
    every["interleaved"].append(("empty.int4block", (0, 4), INT4BLOCK, quantized(rng, INT4BLOCK, 0, 32, 1)))
    config = {"architecture": "custom", "n_vocab": 7, "quant": {"type": "int4_block", "block_size": 32}}
    for name, tensors in every.items():
        write(folder / f"{name}.amb", b"", json.dumps(config).encode(), b"", tensors)

    words = [b"[PAD]", b"[UNK]", b"[CLS]", b"[SEP]", b"[MASK]", b"w", b"##x", "é".encode()]
    metadata = json.dumps({"name": "tiny", "tags": ["a", "\N{GRINNING FACE}"], "description": "naïve"}, ensure_ascii=False)
    one = [("w", (2, 4), INT8, quantized(rng, INT8, 8, 4, 0))]
    write(folder / "wordpiece.amb", metadata.encode(), b"{}", tokenizer(2, (2, 3, 0, 1, 4), strings(words)), one)
    merges = [b"a", b"b", b"ab", b"c"]
    payload = struct.pack("<I", 2) + strings(merges)[4:] + strings([b"a", b"b", b"c", b"ab", b"abc"])
    write(folder / "bpe.amb", b" {} ", b'{"x": [1, {"y": null}]}', tokenizer(0, (4, 4, NONE, NONE, NONE), payload), one)
    write(folder / "sentencepiece.amb", b"", b"", tokenizer(1, (1, 2, NONE, 0, NONE), b"\x0a\x0b not a model"), one)
    write(folder / "declared_only.amb", b"", b"", tokenizer(3, (NONE,) * 5, b""), [])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

#!/usr/bin/env python3
"""Makes small_bert.weights: a BERT of two layers, 32 elements wide, with random weights and a real tokenizer's shape.

    python3 make_small_bert.py
"""

import random
import struct
import zlib

HIDDEN, INTERMEDIATE, LAYERS, HEADS, POSITIONS = 32, 64, 2, 4, 64
WORDS = """the a is it in of to and on at sensor motor door light water temperature high low open closed start stop error
warning ready pump valve left right up down fast slow""".split()
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENS += [chr(c) for c in range(ord("a"), ord("z") + 1) if chr(c) not in WORDS]
TOKENS += ["##" + chr(c) for c in range(ord("a"), ord("z") + 1)]
TOKENS += list("0123456789.,!?-") + ["##" + c for c in "0123456789"] + WORDS + ["##s", "##ing", "##ed", "##er"]
TOKENS = list(dict.fromkeys(TOKENS))
# Numbers of data types in the format.
U32, U16 = 6, 7


def strings():
    entries, offsets = b"", [0]
    for token in TOKENS:
        entries += struct.pack("<H", len(token.encode())) + token.encode()
        offsets.append(len(entries))
    return entries, offsets


def name_hash(name):
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def tensors():
    generator = random.Random(5)

    def floats(count, scale, centre=0.0):
        return struct.pack(f"<{count}f", *(centre + generator.gauss(0, scale) for _ in range(count)))

    def linear(name, rows, cols):
        yield f"{name}.weight", 0, (rows, cols), floats(rows * cols, cols**-0.5)
        yield f"{name}.bias", 0, (rows,), floats(rows, 0.1)

    def norm(name):
        yield f"{name}.weight", 0, (HIDDEN,), floats(HIDDEN, 0.1, 1.0)
        yield f"{name}.bias", 0, (HIDDEN,), floats(HIDDEN, 0.1)

    yield "embeddings.word_embeddings.weight", 0, (len(TOKENS), HIDDEN), floats(len(TOKENS) * HIDDEN, 0.5)
    yield "embeddings.position_embeddings.weight", 0, (POSITIONS, HIDDEN), floats(POSITIONS * HIDDEN, 0.1)
    yield "embeddings.token_type_embeddings.weight", 0, (2, HIDDEN), floats(2 * HIDDEN, 0.1)
    yield from norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            yield from linear(f"{at}.attention.self.{part}", HIDDEN, HIDDEN)
        yield from linear(f"{at}.attention.output.dense", HIDDEN, HIDDEN)
        yield from norm(f"{at}.attention.output.LayerNorm")
        yield from linear(f"{at}.intermediate.dense", INTERMEDIATE, HIDDEN)
        yield from linear(f"{at}.output.dense", HIDDEN, INTERMEDIATE)
        yield from norm(f"{at}.output.LayerNorm")
    _, offsets = strings()
    order = sorted(range(len(TOKENS)), key=lambda i: (TOKENS[i].encode(), i))
    yield "vocab.sorted_ids", U16, (len(TOKENS),), struct.pack(f"<{len(order)}H", *order)
    yield "vocab.offsets", U32, (len(offsets),), struct.pack(f"<{len(offsets)}I", *offsets)


def main():
    values = {
        "model_name": "small_bert", "num_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE, "max_position_emb": POSITIONS, "vocab_size": len(TOKENS),
        "embedding_dim": HIDDEN, "model_version": "1", "created_at": "2026-01-01T00:00:00Z",
    }
    entries = b""
    for key, value in values.items():
        value = str(value)
        entries += struct.pack("<HH", len(key), len(value)) + key.encode() + value.encode()
    metadata = struct.pack("<II", len(values), len(entries)) + entries
    tokens, _ = strings()
    special = struct.pack("<5I", 0, 1, 2, 3, 4)
    vocabulary_at = 64 + len(metadata)
    vocabulary = struct.pack("<III", len(TOKENS), len(tokens), vocabulary_at + 12 + len(tokens)) + tokens + special
    index_at = vocabulary_at + len(vocabulary)
    descriptors, names, data = b"", b"", b""
    count = 0
    for name, dtype, dims, payload in tensors():
        data += bytes(-len(data) % 64)
        shape = list(dims) + [0] * (4 - len(dims))
        descriptors += struct.pack("<IBBH4IQ", name_hash(name), dtype, len(dims), len(name), *shape, len(data))
        names += name.encode()
        data += payload
        count += 1
    data_at = index_at + len(descriptors) + len(names)
    gap = -data_at % 64
    data_at += gap
    size = data_at + len(data) + 16
    header = b"EMBD" + struct.pack("<HHI", 1, 0, 7) + struct.pack("<II", 64, len(metadata))
    header += struct.pack("<II", vocabulary_at, len(vocabulary)) + struct.pack("<II", index_at, count)
    header += struct.pack("<IQQ", data_at, len(data), size)
    header += struct.pack("<II", zlib.crc32(header), 0)
    assert len(header) == 64, len(header)
    body = header + metadata + vocabulary + descriptors + names + bytes(gap) + data
    footer = struct.pack("<II", zlib.crc32(data), zlib.crc32(body)) + b"DBME" + bytes(4)
    open("small_bert.weights", "wb").write(body + footer)


main()

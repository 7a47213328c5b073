"""Writes a GGUF file of a tiny decoder of the Llama family in blocks of every layout, and how it continues prompts, computed
in f64 with nothing of the project.

    pip install numpy tokenizers==0.23.3
    python tests/tools/tiny_llama.py tests/data/llama

`tiny.gguf` is the model, `tiny.json` has {"tokens", "texts": [{"prompt", "ids", "greedy", "text"}]}: the bytes of all tokens
in hexadecimal digits; the prompt's ids by Hugging Face `tokenizers`, the likeliest tokens that follow, and the text that these
are. The weights are random, the same on every run.
A continuation goes on as long as the likeliest token is well ahead of the next, so that no rounding decides.
"""

import json
import pathlib
import struct
import sys

import numpy as np
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

HIDDEN, HEADS, KV_HEADS, HEAD, INTERMEDIATE, LAYERS, POSITIONS = 64, 4, 2, 16, 96, 2, 192
BASE, EPSILON = 10_000.0, 1e-5
# How far ahead, as a part of the spread of logits.
AHEAD = 0.005
ADDED = ["<|im_start|>", "<|im_end|>"]
MERGES = (
    "t h|th e|i n|e r|a n|o n|Ġ t|Ġ a|Ġt h|Ġth e|r e|e n|Ã ©|ð Ł|an d|Ġ and|in g|Ġ in|o u|a t|Ġ s|e s|o r|Ġ o|Ġo f"
).split("|")


def alphabet():
    """GPT-2's characters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + at) for at, byte in enumerate(rest)}}


CHARACTERS = alphabet()
TOKENS = [CHARACTERS[byte] for byte in range(256)] + [merge.replace(" ", "") for merge in MERGES] + ADDED
END = TOKENS.index("<|im_end|>")
BYTES = {character: byte for byte, character in CHARACTERS.items()}

# ggml's types: number, and how random blocks of 32 look and what they are worth.
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8}
rng = np.random.default_rng(41)


def halves(values):
    return np.asarray(values, np.float16)


def nibbles(codes):
    return (codes[:, :16] | codes[:, 16:] << 4).astype(np.uint8)


def tensor(kind, rows, cols, size):
    """The bytes of a random matrix, and its values in f64."""
    count = rows * cols
    if kind in ("f32", "f16"):
        values = (rng.standard_normal(count) * size).astype(np.float32 if kind == "f32" else np.float16)
        return values.tobytes(), values.astype(np.float64).reshape(rows, cols)
    blocks = count // 32
    bits = {"q4_0": 4, "q4_1": 4, "q5_0": 5, "q5_1": 5, "q8_0": 8}[kind]
    middle = 1 << (bits - 1)
    codes = np.clip(np.round(rng.standard_normal((blocks, 32)) * middle / 2.5), -middle, middle - 1).astype(int)
    d = halves(size / (middle / 2.5) * (0.75 + rng.random(blocks) / 2))
    scale = d.astype(np.float64)[:, None]
    parts = [d[:, None].view(np.uint8)]
    if kind == "q8_0":
        parts.append(codes.astype(np.int8).view(np.uint8))
        values = scale * codes
    elif kind.endswith("0"):
        values = scale * codes
        codes = codes + middle
    else:
        codes = codes + middle
        m = halves(-scale[:, 0] * middle * (0.9 + rng.random(blocks) / 5))
        parts.append(m[:, None].view(np.uint8))
        values = scale * codes + m.astype(np.float64)[:, None]
    if bits == 5:
        fifth = (codes >> 4 << np.arange(32)).sum(axis=1).astype(np.uint32)
        parts.append(fifth[:, None].view(np.uint8))
    if bits < 8:
        parts.append(nibbles(codes & 15))
    return np.hstack(parts).tobytes(), values.reshape(rows, cols)


def build():
    tensors = []

    def add(name, kind, rows, cols, size):
        data, values = tensor(kind, rows, cols, size)
        tensors.append((name, kind, [rows, cols] if rows > 1 else [cols], data))
        return values

    def norm(name):
        values = (1 + 0.2 * rng.standard_normal(HIDDEN)).astype(np.float32)
        tensors.append((name, "f32", [HIDDEN], values.tobytes()))
        return values.astype(np.float64)

    model = {"embeddings": add("token_embd.weight", "q8_0", len(TOKENS), HIDDEN, 1.0), "layers": []}
    kinds = [
        dict(q="q4_1", k="q4_0", v="q5_1", o="q4_1", gate="q5_0", up="q4_1", down="q4_1"),
        dict(q="q8_0", k="f16", v="f32", o="q5_0", gate="q4_0", up="q8_0", down="q5_1"),
    ]
    shapes = dict(
        q=("attn_q", HEADS * HEAD, HIDDEN), k=("attn_k", KV_HEADS * HEAD, HIDDEN), v=("attn_v", KV_HEADS * HEAD, HIDDEN),
        o=("attn_output", HIDDEN, HEADS * HEAD), gate=("ffn_gate", INTERMEDIATE, HIDDEN), up=("ffn_up", INTERMEDIATE, HIDDEN),
        down=("ffn_down", HIDDEN, INTERMEDIATE),
    )
    for index, kind in enumerate(kinds):
        name = f"blk.{index}."
        layer = {"attention_norm": norm(name + "attn_norm.weight"), "feed_forward_norm": norm(name + "ffn_norm.weight")}
        for part, (called, rows, cols) in shapes.items():
            layer[part] = add(f"{name}{called}.weight", kind[part], rows, cols, 1.6 / np.sqrt(cols))
        model["layers"].append(layer)
    model["norm"] = norm("output_norm.weight")
    model["output"] = add("output.weight", "q5_0", len(TOKENS), HIDDEN, 1.0)
    return model, tensors


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def pairs():
    """Metadata: keys, and values after the numbers of their types."""
    def u32(value):
        return struct.pack("<II", 4, value)

    def f32(value):
        return struct.pack("<If", 6, value)

    def text(value):
        return struct.pack("<I", 8) + string(value)

    def array(kind, items):
        return struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)

    kinds = [1] * (len(TOKENS) - len(ADDED)) + [3] * len(ADDED)
    return [
        ("general.architecture", text("llama")),
        ("llama.context_length", u32(POSITIONS)),
        ("llama.embedding_length", u32(HIDDEN)),
        ("llama.block_count", u32(LAYERS)),
        ("llama.feed_forward_length", u32(INTERMEDIATE)),
        ("llama.attention.head_count", u32(HEADS)),
        ("llama.attention.head_count_kv", u32(KV_HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", f32(EPSILON)),
        ("llama.rope.freq_base", f32(BASE)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("smollm")),
        ("tokenizer.ggml.tokens", array(8, [string(token) for token in TOKENS])),
        ("tokenizer.ggml.token_type", array(5, [struct.pack("<i", kind) for kind in kinds])),
        ("tokenizer.ggml.merges", array(8, [string(merge) for merge in MERGES])),
        ("tokenizer.ggml.bos_token_id", u32(TOKENS.index(ADDED[0]))),
        ("tokenizer.ggml.eos_token_id", u32(END)),
        ("tokenizer.ggml.add_bos_token", struct.pack("<I?", 7, False)),
    ]


def write(path, tensors):
    alignment = 32
    metadata = pairs()
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    out += b"".join(string(key) + value for key, value in metadata)
    data = b""
    for name, kind, shape, payload in tensors:
        dims = list(reversed(shape))
        out += string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, TYPES[kind], len(data))
        data += payload + bytes(-len(payload) % alignment)
    path.write_bytes(out + bytes(-len(out) % alignment) + data)


def rms(x, weight):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * weight


def turned(x):
    """Neighbours turned by their position's angles, `[tokens, heads, HEAD]`."""
    tokens = x.shape[0]
    angles = np.arange(tokens)[:, None] * BASE ** (-np.arange(0, HEAD, 2) / HEAD)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2], out[..., 1::2] = even * cos - odd * sin, even * sin + odd * cos
    return out


def logits(model, ids):
    """Of the last token, all tokens computed anew."""
    x = model["embeddings"][ids]
    tokens = len(ids)
    mask = np.triu(np.full((tokens, tokens), -np.inf), 1)
    for layer in model["layers"]:
        normed = rms(x, layer["attention_norm"])
        queries = turned((normed @ layer["q"].T).reshape(tokens, HEADS, HEAD))
        keys = turned((normed @ layer["k"].T).reshape(tokens, KV_HEADS, HEAD))
        values = (normed @ layer["v"].T).reshape(tokens, KV_HEADS, HEAD)
        context = np.empty_like(queries)
        for head in range(HEADS):
            group = head // (HEADS // KV_HEADS)
            scores = queries[:, head] @ keys[:, group].T / np.sqrt(HEAD) + mask
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            context[:, head] = weights / weights.sum(axis=1, keepdims=True) @ values[:, group]
        x = x + context.reshape(tokens, -1) @ layer["o"].T
        normed = rms(x, layer["feed_forward_norm"])
        gate = normed @ layer["gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (normed @ layer["up"].T)) @ layer["down"].T
    return rms(x[-1], model["norm"]) @ model["output"].T


def meant(token):
    """The bytes that a token stands for."""
    return token.encode() if token in ADDED else bytes(BYTES[character] for character in token)


def spelled(ids):
    return b"".join(meant(TOKENS[id]) for id in ids).decode(errors="replace")


def reference_tokenizer():
    merges = [tuple(merge.split(" ")) for merge in MERGES]
    tokenizer = Tokenizer(models.BPE(vocab={token: id for id, token in enumerate(TOKENS)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ADDED])
    return tokenizer


def continued(model, ids, most):
    """The likeliest tokens, as long as each is ahead of the next by [`AHEAD`] of the logits' spread."""
    greedy = []
    while len(greedy) < most:
        found = logits(model, ids + greedy)
        order = np.sort(found)
        if order[-1] - order[-2] < AHEAD * np.ptp(found) or int(found.argmax()) == END:
            break
        greedy.append(int(found.argmax()))
    return greedy


folder = pathlib.Path(sys.argv[1])
model, tensors = build()
write(folder / "tiny.gguf", tensors)
tokenizer = reference_tokenizer()
PROMPTS = [
    "Once upon a time", "The 12 cats of the é and 日本 😀", "<|im_start|>user\nHello<|im_end|>\n", "in the end", "a",
    "1, 2, 3,", "and then another thing in the other end " * 3, "Grüße aus der Küche", "order of the ring", "\n\n\t x",
    *[f"{word} {number}" for number, word in enumerate("one of these is the other sea rain and no more than that".split())],
    *["the rain in Spain " * count for count in range(1, 7)],
]
texts = []
for prompt in PROMPTS:
    ids = tokenizer.encode(prompt).ids
    greedy = continued(model, ids, 40)
    if len(greedy) >= 8:
        texts.append({"prompt": prompt, "ids": ids, "greedy": greedy, "text": spelled(greedy)})
assert len(texts) >= 8, len(texts)
answer = {"tokens": " ".join(meant(token).hex() for token in TOKENS), "texts": texts}
(folder / "tiny.json").write_text(json.dumps(answer, ensure_ascii=False, indent=1) + "\n")

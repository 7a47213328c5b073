"""Embeddings and tokens of models whose layers have windows in no regular turn, in 64-bit floats by NumPy alone.

    python make.py      writes expected.json, and checks what DECODER generates (with NumPy and tokenizers)

The models are those of ../models, whose own lists of layers follow a turn: with them this program has to give what
transformers gave (within 1e-6, or the same tokens), else it writes nothing. Then it computes the same with other lists.
Rotary angles are 32-bit floats, as in transformers.
"""

import json
import struct
from math import erf
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

HERE = Path(__file__).parent
FULL, SLIDING = "full_attention", "sliding_attention"

# A letter a layer: f for one that sees all tokens.
LISTS = {
    "modernbert_mean": ["sffs", "fsff", "ffss"],
    "embeddinggemma": ["fssfsfs", "ssffsss"],
}


def tensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, about in header.items():
        assert about["dtype"] == "F32", name
        start, end = (8 + length + at for at in about["data_offsets"])
        found[name] = np.frombuffer(data[start:end], "<f4").reshape(about["shape"]).astype(np.float64)
    return found


def layer_norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weight + bias


def rms_norm(x, weight, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * (1 + weight)


def turned(heads, theta):
    """Queries or keys [heads, tokens, size] by their positions: halves, not neighbours."""
    size, tokens = heads.shape[-1], heads.shape[1]
    frequencies = 1 / np.float32(theta) ** (np.arange(0, size, 2, dtype=np.float32) / np.float32(size))
    angles = np.outer(np.arange(tokens, dtype=np.float32), frequencies).astype(np.float32)
    cos, sin = (f(np.concatenate([angles, angles], -1)).astype(np.float64) for f in (np.cos, np.sin))
    first, second = np.split(heads, 2, -1)
    return heads * cos + np.concatenate([-second, first], -1) * sin


def attention(query, key, value, scale, reach, is_causal=False):
    """[heads, tokens, size]; tokens see those at most `reach` away, or all, of which none behind them if causal."""
    scores = query @ key.transpose(0, 2, 1) * scale
    places = np.arange(query.shape[1])
    apart = places[:, None] - places
    if reach is not None:
        scores[:, abs(apart) > reach] = -np.inf
    if is_causal:
        scores[:, apart < 0] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    seen = weights / weights.sum(-1, keepdims=True) @ value
    return seen.transpose(1, 0, 2).reshape(query.shape[1], -1)


def split(x, heads):
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def modernbert(folder, ids, kinds):
    config = json.loads((folder / "config.json").read_text())
    w, epsilon = tensors(folder / "model.safetensors"), config["norm_eps"]
    heads, rope = config["num_attention_heads"], config["rope_parameters"]
    norm = lambda x, name: layer_norm(x, w[name + ".weight"], w[name + ".bias"], epsilon)
    linear = lambda x, name: x @ w[name + ".weight"].T + w[name + ".bias"]
    gelu = np.vectorize(lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))))
    x = norm(w["embeddings.tok_embeddings.weight"][ids], "embeddings.norm")
    for layer, kind in enumerate(kinds):
        at = f"layers.{layer}."
        normed = norm(x, at + "attn_norm") if layer else x
        query, key, value = (split(part, heads) for part in np.split(linear(normed, at + "attn.Wqkv"), 3, -1))
        theta = rope[kind]["rope_theta"]
        reach = config["local_attention"] // 2 if kind == SLIDING else None
        seen = attention(turned(query, theta), turned(key, theta), value, query.shape[-1] ** -0.5, reach)
        x = x + linear(seen, at + "attn.Wo")
        up, gate = np.split(linear(norm(x, at + "mlp_norm"), at + "mlp.Wi"), 2, -1)
        x = x + linear(gelu(up) * gate, at + "mlp.Wo")
    return norm(x, "final_norm").mean(0)


def gemma_states(config, w, thetas, ids, kinds):
    """The normed states of tokens; `thetas` has a base for each kind of layer."""
    epsilon, heads, shared = config["rms_norm_eps"], config["num_attention_heads"], config["num_key_value_heads"]
    scale, is_causal = config["query_pre_attn_scalar"] ** -0.5, not config.get("use_bidirectional_attention")
    reach = config["sliding_window"] - 1 if is_causal else config["sliding_window"] // 2
    norm = lambda x, name: rms_norm(x, w[name + ".weight"], epsilon)
    linear = lambda x, name: x @ w[name + ".weight"].T
    tanh_gelu = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    x = w["embed_tokens.weight"][ids] * np.sqrt(config["hidden_size"])
    for layer, kind in enumerate(kinds):
        at = f"layers.{layer}."
        normed = norm(x, at + "input_layernorm")
        part = lambda name, count: split(linear(normed, f"{at}self_attn.{name}_proj"), count)
        query = turned(norm(part("q", heads), at + "self_attn.q_norm"), thetas[kind])
        key = turned(norm(part("k", shared), at + "self_attn.k_norm"), thetas[kind])
        key, value = (np.repeat(it, heads // shared, 0) for it in (key, part("v", shared)))
        seen = attention(query, key, value, scale, reach if kind == SLIDING else None, is_causal)
        x = x + norm(linear(seen, at + "self_attn.o_proj"), at + "post_attention_layernorm")
        normed = norm(x, at + "pre_feedforward_layernorm")
        gated = tanh_gelu(linear(normed, at + "mlp.gate_proj")) * linear(normed, at + "mlp.up_proj")
        x = x + norm(linear(gated, at + "mlp.down_proj"), at + "post_feedforward_layernorm")
    return norm(x, "norm")


def gemma(folder, ids, kinds):
    config = json.loads((folder / "config.json").read_text())
    thetas = {FULL: config["rope_theta"], SLIDING: config["rope_local_base_freq"]}
    pooled = gemma_states(config, tensors(folder / "model.safetensors"), thetas, ids, kinds).mean(0)
    for dense in ("2_Dense", "3_Dense"):
        pooled = tensors(folder / dense / "model.safetensors")["linear.weight"] @ pooled
    return pooled / np.linalg.norm(pooled)


# A decoder of cli/tests/cli/decoder_folders.rs, whose weights are from a fixed sequence.
DECODER = {
    "hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 7,
    "intermediate_size": 32, "vocab_size": 1104, "rms_norm_eps": 1e-6, "query_pre_attn_scalar": 8, "sliding_window": 6,
}  # fmt: skip
DECODER_THETAS = {FULL: 500_000.0, SLIDING: 2000.0}
PROMPT = "The train to the north leaves in the evening, and 12345 children wave at it from the bridge"
# The first is its own, whose tokens are llama.cpp's.
DECODER_LISTS = {
    "ssfssfs": [225, 283, 300, 300, 895, 282, 990, 990, 770, 770],
    "sffsfss": [225, 283, 300, 300, 895, 895, 895, 895, 895, 158],
}


def decoder_weights(state):
    def values(count, size, middle=0.0):
        nonlocal state
        found = np.empty(count, np.float32)
        for at in range(count):
            state = (state * 1_664_525 + 1_013_904_223) % 2**32
            found[at] = (np.float32((state >> 8) / 2**24) - np.float32(0.5)) * np.float32(size) + np.float32(middle)
        return found.astype(np.float64)

    hidden, head, wide = (DECODER[name] for name in ("hidden_size", "head_dim", "intermediate_size"))
    queries, keys = (DECODER[f"num_{name}_heads"] * head for name in ("attention", "key_value"))
    w = {"embed_tokens.weight": values(DECODER["vocab_size"] * hidden, 1).reshape(-1, hidden)}
    w["norm.weight"] = values(hidden, 0.5)
    for layer in range(DECODER["num_hidden_layers"]):
        at = f"layers.{layer}."
        for name, length in (
            ("input_layernorm", hidden), ("post_attention_layernorm", hidden), ("pre_feedforward_layernorm", hidden),
            ("post_feedforward_layernorm", hidden), ("self_attn.q_norm", head), ("self_attn.k_norm", head),
        ):  # fmt: skip
            w[f"{at}{name}.weight"] = values(length, 0.5)
        for name, rows, columns in (
            ("self_attn.q_proj", queries, hidden), ("self_attn.k_proj", keys, hidden),
            ("self_attn.v_proj", keys, hidden), ("self_attn.o_proj", hidden, queries), ("mlp.gate_proj", wide, hidden),
            ("mlp.up_proj", wide, hidden), ("mlp.down_proj", hidden, wide),
        ):  # fmt: skip
            w[f"{at}{name}.weight"] = values(rows * columns, 1).reshape(rows, columns)
    return w


def generated(kinds):
    """The likeliest ten tokens behind the prompt."""
    tokenizer = Tokenizer.from_file(str(HERE.parent / "models/embeddinggemma/tokenizer.json"))
    ids, w = tokenizer.encode(PROMPT).ids[:-1], decoder_weights(18)
    for _ in range(10):
        last = gemma_states(DECODER, w, DECODER_THETAS, ids, kinds)[-1]
        ids.append(int((w["embed_tokens.weight"] @ last).argmax()))
    return ids[-10:]


def main():
    cases = []
    for name, embed in (("modernbert_mean", modernbert), ("embeddinggemma", gemma)):
        folder = HERE.parent / "models" / name
        rows = json.loads((folder / "expected.json").read_text())["rows"]
        known = np.fromfile(folder / "expected.f32", "<f4").reshape(len(rows), -1)
        own = json.loads((folder / "config.json").read_text())["layer_types"]
        for row, expected in zip(rows, known):
            difference = abs(embed(folder, row["ids"], own) - expected).max()
            assert difference < 1e-6, (name, row["row"], difference)
        for letters in LISTS[name]:
            kinds = [FULL if letter == "f" else SLIDING for letter in letters]
            texts = [at for at, row in enumerate(rows) if len(row["ids"]) > 16][:6]
            vectors = [embed(folder, rows[at]["ids"], kinds) for at in texts]
            assert abs(vectors[-1] - known[texts[-1]]).max() > 1e-3, (name, letters)
            values = [[float(f"{value:.9g}") for value in vector] for vector in vectors]
            cases.append({"model": name, "layer_types": kinds, "rows": texts, "vectors": values})
    for letters, known in DECODER_LISTS.items():
        ids = generated([FULL if letter == "f" else SLIDING for letter in letters])
        assert ids == known, (letters, ids)
    (HERE / "expected.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


main()

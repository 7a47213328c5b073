"""ModernBERT's safetensors as ONNX, as its code in transformers computes it, and the dynamic int8 form."""

import json
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper
from safetensors.numpy import load_file

from .export_onnx import OUTPUT, Graph, attention_bias, gelu, save


@dataclass(frozen=True)
class Sizes:
    """What the graph needs to know of a model beside its weights."""

    layers: int
    heads: int
    width: int
    intermediate: int
    epsilon: float
    positions: int
    reach: int
    every: int
    thetas: dict

    @classmethod
    def read(cls, folder):
        """By `config.json`, as the hub has it."""
        config = json.loads((folder / "config.json").read_text())
        return cls(
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["hidden_size"],
            config["intermediate_size"],
            config["norm_eps"],
            config["max_position_embeddings"],
            config["local_attention"] // 2,
            config["global_attn_every_n_layers"],
            {"global": config["global_rope_theta"], "local": config["local_rope_theta"]},
        )


def norm(g, x, source, name):
    gain = g.constant(f"{name}.weight", g.weights[f"{source}.weight"])
    return g.node("LayerNormalization", [x, gain], name, axis=-1, epsilon=g.sizes.epsilon)


def product(g, x, source, name):
    return g.node("MatMul", [x, g.constant(f"{name}.weight", g.weights[f"{source}.weight"].T)], name)


def used_rows(g, table, name):
    """The rows of a constant table for the tokens that there are."""
    start, axis = g.constant(f"{name}.start", [0]), g.constant(f"{name}.axis", [0])
    return g.node("Slice", [g.constant(f"{name}.table", table), start, "tokens", axis], name)


def angles(g, kind):
    """Cosines and sines, `[tokens, head]`, of the halves that are turned together."""
    head = g.sizes.width // g.sizes.heads
    frequencies = g.sizes.thetas[kind] ** (-np.arange(0, head, 2) / head)
    turns = np.arange(g.sizes.positions)[:, None] * np.tile(frequencies, 2)
    cosines, sines = np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)
    return used_rows(g, cosines, f"{kind}.cos"), used_rows(g, sines, f"{kind}.sin")


def halves(g, x, size, name):
    """The first and the second `size` columns."""
    parts = [f"{name}/low", f"{name}/high"]
    g.nodes.append(helper.make_node("Split", [x, g.constant(f"{name}.halves", [size, size])], parts, axis=-1))
    return parts


def turn(g, x, cosines, sines, name):
    """x · cos + rotate_half(x) · sin."""
    low, high = halves(g, x, g.sizes.width // g.sizes.heads // 2, name)
    turned = g.node("Concat", [g.node("Neg", [high], f"{name}/minus"), low], f"{name}/halves", axis=-1)
    plain = g.node("Mul", [x, cosines], f"{name}/cos")
    return g.node("Add", [plain, g.node("Mul", [turned, sines], f"{name}/sin")], f"{name}/turned")


def window(g, bias):
    """The bias of layers whose tokens see only those near them."""
    place = g.node("Range", [g.constant("zero", np.int64(0)), "token_count", g.constant("step", np.int64(1))], "places")
    row = g.node("Unsqueeze", [place, g.constant("rows", [1])], "places/rows")
    far = g.node("Abs", [g.node("Sub", [row, place], "distance")], "distance/size")
    hidden = g.node("Greater", [far, g.constant("reach", np.int64(g.sizes.reach))], "far")
    hidden = g.node("Cast", [hidden], "far/f32", to=TensorProto.FLOAT)
    hidden = g.node("Mul", [hidden, "lowest"], "far/bias")
    return g.node("Max", [g.node("Add", [bias, hidden], "window/sum"), "lowest"], "window/bias")


def attention(g, x, bias, rotary, source, name):
    heads, width = g.sizes.heads, g.sizes.width
    y = product(g, x, f"{source}.Wqkv", f"{name}.qkv")
    y = g.node("Reshape", [y, g.constant(f"{name}.split", [0, 0, 3, heads, width // heads])], f"{name}.heads")
    y = g.node("Transpose", [y], f"{name}.heads/turned", perm=[2, 0, 3, 1, 4])
    part = lambda i, kind: g.node("Gather", [y, g.constant(f"{name}.{kind}.index", np.int64(i))], f"{name}.{kind}", axis=0)
    query = turn(g, part(0, "query"), *rotary, f"{name}.query")
    key = turn(g, part(1, "key"), *rotary, f"{name}.key")
    key = g.node("Transpose", [key], f"{name}.key/columns", perm=[0, 1, 3, 2])
    scores = g.node("MatMul", [query, key], f"{name}.scores")
    scale = g.constant(f"{name}.scale", np.float32((width // heads) ** -0.5))
    scores = g.node("Add", [g.node("Mul", [scores, scale], f"{name}.scaled"), bias], f"{name}.masked")
    shares = g.node("Softmax", [scores], f"{name}.softmax", axis=-1)
    context = g.node("MatMul", [shares, part(2, "value")], f"{name}.context")
    context = g.node("Transpose", [context], f"{name}.context/turned", perm=[0, 2, 1, 3])
    context = g.node("Reshape", [context, g.constant(f"{name}.joined", [0, 0, width])], f"{name}.context/joined")
    return product(g, context, f"{source}.Wo", f"{name}.output")


def feed_forward(g, x, source, name):
    y = product(g, x, f"{source}.Wi", f"{name}.up")
    up, by = halves(g, y, g.sizes.intermediate, f"{name}.up")
    y = g.node("Mul", [gelu(g, up, f"{name}.gelu"), by], f"{name}.gated")
    return product(g, y, f"{source}.Wo", f"{name}.down")


def export(folder, f32_path, int8_path):
    """Writes both ONNX files of the model in a folder."""
    sizes = Sizes.read(folder)
    g = Graph(load_file(folder / "model.safetensors"), sizes)
    shape = g.node("Shape", ["input_ids"], "shape")
    g.node("Gather", [shape, g.constant("one", np.int64(1))], "token_count", axis=0)
    g.node("Unsqueeze", ["token_count", g.constant("axis_0", [0])], "tokens")
    rotary = {kind: angles(g, kind) for kind in ("global", "local")}
    bias = {"global": attention_bias(g)}
    bias["local"] = window(g, bias["global"])
    table = g.constant("token_table", g.weights["embeddings.tok_embeddings.weight"])
    x = norm(g, g.node("Gather", [table, "input_ids"], "embedding"), "embeddings.norm", "embedding_norm")
    for i in range(sizes.layers):
        source, name = f"layers.{i}", f"layer{i}"
        kind = "local" if i % sizes.every else "global"
        y = x if i == 0 else norm(g, x, f"{source}.attn_norm", f"{name}.attention_norm")
        y = attention(g, y, bias[kind], rotary[kind], f"{source}.attn", f"{name}.attention")
        x = g.node("Add", [x, y], f"{name}.middle")
        y = norm(g, x, f"{source}.mlp_norm", f"{name}.feed_forward_norm")
        x = g.node("Add", [x, feed_forward(g, y, f"{source}.mlp", name)], f"{name}.end")
    norm(g, x, "final_norm", OUTPUT)
    save(g, ("input_ids", "attention_mask"), f32_path, int8_path)

"""BERT's safetensors as ONNX, in the shape that a PyTorch export has, and its dynamic int8 form: MiniLM, and other
models of its kind.

The f32 graph has the patterns that onnxruntime's optimiser knows (attention, skip layer norm, bias +
GELU), so that the peer is timed fused. The int8 form quantises weights per output channel to 7 bits
("reduced range"): the only dynamic int8 form that does not saturate on AVX2 without VNNI.
"""

import json
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

OUTPUT = "last_hidden_state"
XLM_ROBERTA_PADDING = 1


@dataclass(frozen=True)
class Sizes:
    """What a graph needs to know of a model beside its weights."""

    layers: int
    heads: int
    width: int
    epsilon: float
    first_position: int
    positions: int

    @classmethod
    def read(cls, folder):
        """By `config.json`."""
        config = json.loads((folder / "config.json").read_text())
        first = XLM_ROBERTA_PADDING + 1 if config["model_type"] == "xlm-roberta" else 0
        return cls(
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["hidden_size"],
            config["layer_norm_eps"],
            first,
            config["max_position_embeddings"],
        )


class Graph:
    """Collects nodes and initialisers; every node's output has the node's name."""

    def __init__(self, weights, sizes):
        self.weights = {name.removeprefix("bert."): w for name, w in weights.items()}
        self.sizes = sizes
        self.nodes, self.initializers = [], []

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def node(self, operation, inputs, name, **attributes):
        self.nodes.append(helper.make_node(operation, inputs, [name], name=f"{name}/node", **attributes))
        return name

    def linear(self, x, source, name):
        """x · Wᵀ + b as MatMul on the transposed weight, then Add."""
        weight = self.constant(f"{name}.weight", self.weights[f"{source}.weight"].T)
        bias = self.constant(f"{name}.bias", self.weights[f"{source}.bias"])
        return self.node("Add", [bias, self.node("MatMul", [x, weight], f"{name}/product")], name)

    def layer_norm(self, x, source, name):
        gain = self.constant(f"{name}.weight", self.weights[f"{source}.weight"])
        bias = self.constant(f"{name}.bias", self.weights[f"{source}.bias"])
        return self.node("LayerNormalization", [x, gain, bias], name, axis=-1, epsilon=self.sizes.epsilon)


def embeddings(g):
    """Word + type + position embeddings, normalised."""
    tables = {}
    for kind in ("word", "position", "token_type"):
        tables[kind] = g.constant(f"{kind}_table", g.weights[f"embeddings.{kind}_embeddings.weight"])
    positions = g.constant("position_ids", np.arange(g.sizes.first_position, g.sizes.positions)[None])
    shape = g.node("Shape", ["input_ids"], "shape")
    tokens = g.node("Gather", [shape, g.constant("one", np.int64(1))], "tokens", axis=0)
    end = g.node("Unsqueeze", [tokens, g.constant("axis_0", [0])], "slice_end")
    start, axis, step = (g.constant(f"slice_{n}", [v]) for n, v in (("start", 0), ("axis", 1), ("step", 1)))
    used = g.node("Slice", [positions, start, end, axis, step], "used_positions")
    word = g.node("Gather", [tables["word"], "input_ids"], "word_embedding")
    kind = g.node("Gather", [tables["token_type"], "token_type_ids"], "type_embedding")
    position = g.node("Gather", [tables["position"], used], "position_embedding")
    total = g.node("Add", [g.node("Add", [word, kind], "word_and_type"), position], "embedding")
    return g.layer_norm(total, "embeddings.LayerNorm", "embedding_norm")


def attention_bias(g):
    """0 for a token, the lowest f32 for padding, `[texts, 1, 1, tokens]`."""
    three = g.node("Unsqueeze", ["attention_mask", g.constant("axis_1", [1])], "mask_3d")
    four = g.node("Unsqueeze", [three, g.constant("axis_2", [2])], "mask_4d")
    mask = g.node("Cast", [four], "mask_f32", to=TensorProto.FLOAT)
    hidden = g.node("Sub", [g.constant("one_f32", np.float32(1)), mask], "mask_hidden")
    return g.node("Mul", [hidden, g.constant("lowest", np.finfo(np.float32).min)], "mask_bias")


def attention(g, x, bias, source, name):
    heads, width = g.sizes.heads, g.sizes.width
    split = g.constant(f"{name}.split", [0, 0, heads, width // heads])
    joined = g.constant(f"{name}.joined", [0, 0, width])
    turned = {}
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        y = g.linear(x, f"{source}.self.{part}", f"{name}.{part}")
        y = g.node("Reshape", [y, split], f"{name}.{part}/heads")
        turned[part] = g.node("Transpose", [y], f"{name}.{part}/turned", perm=order)
    scores = g.node("MatMul", [turned["query"], turned["key"]], f"{name}.scores")
    scale = g.constant(f"{name}.scale", np.float32(np.sqrt(width // heads)))
    scores = g.node("Add", [g.node("Div", [scores, scale], f"{name}.scaled"), bias], f"{name}.masked")
    shares = g.node("Softmax", [scores], f"{name}.softmax", axis=-1)
    context = g.node("MatMul", [shares, turned["value"]], f"{name}.context")
    context = g.node("Transpose", [context], f"{name}.context/turned", perm=[0, 2, 1, 3])
    context = g.node("Reshape", [context, joined], f"{name}.context/joined")
    y = g.linear(context, f"{source}.output.dense", f"{name}.output")
    y = g.node("Add", [y, x], f"{name}.residual")
    return g.layer_norm(y, f"{source}.output.LayerNorm", f"{name}.norm")


def gelu(g, x, name):
    """0.5 x (1 + erf(x / √2)), as PyTorch exports it."""
    erf = g.node("Div", [x, g.constant(f"{name}.sqrt2", np.float32(np.sqrt(2)))], f"{name}/scaled")
    erf = g.node("Erf", [erf], f"{name}/erf")
    erf = g.node("Add", [erf, g.constant(f"{name}.one", np.float32(1))], f"{name}/shifted")
    product = g.node("Mul", [x, erf], f"{name}/product")
    return g.node("Mul", [product, g.constant(f"{name}.half", np.float32(0.5))], name)


def feed_forward(g, x, source, name, output):
    y = g.linear(x, f"{source}.intermediate.dense", f"{name}.up")
    y = g.linear(gelu(g, y, f"{name}.gelu"), f"{source}.output.dense", f"{name}.down")
    y = g.node("Add", [y, x], f"{name}.residual")
    return g.layer_norm(y, f"{source}.output.LayerNorm", output)


def export(folder, f32_path, int8_path):
    """Writes both ONNX files of the model in a folder."""
    sizes = Sizes.read(folder)
    g = Graph(load_file(folder / "model.safetensors"), sizes)
    x, bias = embeddings(g), attention_bias(g)
    for i in range(sizes.layers):
        source, name = f"encoder.layer.{i}", f"layer{i}"
        x = attention(g, x, bias, f"{source}.attention", f"{name}.attention")
        output = OUTPUT if i == sizes.layers - 1 else f"{name}.norm"
        x = feed_forward(g, x, source, name, output)
    save(g, ("input_ids", "attention_mask", "token_type_ids"), f32_path, int8_path)


def save(g, inputs, f32_path, int8_path):
    """Writes a graph, and what onnxruntime's dynamic quantisation makes of it."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    dims = ["batch_size", "sequence_length"]
    graph = helper.make_graph(
        g.nodes,
        "encoder",
        [value(name, TensorProto.INT64, dims) for name in inputs],
        [value(OUTPUT, TensorProto.FLOAT, [*dims, g.sizes.width])],
        g.initializers,
    )
    # "pytorch" is true of the shape, and some optimisers ask for it.
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="pytorch"
    )
    onnx.checker.check_model(model)
    f32_path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, f32_path)
    quantize_dynamic(f32_path, int8_path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)

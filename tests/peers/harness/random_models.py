"""Folders of models in the sizes of real ones, with weights by chance: how long a model takes does not depend on what its
weights are."""

import json
import shutil

import numpy as np
from safetensors.numpy import save_file

POOLING = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]
XLM_ROBERTA = {
    "architectures": ["XLMRobertaModel"],
    "model_type": "xlm-roberta",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "vocab_size": 250_037,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "pad_token_id": 1,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-5,
}
MODERNBERT = {
    "architectures": ["ModernBertModel"],
    "model_type": "modernbert",
    "hidden_size": 768,
    "num_hidden_layers": 22,
    "num_attention_heads": 12,
    "intermediate_size": 1152,
    "vocab_size": 50_368,
    "max_position_embeddings": 8192,
    "hidden_activation": "gelu",
    "norm_eps": 1e-5,
    "norm_bias": False,
    "attention_bias": False,
    "mlp_bias": False,
    "local_attention": 128,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160_000.0,
    "local_rope_theta": 10_000.0,
}

# ModernBERT's layers with a window alone, in the spelling of transformers 5.
WINDOWS = {
    **{name: MODERNBERT[name] for name in MODERNBERT if not name.startswith("global") and name != "local_rope_theta"},
    "num_hidden_layers": 4,
    "layer_types": ["sliding_attention"] * 4,
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 160_000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
    },
}


class Weights:
    """Names and values; matrices keep the size of what they are applied to."""

    def __init__(self):
        self.all, self.random = {}, np.random.default_rng(35)

    def matrix(self, name, rows, columns):
        values = self.random.standard_normal((rows, columns), np.float32)
        self.all[name] = values * np.float32(columns**-0.5)

    def table(self, name, rows, columns):
        self.all[name] = self.random.standard_normal((rows, columns), np.float32)

    def linear(self, name, rows, columns):
        self.matrix(f"{name}.weight", rows, columns)
        self.all[f"{name}.bias"] = self.random.standard_normal(rows, np.float32) * np.float32(0.1)

    def norm(self, name, width, bias=True):
        self.all[f"{name}.weight"] = 1 + self.random.standard_normal(width, np.float32) * np.float32(0.1)
        if bias:
            self.all[f"{name}.bias"] = self.random.standard_normal(width, np.float32) * np.float32(0.1)


def xlm_roberta(config):
    """Names and shapes of an XLM-RoBERTa."""
    width, wide = config["hidden_size"], config["intermediate_size"]
    w = Weights()
    w.table("embeddings.word_embeddings.weight", config["vocab_size"], width)
    w.table("embeddings.position_embeddings.weight", config["max_position_embeddings"], width)
    w.table("embeddings.token_type_embeddings.weight", config["type_vocab_size"], width)
    w.norm("embeddings.LayerNorm", width)
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("query", "key", "value"):
            w.linear(f"{layer}.attention.self.{part}", width, width)
        w.linear(f"{layer}.attention.output.dense", width, width)
        w.norm(f"{layer}.attention.output.LayerNorm", width)
        w.linear(f"{layer}.intermediate.dense", wide, width)
        w.linear(f"{layer}.output.dense", width, wide)
        w.norm(f"{layer}.output.LayerNorm", width)
    return w.all


def modernbert(config):
    """Names and shapes of a ModernBERT."""
    width, wide = config["hidden_size"], config["intermediate_size"]
    w = Weights()
    w.table("embeddings.tok_embeddings.weight", config["vocab_size"], width)
    w.norm("embeddings.norm", width, bias=False)
    for i in range(config["num_hidden_layers"]):
        layer = f"layers.{i}"
        if i > 0:
            w.norm(f"{layer}.attn_norm", width, bias=False)
        w.matrix(f"{layer}.attn.Wqkv.weight", 3 * width, width)
        w.matrix(f"{layer}.attn.Wo.weight", width, width)
        w.norm(f"{layer}.mlp_norm", width, bias=False)
        w.matrix(f"{layer}.mlp.Wi.weight", 2 * wide, width)
        w.matrix(f"{layer}.mlp.Wo.weight", width, wide)
    w.norm("final_norm", width, bias=False)
    return w.all


FAMILIES = {
    "xlm-roberta": (XLM_ROBERTA, xlm_roberta),
    "modernbert": (MODERNBERT, modernbert),
    "windows": (WINDOWS, modernbert),
}


def transformer(family, tokenizer, folder):
    """A folder as on the hub, with the mean of the last states as its embedding."""
    config, weights = FAMILIES[family]
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    write = lambda name, value: (folder / name).write_text(json.dumps(value, indent=1))
    write("config.json", config)
    write("modules.json", POOLING)
    write("1_Pooling/config.json", {"word_embedding_dimension": config["hidden_size"], "pooling_mode_mean_tokens": True})
    write("tokenizer_config.json", {"model_max_length": config["max_position_embeddings"]})
    shutil.copy(tokenizer, folder / "tokenizer.json")
    save_file(weights(config), folder / "model.safetensors")


def table(dimensions, tokenizer, folder):
    """A static model as Model2Vec writes it: a vector for each token of a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    said = json.loads(tokenizer.read_text())
    said["truncation"] = said["padding"] = None
    rows = len(said["model"]["vocab"])
    (folder / "tokenizer.json").write_text(json.dumps(said))
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True, "hidden_dim": dimensions}))
    w = Weights()
    w.table("embeddings", rows, dimensions)
    save_file(w.all, folder / "model.safetensors")

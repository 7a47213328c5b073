"""The model in f64 by its formulas, written apart from every peer: what their vectors are held against."""

import math

import numpy as np
from safetensors.numpy import load_file

from . import places

LAYERS, HEADS = 6, 12
erf = np.frompyfunc(math.erf, 1, 1)


class Reference:
    """all-MiniLM-L6-v2: BERT, mean pooling, L2 norm."""

    def __init__(self):
        weights = load_file(places.MODEL / "model.safetensors")
        # Position ids are integers, all else becomes f64.
        self.weights = {n: w.astype(np.float64) for n, w in weights.items() if w.dtype.kind == "f"}

    def embed(self, texts):
        """`[texts, 384]`."""
        return np.stack([self.embed_one(np.array(ids)) for ids in texts])

    def embed_one(self, ids):
        w = self.weights
        table = lambda kind: w[f"embeddings.{kind}_embeddings.weight"]
        x = table("word")[ids] + table("position")[: len(ids)] + table("token_type")[0]
        x = self.layer_norm(x, "embeddings.LayerNorm")
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}"
            x = self.layer_norm(x + self.attention(x, f"{layer}.attention"), f"{layer}.attention.output.LayerNorm")
            y = self.linear(x, f"{layer}.intermediate.dense")
            y = 0.5 * y * (1 + erf(y / math.sqrt(2)).astype(np.float64))
            x = self.layer_norm(x + self.linear(y, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)

    def attention(self, x, name):
        heads = lambda part: self.linear(x, f"{name}.self.{part}").reshape(len(x), HEADS, -1).swapaxes(0, 1)
        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return self.linear((shares @ value).swapaxes(0, 1).reshape(len(x), -1), f"{name}.output.dense")

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def layer_norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def lowest_cosine(vectors, reference):
    """The worst text's cosine; the vectors must have length 1, which is checked too."""
    vectors = np.asarray(vectors, np.float64)
    if vectors.shape != reference.shape or not np.isfinite(vectors).all():
        return float("nan")
    if np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > 1e-3:
        return float("nan")
    return float((vectors * reference).sum(1).min())

"""Models that compare two texts, against sentence-transformers' CrossEncoder."""

import json
import random

import numpy as np
import torch
from common import Other, change, copy_tokenizer, fill, settings_of, theirs
from sentence_transformers import CrossEncoder
from settings import ENCODERS, modernbert, of_bert
from transformers import AutoConfig, AutoModelForSequenceClassification

NEAR = 1e-4
PAIRS = [
    ("How do I reset it?", "Click on reset."), ("a", "b c d"), ("x " * 60, "y " * 80), ("", ""),
    ("Ünïcödé 東京", "The quick brown fox jumps over the lazy dog and runs " * 3), ("q [SEP] </s>", "z [MASK] <mask>"),
]
ACTIVATIONS = ["linear.Identity", "activation.Sigmoid", "activation.Tanh"]
SETTINGS = {
    "cross_encoder": of_bert,
    "xlmr_reranker": of_bert,
    "roberta": of_bert,
    "modernbert_reranker": lambda rng: {**modernbert(rng), "classifier_pooling": rng.choice(["cls", "mean"])},
    "distilbert": ENCODERS["distilbert"],
    "mpnet": ENCODERS["mpnet"],
}


def case(program):
    def compare(family, seed, folder):
        rng = random.Random(f"{family} {seed}")
        torch.manual_seed(seed)
        logits, scores = theirs(lambda: predicted(rng, family, folder))
        rows = program.rows(["rerank"], folder, [{"query": query, "document": text} for query, text in PAIRS])
        for name, expected in (("logit", logits), ("score", scores)):
            found = np.array([np.atleast_1d(row.get(name, row.get(name + "s"))) for row in rows])
            apart = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
            if not apart <= NEAR:
                raise Other(f"{name}: {apart}")

    return compare


def predicted(rng, family, folder):
    """Logits and scores of a model that is saved in the folder."""
    labels = [f"LABEL_{label}" for label in range(rng.choice([1, 1, 3]))]
    config = {**settings_of(family), **SETTINGS[family](rng), "id2label": dict(enumerate(labels)),
              "label2id": {label: at for at, label in enumerate(labels)}}
    if rng.random() < 0.3:
        activation = "torch.nn.modules." + rng.choice(ACTIVATIONS)
        config["sentence_transformers"] = {"activation_fn": activation, "version": "6.2.0"}
    (folder / "config.json").write_text(json.dumps(config))
    model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder))
    fill(model)
    model.save_pretrained(folder)
    copy_tokenizer(family, folder)
    longest = rng.choice([20, 32, 64])
    change(folder / "tokenizer_config.json", lambda it: it.update(model_max_length=longest))
    ranker = CrossEncoder(str(folder), device="cpu")
    plain = torch.nn.Identity()
    logits = [np.atleast_1d(ranker.predict([list(pair)], activation_fn=plain)[0]) for pair in PAIRS]
    scores = [np.atleast_1d(ranker.predict([list(pair)])[0]) for pair in PAIRS]
    return np.stack(logits), np.stack(scores)


FAMILIES = list(SETTINGS)

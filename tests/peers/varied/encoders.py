"""Encoders with whole recipes, against sentence-transformers."""

import json
import random

import numpy as np
import torch
from common import TEXTS, Other, change, copy_tokenizer, fill, settings_of, theirs
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
from settings import ENCODERS, in_old_spelling
from transformers import AutoConfig, AutoModel

NEAR = 5e-5
WAYS = ["cls", "mean", "max", "lasttoken", "mean_sqrt_len_tokens", "weightedmean", ("mean", "max"),
        ("cls", "mean", "lasttoken"), ("lasttoken", "cls")]
ACTIVATIONS = [torch.nn.Tanh, torch.nn.Identity, torch.nn.ReLU, torch.nn.GELU, torch.nn.Sigmoid]


def case(program):
    def compare(family, seed, folder):
        rng = random.Random(f"{family} {seed}")
        torch.manual_seed(seed)
        saved = theirs(lambda: save(rng, family, folder))
        expected = theirs(lambda: embedded(SentenceTransformer(str(saved), device="cpu")))
        check(program, saved, expected, "folder")
        for ending in ("weights", "amb", "gguf"):
            file = program.converted(saved, ending)
            if file:
                check(program, file, expected, ending)

    return compare


def save(rng, family, folder):
    """A model with its recipe as sentence-transformers saves it."""
    base, saved = folder / "base", folder / "model"
    base.mkdir()
    config = {**settings_of(family), **ENCODERS[family](rng)}
    (base / "config.json").write_text(json.dumps(config))
    model = AutoModel.from_config(AutoConfig.from_pretrained(base))
    fill(model, one_plus=family == "embeddinggemma")
    model.save_pretrained(base)
    copy_tokenizer(family, base)
    prompts = rng.choice([None, {"query": "query: ", "document": "passage: "}])
    whole = SentenceTransformer(modules=modules(rng, base, model), device="cpu", prompts=prompts)
    if prompts and rng.random() < 0.5:
        whole.default_prompt_name = "query"
    whole.save(str(saved), create_model_card=False)
    if rng.random() < 0.5:
        change(saved / "modules.json", with_old_types)
    if rng.random() < 0.6:
        change(saved / "config.json", in_old_spelling)
    return saved


def modules(rng, base, model):
    yield Transformer(str(base), max_seq_length=rng.choice([None, 16, 64]))
    ways = rng.choice(WAYS)
    width = model.config.hidden_size
    yield Pooling(width, pooling_mode=ways, include_prompt=rng.random() < 0.7)
    width *= 1 if isinstance(ways, str) else len(ways)
    for _ in range(rng.choice([0, 0, 1, 2])):
        out = rng.choice([16, 32, 64])
        yield Dense(width, out, bias=rng.random() < 0.6, activation_function=rng.choice(ACTIVATIONS)())
        width = out
    if rng.random() < 0.6:
        yield Normalize()


def with_old_types(modules):
    for module in modules:
        module["type"] = "sentence_transformers.models." + module["type"].rsplit(".", 1)[-1]


def embedded(model):
    """One text at a time, so that none is padded."""
    found = np.stack([model.encode([text])[0] for text in TEXTS]).astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError("values that are no numbers")
    return found


def check(program, model, expected, what, texts=TEXTS):
    rows = program.rows(["embed", "--precise"], model, [{"text": text} for text in texts])
    found = np.array([row["embedding"] for row in rows])
    if found.shape != expected.shape:
        raise Other(f"{what}: {found.shape} for {expected.shape}")
    apart = np.abs(found - expected).max(axis=1) / max(1.0, np.abs(expected).max())
    if apart.max() > NEAR:
        raise Other(f"{what}: {apart.round(6).tolist()}")


FAMILIES = list(ENCODERS)

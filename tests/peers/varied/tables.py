"""Static models, against Model2Vec and sentence-transformers' StaticEmbedding."""

import random

import numpy as np
import torch
from common import MODELS, TEXTS, change, theirs
from encoders import check
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Normalize, StaticEmbedding
from tokenizers import Tokenizer

TOKENIZERS = ["bert_cased", "xlmr_bge_m3", "roberta", "modernbert_mean", "embeddinggemma", "model2vec_f32", "qwen3_embedding"]
LONG = ["word " * 700, "ünd " * 300 + "naïve 東京 " * 200, "(x) " * 90]


def case(program):
    def compare(family, seed, folder):
        rng = random.Random(f"{family} {seed}")
        torch.manual_seed(seed)
        saved = folder / "model"
        expected = theirs(lambda: SAVES[family](rng, saved))
        for ending in ("folder", "weights", "amb"):
            model = saved if ending == "folder" else program.converted(saved, ending)
            if model:
                check(program, model, expected, ending, TEXTS + LONG)

    return compare


def tokenizer(rng):
    made = Tokenizer.from_file(str(MODELS / rng.choice(TOKENIZERS) / "tokenizer.json"))
    if rng.random() < 0.3:
        made.enable_truncation(rng.choice([4, 64, 512]), direction=rng.choice(["right", "right", "left"]))
    elif rng.random() < 0.5:
        made.no_truncation()
    if rng.random() < 0.3:
        made.enable_padding(length=rng.choice([None, 16]))
    return made


def table(rng, rows):
    width = rng.choice([8, 24, 33])
    return np.random.default_rng(rng.randrange(1 << 30)).normal(size=(rows, width)).astype(np.float32)


def static_embedding(rng, saved):
    """What sentence-transformers makes of a StaticEmbedding that it saved, with layers after."""
    tokens = tokenizer(rng)
    vectors = table(rng, tokens.get_vocab_size())
    modules = [StaticEmbedding(tokens, embedding_weights=vectors)]
    if rng.random() < 0.3:
        modules.append(Normalize())
    prompts = rng.choice([None, {"query": "query: ", "document": "passage: "}])
    whole = SentenceTransformer(modules=modules, device="cpu", prompts=prompts)
    if prompts and rng.random() < 0.5:
        whole.default_prompt_name = "query"
    whole.save(str(saved), create_model_card=False)
    model = SentenceTransformer(str(saved), device="cpu")
    return np.stack([model.encode([text])[0] for text in TEXTS + LONG]).astype(np.float64)


def model2vec(rng, saved):
    """What Model2Vec makes of a model that it saved."""
    tokens = tokenizer(rng)
    count = tokens.get_vocab_size()
    mapping = weights = None
    rows = count
    if rng.random() < 0.4:
        rows = max(1, count // 3)
        kind = rng.choice([np.int64, np.int32])
        mapping = np.random.default_rng(1).integers(rows, size=count).astype(kind)
        weights = np.random.default_rng(2).uniform(0.1, 2, size=count).astype(rng.choice([np.float32, np.float64]))
    vectors = table(rng, rows)
    if rng.random() < 0.3:
        vectors = np.clip(np.rint(vectors * 40), -127, 127).astype(np.int8)
    model = StaticModel(vectors, tokens, normalize=rng.random() < 0.5, weights=weights, token_mapping=mapping,
                        max_length=rng.choice([512, 512, 16, None]))
    model.save_pretrained(saved)
    if rng.random() < 0.3:
        change(saved / "config.json", older)
    model = StaticModel.from_pretrained(str(saved))
    return np.stack([model.encode([text])[0] for text in TEXTS + LONG]).astype(np.float64)


def older(config):
    """As versions before 0.10 write it."""
    config.pop("max_length", None)
    config.update(model_type="model2vec", architectures=["StaticModel"], tokenizer_name="baai/bge-base-en-v1.5",
                  apply_pca=256, apply_zipf=True, hidden_dim=256, seq_length=1000000)


SAVES = {"static_embedding": static_embedding, "model2vec": model2vec}
FAMILIES = list(SAVES)

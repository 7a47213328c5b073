"""Decoders that generate, against transformers."""

import json
import random

import torch
from common import Other, change, copy_tokenizer, fill, theirs
from settings import gemma, in_old_spelling, of_llama, qwen, rope
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

TOKENS = 40
# Where the two likeliest tokens are nearer than this, either may be chosen.
UNDECIDED = 2e-3
PROMPTS = ["How do I reset my password?", "The quick brown fox", "Ünïcödé 123"]
KINDS = ("default", "linear", "yarn", "dynamic", "llama3")
WITH_BYTES = ["qwen2", "qwen3"]
FAMILIES = ["llama", "mistral", "phi3", "gemma3_text", *WITH_BYTES]


def case(program):
    def compare(family, seed, folder):
        rng = random.Random(f"{family} {seed}")
        torch.manual_seed(seed)
        saved = folder / "model"
        saved.mkdir()
        tokenizer, model = theirs(lambda: save(rng, family, saved))
        for prompt in PROMPTS:
            check(model, tokenizer, prompt, generated(program, saved, prompt))
        expected = generated(program, saved, PROMPTS[-1])
        for ending in ("weights", "amb", "gguf"):
            file = program.converted(saved, ending)
            if file and generated(program, file, PROMPTS[-1]) != expected:
                raise Other(f"{ending} generates something else than the folder")

    return compare


def settings(rng, family):
    positions = rng.choice([96, 128, 256])
    if family == "gemma3_text":
        config = gemma(rng, kinds=KINDS)
    elif family in WITH_BYTES:
        config = {**qwen(rng, kinds=KINDS), "use_sliding_window": False}
        config.pop("layer_types", None)
    else:
        config = of_llama(rng, positions, kinds=KINDS)
    if family in ("qwen2", "phi3"):
        del config["head_dim"]
        config["num_attention_heads"], config["num_key_value_heads"] = rng.choice([4, 6]), 2
    if family in ("mistral", "phi3"):
        config.pop("attention_bias", None)
        config["sliding_window"] = rng.choice([None, 64, 512])
    if family == "llama":
        config["mlp_bias"] = rng.choice([True, False])
    if family == "phi3":
        config.update(pad_token_id=0, original_max_position_embeddings=positions // 4)
        head = 48 // config["num_attention_heads"]
        config["rope_parameters"] = rope(rng, head, positions, ("default", "longrope"))
    has_bytes = family in WITH_BYTES
    return {**config, "model_type": family, "hidden_size": 48, "vocab_size": 912 if has_bytes else 1100,
            "bos_token_id": None if has_bytes else rng.choice([2, None]), "eos_token_id": rng.choice([1, [1, 5]])}


def save(rng, family, folder):
    config = settings(rng, family)
    (folder / "config.json").write_text(json.dumps(config))
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    fill(model, scale=2.0, one_plus=family == "gemma3_text")
    model.save_pretrained(folder)
    copy_tokenizer("qwen3_embedding" if family in WITH_BYTES else "embeddinggemma", folder)
    # Embedding models put a token after texts.
    change(folder / "tokenizer.json", without_end)
    change(folder / "tokenizer_config.json", lambda it: it.update(add_eos_token=False))
    if rng.random() < 0.4:
        change(folder / "config.json", in_old_spelling)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    return AutoTokenizer.from_pretrained(folder), model


def without_end(tokenizer):
    steps = tokenizer["post_processor"].get("processors", [tokenizer["post_processor"]])
    for template in (step for step in steps if step["type"] == "TemplateProcessing"):
        for name in ("single", "pair"):
            parts = template[name]
            while "SpecialToken" in parts[-1]:
                parts.pop()


def generated(program, model, prompt):
    how = ["--temperature", "0", "--max-tokens", TOKENS, "--precise", "--json", "--quiet"]
    return program.lines(["generate", prompt, "--model", model, *how])[0]["ids"]


def check(model, tokenizer, prompt, found):
    """Goes along what was generated: each token has to be the likeliest."""
    ends = model.generation_config.eos_token_id
    ends = set(ends if isinstance(ends, list) else [ends])
    ids = tokenizer(prompt)["input_ids"]
    for place in range(TOKENS):
        with torch.no_grad():
            logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1]
        (first, second), (likeliest, _) = logits.topk(2).values.tolist(), logits.topk(2).indices.tolist()
        ours = found[place] if place < len(found) else None
        if ours is None and likeliest in ends or first - second < UNDECIDED and ours != likeliest:
            return
        if ours != likeliest:
            raise Other(f"{prompt!r}: {ours} for {likeliest} at {place} of {found}")
        ids.append(likeliest)

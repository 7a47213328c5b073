"""`tokenizer.json` with steps by chance, against `tokenizers`."""

import json
import pathlib
import random
import shutil
import sys

from common import MODELS, NotTheirs, Other, change, theirs
from tokenizers import Tokenizer

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import varied_texts  # noqa: E402

FAMILIES = ["xlmr_bge_m3", "qwen3_embedding", "embeddinggemma", "roberta", "modernbert_mean", "bert_cased", "eurobert",
            "jina_v3"]
TEXTS = 30
SYMBOLS = ["[CLS]", "[MASK]", "</s>", "<mask>", "<|endoftext|>", "<pad>"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")


def case(program):
    def compare(family, seed, folder):
        rng = random.Random(f"{family} {seed}")
        model = folder / "model"
        shutil.copytree(MODELS / family, model, ignore=shutil.ignore_patterns("expected*", "tokenizer.model", "vocab*"))
        change(model / "tokenizer.json", lambda tokenizer: vary(rng, tokenizer))
        # The class that goes by this file alone.
        general = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
        (model / "tokenizer_config.json").write_text(json.dumps(general))
        read = lambda: Tokenizer.from_file(str(model / "tokenizer.json"))  # noqa: E731
        peer = theirs(read)
        texts = [varied_texts.text(rng, SYMBOLS) for _ in range(TEXTS)]
        how = ["tokenize", "--prompt", "", "--max-tokens", "0"]
        for text, row in zip(texts, program.rows(how, model, [{"text": text} for text in texts])):
            expected = ids(peer, text)
            if expected is not None and row["ids"] != expected:
                # Which of several added tokens is found that one normaliser makes alike goes by a hash.
                if any(ids(read(), text) != expected for _ in range(20)):
                    raise NotTheirs(f"other ids each time: {text!r}")
                raise Other(f"{text!r}: {row['ids'][:24]} for {expected[:24]}")

    return compare


def ids(peer, text):
    """None where the peer panics."""
    try:
        return peer.encode(text).ids
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def vary(rng, tokenizer):
    tokenizer.update(truncation=None, padding=None)
    if rng.random() < 0.75:
        tokenizer["normalizer"] = rng.choice([normalizer(rng), normalizer(rng), None])
    if rng.random() < 0.75:
        tokenizer["pre_tokenizer"] = rng.choice([pre_tokenizer(rng), pre_tokenizer(rng), None])
    if rng.random() < 0.5:
        tokenizer["post_processor"] = post_processor(rng, tokenizer)
    for token in tokenizer["added_tokens"]:
        # Spaces that are normalised would be alike for most normalisers.
        flags = ["lstrip", "rstrip", "single_word"] + ["normalized"] * (token["content"].strip() != "")
        if rng.random() < 0.3 and not token["normalized"]:
            flag = rng.choice(flags)
            token[flag] = not token[flag]
    model = tokenizer["model"]
    if model["type"] == "WordPiece":
        model["max_input_chars_per_word"] = rng.choice([5, 100, 200])
    elif model["type"] == "BPE" and rng.random() < 0.3:
        model[rng.choice(["ignore_merges", "fuse_unk", "byte_fallback"])] = rng.random() < 0.5


def normalizer(rng, outer=True):
    kind = rng.choice(["BertNormalizer", "NFC", "NFKC", "NFD", "NFKD", "Lowercase", "StripAccents", "Replace", "Strip",
                       "Prepend", "Nmt", "Sequence"])
    return {
        "BertNormalizer": lambda: {"clean_text": rng.random() < 0.8, "handle_chinese_chars": rng.random() < 0.7,
                                   "strip_accents": rng.choice([None, True, False]), "lowercase": rng.random() < 0.6},
        "Replace": lambda: {"pattern": rng.choice([{"String": " "}, {"String": "a"}, {"String": "``"}, {"Regex": " {2,}"},
                                                   {"Regex": r"\s+"}]), "content": rng.choice(["▁", "", '"', " ", "xy"])},
        "Strip": lambda: {"strip_left": rng.random() < 0.5, "strip_right": rng.random() < 0.5},
        "Prepend": lambda: {"prepend": "▁"},
        "Sequence": lambda: {"normalizers": [normalizer(rng, False) for _ in range(rng.randint(0, 3))] if outer else []},
    }.get(kind, dict)() | {"type": kind}


def pre_tokenizer(rng, outer=True):
    kind = rng.choice(["BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Metaspace", "ByteLevel", "Split", "Digits",
                       "Punctuation", "CharDelimiterSplit", "Sequence"])
    return {
        "Metaspace": lambda: {"replacement": "▁", "prepend_scheme": rng.choice(["always", "first", "never"]),
                              "split": rng.random() < 0.7},
        "ByteLevel": lambda: {"add_prefix_space": rng.random() < 0.5, "trim_offsets": True, "use_regex": rng.random() < 0.7},
        "Split": lambda: {"pattern": rng.choice([{"String": " "}, {"String": "a"}, {"Regex": r"\s+"}, {"Regex": GPT_2},
                                                 {"Regex": LLAMA_3}]),
                          "behavior": rng.choice(BEHAVIORS), "invert": rng.random() < 0.3},
        "Digits": lambda: {"individual_digits": rng.random() < 0.5},
        "Punctuation": lambda: {"behavior": rng.choice(BEHAVIORS)},
        "CharDelimiterSplit": lambda: {"delimiter": rng.choice([" ", "-"])},
        "Sequence": lambda: {"pretokenizers": [pre_tokenizer(rng, False) for _ in range(rng.randint(1, 3))] if outer
                             else [{"type": "Whitespace"}]},
    }.get(kind, dict)() | {"type": kind}


def post_processor(rng, tokenizer):
    tokens = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    if not tokens:
        raise NotTheirs("no added tokens")
    first, last = rng.choice(list(tokens)), rng.choice(list(tokens))
    kind = rng.choice(["none", "BertProcessing", "RobertaProcessing", "TemplateProcessing", "TemplateProcessing"])
    ends = {"sep": [last, tokens[last]], "cls": [first, tokens[first]]}
    if kind == "none":
        return None
    if kind == "BertProcessing":
        return {"type": kind, **ends}
    if kind == "RobertaProcessing":
        return {"type": kind, **ends, "trim_offsets": True, "add_prefix_space": rng.random() < 0.5}

    def token(name, type_id=0):
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def text(name, type_id=0):
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = rng.choice([[token(first), text("A"), token(last)], [text("A"), token(last)], [token(first), text("A")],
                         [token(first), token(first), text("A"), token(last)], [text("A")]])
    pair = [token(first), text("A"), token(last), text("B", 1), token(last, 1)]
    special = {name: {"id": name, "ids": [tokens[name]], "tokens": [name]} for name in {first, last}}
    return {"type": kind, "single": single, "pair": pair, "special_tokens": special}

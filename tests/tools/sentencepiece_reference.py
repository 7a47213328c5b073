"""Trains small SentencePiece models and writes what `sentencepiece` makes of texts, and of ids.

    pip install sentencepiece==0.2.3 protobuf
    python tests/tools/sentencepiece_reference.py tests/data/sentencepiece
    python tests/tools/sentencepiece_reference.py --all FOLDER [MODEL...]

The first writes `texts.json`, `NAME.model`s, and for each `NAME.json`: {"ids", "decoded", "special", "streams": [[ids, text]]}.
The texts are random, but the same on every run; so are the streams, which are any ids in a row.

With `--all` it writes the same for models with the whole of nmt_nfkc and nmt_nfkc_cf and for the MODELs named, and more texts:
every character of Unicode that is assigned, long texts without spaces, and the lines of this repository's documents and sources.
NANOEMBED_SENTENCEPIECE names the FOLDER for `tests/tests/sentencepiece_reference.rs`.
"""

import json
import pathlib
import random
import shutil
import sys
import unicodedata

import sentencepiece
import varied_texts
from sentencepiece import sentencepiece_model_pb2

SYMBOLS = ["<mask>", "<ma", "New York", "<|im_start|>", "\U0001f600", "the", "\n", "▁▁▁"]
SOME = SYMBOLS + ["<s>", "</s>", "<unk>", "[CLS]", "<0x0A>", "▁", " ▁ ", "<mas", "New  York", "\x00", "\x1b", "\u200b\u200b", "ﷺ", "\ufffd"]

LLAMA = {
    "model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
    "split_digits": True, "allow_whitespace_only_pieces": True,
}
# Small models with every setting that matters; `rules` are a part of NFKC, or of NFKC and case folding.
SMALL = {
    "llama": LLAMA,
    "gemma": LLAMA | {"add_dummy_prefix": False, "split_by_whitespace": False, "user_defined_symbols": SYMBOLS},
    "t5": {"model_type": "unigram", "rules": "nfkc", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "albert": {
        "model_type": "unigram", "rules": "nfkc_cf", "control_symbols": ["[CLS]", "[SEP]"], "user_defined_symbols": SYMBOLS,
        "bos_piece": "[BOS]", "unk_surface": "?",
    },
    "suffix-bpe": {"model_type": "bpe", "treat_whitespace_as_suffix": True, "rules": "nfkc", "user_defined_symbols": ["<mask>"]},
    "suffix-unigram": {
        "model_type": "unigram", "treat_whitespace_as_suffix": True, "byte_fallback": True,
        "normalization_rule_name": "identity", "allow_whitespace_only_pieces": True,
    },
    "spaces-unigram": {
        "model_type": "unigram", "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
        "split_by_whitespace": False, "byte_fallback": True, "user_defined_symbols": SYMBOLS[:3],
    },
    "unused-bpe": {"model_type": "bpe", "rules": "nfkc", "user_defined_symbols": ["New York"], "unused": 3},
    "unused-unigram": {"model_type": "unigram", "normalization_rule_name": "identity", "unused": 4},
    "unescaped": {"model_type": "unigram", "normalization_rule_name": "identity", "escape": False},
}
WHOLE = {
    "nmt_nfkc-unigram": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc", "vocab_size": 4000},
    "nmt_nfkc_cf-unigram": {
        "model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf", "vocab_size": 4000, "user_defined_symbols": SYMBOLS,
    },
    "nmt_nfkc-bpe": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc", "vocab_size": 4000, "byte_fallback": True},
    "nfkc_cf-suffix-bpe": {
        "model_type": "bpe", "normalization_rule_name": "nfkc_cf", "vocab_size": 4000, "treat_whitespace_as_suffix": True,
        "user_defined_symbols": SYMBOLS,
    },
}


def rules(name):
    """The rules of NFKC for some characters, and some that have more than one on either side, as a TSV file has them."""
    fold = (lambda t: t.casefold()) if name.endswith("_cf") else (lambda t: t)
    pairs = {"\t": " ", "\n": " ", "\u200b": "", "\ufeff": "", "\x1b": "", "e\u0301": "é", "a\u0308": "ä", "...": "…", "....": "⋯"}
    for code in [*range(0x41, 0x180), *range(0x2000, 0x2100), *range(0x2460, 0x2480), *range(0x3000, 0x3010), *range(0xFF01, 0xFF5E), 0xFDFA]:
        becomes = fold(unicodedata.normalize("NFKC", chr(code)))
        if becomes != chr(code) and unicodedata.category(chr(code)) != "Cn":
            pairs[chr(code)] = becomes
    line = lambda text: " ".join(f"{ord(c):X}" for c in text)
    return "".join(f"{line(key)}\t{line(value)}\n" for key, value in pairs.items())


def train(target, settings):
    settings = dict(settings)
    unused, escape, rule = settings.pop("unused", 0), settings.pop("escape", True), settings.pop("rules", None)
    if rule:
        table = target.with_suffix(".tsv")
        table.write_text(rules(rule), encoding="utf-8")
        settings |= {"normalization_rule_tsv": str(table)}
    rng = random.Random(11)
    prefix = str(target.with_suffix(""))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([varied_texts.text(rng, SOME[8:12]) for _ in range(4000)]), model_prefix=prefix, num_threads=1,
        minloglevel=2, hard_vocab_limit=False, **({"vocab_size": 700} | settings),
    )
    target.with_suffix(".vocab").unlink()
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(target.read_bytes())
    if rule:
        table.unlink()
        model.normalizer_spec.normalization_rule_tsv = ""
    if unused:
        for piece in list(model.pieces)[300::unused]:
            if piece.type == piece.NORMAL:
                piece.type = piece.UNUSED
    model.normalizer_spec.escape_whitespaces = escape
    model.trainer_spec.model_prefix = ""
    target.write_bytes(model.SerializeToString())


def texts(count):
    rng = random.Random(12)
    own = ["", " ", "   ", "▁", "▁▁", " ▁", "a" * 200, "é" * 90, "\n" * 40, " " * 33 + "x", "x" + " " * 33, "\x00", "a\x00b"]
    return own + [varied_texts.text(rng, SOME) for _ in range(count)]


def more_texts():
    rng = random.Random(13)
    result = texts(20_000)
    result += [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]
    for _ in range(300):
        result.append("".join(chr(rng.choice([rng.randrange(0x20, 0x3000), rng.randrange(0x3000, 0xD000), rng.randrange(0xE000, 0x110000)])) for _ in range(rng.randrange(1, 60))))
    # Longer than the sums of scores keep their precision, and without a place to cut.
    result.append("".join(varied_texts.text(rng, SOME) for _ in range(3000)))
    result.append("".join(rng.choice(varied_texts.WORDS) for _ in range(20_000)))
    root = pathlib.Path(__file__).parents[2]
    for path in sorted(p for ending in ("md", "rs", "py", "json") for p in root.glob(f"[!.t]*/**/*.{ending}")):
        if "target" not in path.parts and path.stat().st_size < 1 << 20:
            result += path.read_text(encoding="utf-8").split("\n")
    for sentence in json.loads((root / "tests/data/minilm/sentences.json").read_text()):
        result.append(sentence["text"] if isinstance(sentence, dict) else sentence)
    return result


def streams(model, count):
    rng = random.Random(14)
    size = model.get_piece_size()
    fallback = [i for i in range(size) if model.is_byte(i)]
    special = [i for i in range(size) if model.is_control(i) or model.is_unknown(i)]
    spaces = [i for i in range(size) if not set(model.id_to_piece(i)) - {"▁"}]
    pick = lambda: rng.choice(rng.choice([kind for kind in (range(size), fallback, special, spaces) if kind]))
    ids = [[pick() for _ in range(rng.randrange(1, 12))] for _ in range(count)]
    return [[i, model.decode(i)] for i in ids]


def expected(path, wanted):
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    ids = model.encode(wanted)
    return {
        "ids": ids,
        "decoded": [model.decode(i) if i else "" for i in ids],
        "special": [model.unk_id(), model.bos_id(), model.eos_id(), model.pad_id()],
        "streams": streams(model, 300),
    }


def write(folder, models, wanted):
    for name, settings in models.items():
        train(folder / f"{name}.model", settings)
    dump = lambda path, value: path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")
    dump(folder / "texts.json", wanted)
    for path in folder.glob("*.model"):
        dump(path.with_suffix(".json"), expected(path, wanted))


if __name__ == "__main__":
    if sys.argv[1] == "--all":
        target = pathlib.Path(sys.argv[2])
        target.mkdir(exist_ok=True)
        for source in sys.argv[3:]:
            shutil.copy(source, target / (pathlib.Path(source).name.replace(".model", "") + ".model"))
        write(target, SMALL | WHOLE, more_texts())
    else:
        target = pathlib.Path(sys.argv[1])
        target.mkdir(exist_ok=True)
        write(target, SMALL, texts(400))

"""Writes what Hugging Face `tokenizers` makes of texts and of every character.

    pip install tokenizers==0.23.3
    python tests/tools/wordpiece_reference.py

Two files come out, both under tests/data/minilm/:

* wordpiece.jsonl: one text a line, {"text", "ids"}; "normalization" says which if it is not "uncased". The ids
  have the special tokens around them and are not truncated.
* normalization.txt: for each normalization and each block of 4096 code points the CRC-32 of what becomes of their
  probes (see `probe`): all words in UTF-8, each followed by a zero byte. A block without any valid code
  point has the CRC of nothing.

The texts are random, but the same on every run.
"""

import json
import random
import unicodedata
import zlib
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

DATA = Path(__file__).resolve().parent.parent / "data"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NORMALIZATIONS = {
    "uncased": {"lowercase": True, "strip_accents": None},
    "cased": {"lowercase": False, "strip_accents": None},
    "lower_only": {"lowercase": True, "strip_accents": False},
    "strip_only": {"lowercase": False, "strip_accents": True},
}
TOKENS = (DATA / "embd" / "all-MiniLM-L6-v2.vocab").read_text(encoding="utf-8").split("\n")[:-1]
WORDS = [token for token in TOKENS[999:] if not token.startswith("##") and token not in SPECIAL]
PIECES = [token[2:] for token in TOKENS if token.startswith("##")]

# Marks that are kept and take part in canonical ordering, with those that are dropped, and starters among them.
KEPT_MARKS = [0x302E, 0x302F, 0x1D165, 0x1D166, 0x1D16D, 0x1D16E, 0x1D172, 0x1B44, 0x1BAA, 0xA953, 0x11446, 0x8D4]
DROPPED_MARKS = [0x300, 0x301, 0x316, 0x327, 0x334, 0x345, 0x5B0, 0x64B, 0x93C, 0x94D, 0x20D0, 0x3099]
DROPPED_STARTERS = [0x901, 0x902, 0x34F, 0xB56, 0x102D, 0xE31, 0x1B36, 0xFE0F]
SPACES = [9, 10, 13, 32, 0xA0, 0x1680, 0x2000, 0x2003, 0x2009, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
REMOVED = [0, 1, 0xB, 0xC, 0x1C, 0x1F, 0x7F, 0x85, 0xAD, 0x61C, 0x180E, 0x200B, 0x200D, 0x200E, 0x2060, 0xFEFF,
           0xFFF9, 0xFFFD, 0xE000, 0xF8FF, 0xE0001, 0xF0000, 0x10FFFD]


def build(lowercase, strip_accents):
    vocabulary = {token: id for id, token in enumerate(TOKENS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=strip_accents, lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)])
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return tokenizer


def is_character(code):
    return not 0xD800 <= code <= 0xDFFF


def blocks():
    """Ranges of 128 code points that hold assigned characters, with those characters."""
    for start in range(0, 0x30000, 128):
        codes = [c for c in range(start, start + 128) if is_character(c) and unicodedata.category(chr(c)) != "Cn"]
        if codes:
            yield codes


def letters_known():
    """Characters whose decomposition is in the vocabulary, so that not everything is unknown."""
    known = set("".join(TOKENS))
    return [chr(c) for c in range(0x80, 0x30000)
            if is_character(c) and set(unicodedata.normalize("NFD", chr(c)).lower()) & known]


def texts(rng):
    def some(codes, low, high):
        return "".join(chr(rng.choice(codes)) for _ in range(rng.randint(low, high)))

    yield from ["", " ", "\n\t\r\x0b\x0c", "a", ".", "...", "[CLS]", "[", "[[CLS]]", "[cls]", "[ CLS ]", "[MASK", "##a", "a ## b"]
    every = list(blocks())
    # Every script; large ones are sampled.
    for codes in every if len(every) < 700 else rng.sample(every, 700):
        yield some(codes, 3, 12) + rng.choice(["", " ", "a", "."]) + some(codes, 1, 6)
    known = letters_known()
    for _ in range(300):
        yield "".join(rng.choice(known + [" "] * 60) for _ in range(rng.randint(3, 20)))
    for _ in range(150):
        yield "".join(chr(c) for c in (rng.randrange(0x110000) for _ in range(8)) if is_character(c))
    for _ in range(250):
        marks = KEPT_MARKS * 2 + DROPPED_MARKS + DROPPED_STARTERS + REMOVED[:3]
        yield rng.choice("aeé中가x1") + some(marks, 1, 8) + rng.choice(["", "b", " b", "é", "中"]) + some(marks, 0, 3)
    for _ in range(150):
        yield some(SPACES + REMOVED, 1, 3).join(rng.choice(WORDS) for _ in range(rng.randint(2, 5)))
    for _ in range(100):
        parts = SPECIAL + ["[cls]", "[", "]", " ", "a", "é", "foo", "[UN", "K]", "\u0301", "中"]
        yield "".join(rng.choice(parts) for _ in range(rng.randint(1, 8)))
    for _ in range(250):
        # Words that need several pieces, some of them with capitals, accents and typing errors.
        word = rng.choice(WORDS) + "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 4)))
        word = "".join(rng.choice([c, c, c, c, c.upper(), c + "\u0301"]) for c in word)
        yield word + rng.choice(["", "!", "'s", "-", " "]) + rng.choice(WORDS)
    for _ in range(200):
        sentence = " ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 12)))
        yield sentence[:1].upper() + sentence[1:] + rng.choice(".!?")
    for length in [98, 99, 100, 101, 102, 150]:
        for unit in ["a", "é", "e\u0301", "가", "\u1112", "я", "\U0001D165", "a\u200b", "中", "1"]:
            yield (unit * length)[: 2 * length] + " b"
    for _ in range(60):
        people = [0x1F468, 0x1F469, 0x1F467, 0x1F3FD, 0x1F3FF, 0x200D, 0xFE0F, 0x2764, 0x1F1E9, 0x1F1EA, 0x1FAE0]
        yield some(people, 2, 9) + rng.choice(["", " ok"])
    for code in [0xD7FF, 0xE000, 0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFE, 0x10FFFF, 0x2B820, 0x2B920, 0x2CEAF, 0x2CEB0,
                 0x3400, 0x4DBF, 0x4DC0, 0x9FFF, 0xA000, 0xFAFF, 0x2A6DF, 0x2A6E0, 0x130, 0x131, 0x1E9E, 0x3C2, 0x3A3]:
        yield f"a{chr(code)}b {chr(code)}"


def probe(c):
    """A text whose words show whether `c` is removed, splits, changes, and where it stands among marks."""
    return f"A{c}\U0001D16D{c}\u302E{c}\U0001D165B"


def write_texts(tokenizers):
    rng = random.Random(2024)
    with open(DATA / "minilm" / "wordpiece.jsonl", "w", encoding="ascii", newline="\n") as out:
        for index, text in enumerate(texts(rng)):
            names = ["uncased"] if index % 8 else NORMALIZATIONS
            for name in names:
                line = {} if name == "uncased" else {"normalization": name}
                line |= {"text": text, "ids": tokenizers[name].encode(text).ids}
                out.write(json.dumps(line, separators=(",", ":")) + "\n")


def write_characters(tokenizers):
    with open(DATA / "minilm" / "normalization.txt", "w", encoding="ascii", newline="\n") as out:
        for name, tokenizer in tokenizers.items():
            out.write(f"{name}\n")
            for block in range(0, 0x110000, 4096):
                crc = 0
                for code in filter(is_character, range(block, block + 4096)):
                    normalized = tokenizer.normalizer.normalize_str(probe(chr(code)))
                    for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized):
                        crc = zlib.crc32(word.encode() + b"\0", crc)
                out.write(f"{block:06x} {crc:08x}\n")


if __name__ == "__main__":
    all_tokenizers = {name: build(**options) for name, options in NORMALIZATIONS.items()}
    write_texts(all_tokenizers)
    write_characters(all_tokenizers)

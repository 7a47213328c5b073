"""The token ids that all peers are timed on: windows and sentences of a public-domain text."""

import re
from dataclasses import dataclass
from itertools import cycle, islice

from . import places

CLS, SEP = 101, 102
MAX_TOKENS = 256


@dataclass(frozen=True)
class Size:
    """`texts` texts of `tokens` tokens each, special tokens included."""

    texts: int
    tokens: int

    @classmethod
    def parse(cls, text):
        """`128` is one text of 128 tokens, `32x32` is texts × tokens."""
        texts, _, tokens = text.rpartition("x")
        return cls(int(texts or 1), int(tokens))

    def __str__(self):
        return str(self.tokens) if self.texts == 1 else f"{self.texts} × {self.tokens}"


class Inputs:
    """Tokenises the text once."""

    def __init__(self):
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(places.MODEL / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.text = (places.HERE / "text.txt").read_text(encoding="utf-8")
        self.stream = self.tokenizer.encode(self.text, add_special_tokens=False).ids

    def windows(self, size):
        """`size.texts` different stretches of the text, each of exactly `size.tokens` tokens."""
        inner = size.tokens - 2
        step = max(1, len(self.stream) // size.texts)
        around = self.stream + self.stream
        assert inner <= len(self.stream), "the text is too short for this size"
        starts = [(i * step) % len(self.stream) for i in range(size.texts)]
        return [[CLS, *around[start : start + inner], SEP] for start in starts]

    def sentences(self, count):
        """`count` sentences, as uneven as the text has them, from its start, again and again."""
        parts = [part for part in re.split(r"(?<=[.;!?])\s+", self.text) if part.strip()]
        ids = [self.tokenizer.encode(part).ids[:MAX_TOKENS] for part in parts]
        return list(islice(cycle(ids), count))

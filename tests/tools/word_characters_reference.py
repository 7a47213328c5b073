"""Writes which characters Hugging Face `tokenizers` takes for parts of words (`\\w`).

    pip install tokenizers==0.23.3
    python tests/tools/word_characters_reference.py

tests/data/unicode/word_characters.txt gets one range of code points a line, first and last in hexadecimal. The
pre-tokenizer `Whitespace` and added tokens that are `single_word` are both asked about every code point, and agree.
"""

import sys
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

TO = Path(__file__).resolve().parent.parent / "data" / "unicode" / "word_characters.txt"
WHITESPACE = pre_tokenizers.Whitespace()
TOKENIZER = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
TOKENIZER.add_tokens([AddedToken("zq", single_word=True, normalized=False)])


def continues_words(c):
    return WHITESPACE.pre_tokenize_str("a" + c) == [("a" + c, (0, 2))]


def hides_after(c):
    return "zq" not in TOKENIZER.encode(c + "zq").tokens


def hides_before(c):
    return "zq" not in TOKENIZER.encode("zq" + c).tokens


def ranges(holds):
    start = None
    for code in range(sys.maxunicode + 2):
        is_character = code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF
        here = is_character and holds(chr(code))
        if here and start is None:
            start = code
        if not here and start is not None:
            yield f"{start:X} {code - 1:X}\n"
            start = None


def main():
    lines = list(ranges(continues_words))
    assert lines == list(ranges(hides_after)) == list(ranges(hides_before))
    TO.parent.mkdir(exist_ok=True)
    TO.write_text("".join(lines), encoding="utf-8", newline="\n")
    print(f"{TO}: {len(lines)} ranges")


main()

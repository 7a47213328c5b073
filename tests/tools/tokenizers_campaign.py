"""Compares the ids of `nanoembed tokenize` with those of Hugging Face `tokenizers` on random texts of all scripts.

    pip install tokenizers==0.23.3
    cargo build --release
    python tests/tools/tokenizers_campaign.py target/release/nanoembed FOLDER … [--texts 1000000] [--seed 1] [--no-code-points]

Each FOLDER is a model's, or has such folders anywhere in it; of equal `tokenizer.json` one is compared. The texts are random
over the blocks of Unicode, white space, marks, emoji sequences, punctuation, added tokens and pieces of the vocabulary; then comes
every code point (of unassigned planes a sample) by itself, before and after a letter. Where the program does not run a folder's
model, or runs it without special tokens, the tokenizer is compared in a static model made for it, without special tokens. Models
whose own settings change texts (`do_lower_case` of sentence_bert_config.json) differ from their tokenizer and are not for it. Exits
with 1 if any ids differ, after up to ten examples for each tokenizer. A million texts take some minutes for each tokenizer.
"""

import argparse
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

# First and last code points of blocks that texts are made of, a few of each script.
BLOCKS = [
    (0x21, 0x7E), (0x21, 0x7E), (0x41, 0x7A), (0x61, 0x7A), (0xA1, 0xFF), (0x100, 0x24F), (0x250, 0x2FF), (0x300, 0x36F),
    (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x591, 0x5F4), (0x600, 0x6FF), (0x700, 0x77F), (0x780, 0x7FF),
    (0x900, 0x97F), (0x980, 0x9FF), (0xA00, 0xAFF), (0xB00, 0xBFF), (0xC00, 0xDFF), (0xE00, 0xEFF), (0xF00, 0xFFF),
    (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x139F), (0x13A0, 0x167F), (0x1680, 0x18AF),
    (0x1900, 0x1AFF), (0x1B00, 0x1CFF), (0x1D00, 0x1DFF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x2000, 0x206F),
    (0x2070, 0x20CF), (0x20D0, 0x20FF), (0x2100, 0x218F), (0x2190, 0x23FF), (0x2400, 0x27BF), (0x27C0, 0x2BFF),
    (0x2C00, 0x2DFF), (0x2E00, 0x2E7F), (0x2E80, 0x2FFF), (0x3000, 0x303F), (0x3041, 0x30FF), (0x3100, 0x33FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xA4CF), (0xA4D0, 0xA7FF), (0xA800, 0xABFF), (0xAC00, 0xD7A3),
    (0xD7B0, 0xD7FF), (0xE000, 0xF8FF), (0xF900, 0xFAFF), (0xFB00, 0xFDFF), (0xFE00, 0xFE6F), (0xFE70, 0xFEFF),
    (0xFF00, 0xFFFF), (0x10000, 0x107FF), (0x10800, 0x10FFF), (0x11000, 0x11FFF), (0x12000, 0x143FF), (0x16800, 0x18CFF),
    (0x1B000, 0x1B2FF), (0x1BC00, 0x1CFCF), (0x1D000, 0x1D7FF), (0x1E000, 0x1EEFF), (0x1F000, 0x1F8FF), (0x1F900, 0x1FAFF),
    (0x20000, 0x2A6DF), (0x2F800, 0x2FA1F), (0x30000, 0x323AF), (0xE0000, 0xE01EF), (0xF0000, 0x10FFFF), (0, 0x1F), (0x7F, 0x9F),
]  # fmt: skip
SPACES = [" "] * 12 + ["  ", "   ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u3000", "\u200b", "\u200d", "\u2028", "\ufeff", "\u00ad", ""]
SNIPPETS = [
    "don't", "I'LL", "we've", "'s", "'S", "'ſ", "ΣΊΣΥΦΟΣ", "ς", "İstanbul", "Straße", "STRASSE", "ﬁnance", "naïve", "cafe\u0301",
    "e\u0301\u0327", "\u1112\u1161\u11ab", "か\u3099", "שָׁלוֹם", "क्षत्रिय", "ไทย", "ﷺ", "½", "①", "x²", "10,000.5", "٣٤", "👨‍👩‍👧‍👦",
    "🏳️‍🌈", "🇩🇪🇫🇷", "👍🏽", "#️⃣", "http://a.b/c?d=e#f", "foo_bar", "HTTPServer2", "fn(x)->y;", "``", "''", "▁", "Ġ", "##ing", "<0x0A>",
    "a/b\n\n c", "...", "…", "--", "—", "«»", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<mask>", "<unk>", "<|endoftext|>",
]  # fmt: skip


def character(rng):
    first, last = rng.choice(BLOCKS)
    code = rng.randint(first, last)
    return chr(code) if not 0xD800 <= code <= 0xDFFF else "x"


def word(rng, pieces):
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(SNIPPETS)
    if kind < 0.5:
        return rng.choice(pieces)
    if kind < 0.9:
        first, last = rng.choice(BLOCKS)
        codes = [rng.randint(first, last) for _ in range(rng.randint(1, 7))]
        return "".join(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF)
    return "".join(character(rng) for _ in range(rng.randint(1, 5)))


def random_texts(rng, pieces, count):
    for _ in range(count):
        yield "".join(word(rng, pieces) + rng.choice(SPACES) for _ in range(rng.randint(1, 7)))


def code_points():
    for code in range(0x110000):
        is_sampled = code < 0x40000 or 0xE0000 <= code < 0xE0200 or code % 0x1000 < 2
        if is_sampled and not 0xD800 <= code <= 0xDFFF:
            yield from (chr(code), chr(code) + "a", "a" + chr(code))


def folders(paths):
    seen = set()
    for path in paths:
        for file in sorted(path.rglob("tokenizer.json")):
            text = file.read_bytes()
            if text not in seen:
                seen.add(text)
                yield file.parent


def ids_of(program, folder, texts):
    command = [program, "tokenize", "-m", folder, "--format", "jsonl", "-i", "jsonl", "--max-tokens", "0"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[0]
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()]


def batches(texts, size):
    batch = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def is_run(program, folder):
    """Whether the program has the ids of this folder's model with special tokens."""
    config = folder / "config.json"
    kind = json.loads(config.read_text()).get("model_type") if config.exists() else None
    return kind not in (None, "model2vec") and not isinstance(ids_of(program, folder, ["a"]), str)


def static_model(folder, tokenizer, into):
    """A static model with the tokenizer of `folder` and a table of zeros."""
    shutil.copy(folder / "tokenizer.json", into)
    kind = "sentence_transformers.models.StaticEmbedding"
    (into / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    rows = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    table = {"dtype": "F32", "shape": [rows, 1], "data_offsets": [0, 4 * rows]}
    header = json.dumps({"embedding.weight": table}).encode()
    (into / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 * rows))
    return into


def compare(asked, folder, scratch):
    """How many texts were compared, and how many differ; prints some of these."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    has_special = is_run(asked.program, folder)
    model = folder if has_special else static_model(folder, tokenizer, scratch)
    rng = random.Random(asked.seed)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    pieces = [piece.replace("##", "").replace("▁", " ").replace("Ġ", " ") for piece in tokenizer.get_vocab()]
    pieces = sorted(pieces) + sorted(added) * max(1, len(pieces) // (8 * len(added) + 1))
    sources = [random_texts(rng, pieces, asked.texts)] + [code_points()] * asked.code_points
    compared = differing = 0
    for source in sources:
        for batch in batches(source, 50_000):
            found = ids_of(asked.program, model, batch)
            if isinstance(found, str):
                print(f"{folder}: {found}")
                return compared, differing
            wanted = [it.ids for it in tokenizer.encode_batch_fast(batch, add_special_tokens=has_special)]
            assert len(found) == len(wanted), "a line for each text"
            for text, ours, theirs in zip(batch, found, wanted):
                compared += 1
                if ours != theirs:
                    differing += 1
                    if differing <= 10:
                        print(f"{folder}: {ascii(text)}\n  ours   {ours}\n  theirs {theirs}")
    return compared, differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code-points", action=argparse.BooleanOptionalAction, default=True)
    asked = parser.parse_args()
    failed = 0
    for folder in folders(asked.folders):
        with tempfile.TemporaryDirectory() as scratch:
            compared, differing = compare(asked, folder, pathlib.Path(scratch))
        failed += differing > 0
        print(f"{folder}: {compared} texts, {differing} differ", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

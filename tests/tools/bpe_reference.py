"""Trains small byte-level BPE tokenizers with Hugging Face `tokenizers` and writes what they make of texts.

    pip install tokenizers==0.23.3
    python tests/tools/bpe_reference.py tests/data/bpe
    python tests/tools/bpe_reference.py --gguf SmolLM2-135M-Instruct.Q4_1.gguf smollm2.json

For each pattern (gpt-2, smollm, llama-bpe) comes `NAME.json`: {"tokens", "merges", "added", "texts": [{"text", "ids",
"decoded"}]}. The texts are random over scripts, spaces, digits, contractions and code, but the same on every run.

With `--gguf` (`pip install gguf==0.19.0`) the tokenizer is that of a GGUF file whose pattern is smollm: its tokens, its
merges, its control tokens. NANOEMBED_SMOLLM2_TOKENS names the result for `tests/tests/bpe_reference.rs`.
"""

import json
import pathlib
import random
import sys

import varied_texts
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
PATTERNS = {
    "gpt-2": BYTE_LEVEL,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTE_LEVEL]),
    "llama-bpe": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
}
ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_"]


def text(rng):
    return varied_texts.text(rng, ADDED + ["<|im", "|>", "<|endoftext"])


def texts(rng):
    return [text(rng) for _ in range(1200)] + ["", " ", "a" * 300, "é" * 90, "\n" * 40, " " * 33 + "x"]


def write(path, tokenizer, wanted):
    model = json.loads(tokenizer.to_str())
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    encoded = [tokenizer.encode(t).ids for t in wanted]
    result = {
        "tokens": sorted(vocabulary, key=vocabulary.get),
        "merges": model["model"]["merges"],
        "added": [[a["content"], a["id"]] for a in model["added_tokens"]],
        "texts": [
            {"text": t, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)}
            for t, ids in zip(wanted, encoded)
        ],
    }
    path.write_text(json.dumps(result, ensure_ascii=True) + "\n")


def complete(tokenizer, pattern, added):
    tokenizer.pre_tokenizer = pattern
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in added])


def trained(folder):
    folder.mkdir(exist_ok=True)
    for name, pattern in PATTERNS.items():
        rng = random.Random(11)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pattern
        trainer = trainers.BpeTrainer(
            vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
        tokenizer.train_from_iterator((text(rng) for _ in range(3000)), trainer)
        complete(tokenizer, pattern, ADDED)
        write(folder / f"{name}.json", tokenizer, texts(rng))


def of_gguf(source, target):
    import gguf

    fields = gguf.GGUFReader(source).fields
    of = lambda key: fields[f"tokenizer.ggml.{key}"].contents()
    assert (of("model"), of("pre")) == ("gpt2", "smollm")
    tokens = of("tokens")
    merges = [tuple(merge.split(" ")) for merge in of("merges")]
    tokenizer = Tokenizer(models.BPE(vocab={token: id for id, token in enumerate(tokens)}, merges=merges))
    control = [token for token, kind in zip(tokens, of("token_type")) if kind == gguf.TokenType.CONTROL]
    complete(tokenizer, PATTERNS["smollm"], control)
    write(target, tokenizer, texts(random.Random(11)))


if __name__ == "__main__":
    if sys.argv[1] == "--gguf":
        of_gguf(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        trained(pathlib.Path(sys.argv[1]))

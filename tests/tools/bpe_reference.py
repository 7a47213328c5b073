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

WORDS = (
    "the of and to in is that it was for on are with as his they be at one have this from by hot but some what there we "
    "can out other were all your when up use word how said an each she which do their time if will way about many then "
    "them would write like so these her long make thing see him two has look more day could go come did my sound no most "
    "number who over know water than call first people may down side been now find any new work part take get place made "
    "live where after back little only round man year came show every good me give our under name very through just form "
    "sentence great think say help low line differ turn cause much mean before move right boy old too same tell does set "
    "three want air well also play small end put home read hand port large spell add even land here must big high such"
).split()
SCRIPTS = [
    "éèêëàâäöüßñçøåæœ", "αβγδεζηθικλμνξοπρστυφχψω", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي", "अआइईउऊएऐओऔकखगघङचछजझ", "กขฃคฅฆงจฉชซฌญฎ", "的一是不了人我在有他这中大来上国",
    "あいうえおかきくけこアイウエオ", "가나다라마바사아자차카타파하", "😀😁🚀❤️👍🏽🇩🇪👨‍👩‍👧", "０１２३४५٤٥٦²³¼½Ⅷ①㈠",
    "\u00a0\u2003\u3000\u200b\u0085\u2028\ufeff", "\u0301\u0308\u20dd\u0940", "𝒜𝓑𝔠𝕕𐌰𐍈𒀀𓀀", "ſKÅµªº",
]
CODE = ["def f(x):\n\treturn x + 1\n", "for (int i = 0; i < 10; ++i) {\r\n}\r\n", "<a href=\"x\">y</a>", "#!/bin/sh\n\n\n", "a==b!=c"]


def text(rng):
    parts = []
    for _ in range(rng.randrange(1, 14)):
        kind = rng.randrange(10)
        if kind < 4:
            parts.append(rng.choice(WORDS))
        elif kind == 4:
            parts.append(rng.choice(WORDS).capitalize() + rng.choice(["'s", "'LL", "'t", "'re", "'VE", "'d", "'m", "'ſ", "'x"]))
        elif kind == 5:
            script = rng.choice(SCRIPTS)
            parts.append("".join(rng.choice(script) for _ in range(rng.randrange(1, 7))))
        elif kind == 6:
            parts.append(str(rng.randrange(10 ** rng.randrange(1, 9))))
        elif kind == 7:
            parts.append(rng.choice([".", ",", "!?", "...", "--", "(", ")", "\"", "$%", "\n", "\r\n", "\t"]))
        elif kind == 8:
            parts.append(rng.choice(ADDED + ["<|im", "|>", "<|endoftext"]))
        else:
            parts.append(rng.choice(CODE))
        parts.append(rng.choice(["", " ", " ", " ", "  ", "   ", "\n", " \n", "\n\n  ", "\t", "\u00a0"]))
    return "".join(parts)


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

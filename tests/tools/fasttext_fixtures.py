"""Makes tests/data/words: small models of fastText and floret on real English text, with vectors by their own programs.

    pip install fasttext-wheel==0.9.2 floret==0.10.5 "numpy<2"
    python3 tests/tools/fasttext_fixtures.py

The text is LICENSE-APACHE. fastText trains with one thread, so that the same version gives the same model.
"""

import json
import re
from pathlib import Path

import fasttext
import floret
import numpy

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "words"
LICENCE = (HERE.parent.parent / "LICENSE-APACHE").read_text()
# In the vocabulary or not, short and long, of other scripts, with combining marks, empty.
ASKED = [
    "the", "Work", "License", "</s>", "licensed", "unlicensable", "Works", "contributory", "a", "x", "of",
    "straße", "日本語", "😀", "e\u0301te\u0301", "<", ">", "<the>", "a-b-c", "antidisestablishmentarianism",
]


def text_lines():
    """A sentence a line, words and marks apart."""
    words = re.findall(r"\w+|[^\w\s]", LICENCE)
    lines, line = [], []
    for word in words:
        line.append(word)
        if word in ".;:":
            lines.append(" ".join(line))
            line = []
    return lines


def vectors(model, words):
    return {word: [float(x) for x in model.get_word_vector(word)] for word in words}


def main():
    DATA.mkdir(exist_ok=True)
    work = DATA / "text.tmp"
    work.write_text("\n".join(text_lines()) + "\n")
    expected = {}

    common = {"thread": 1, "verbose": 0, "minCount": 3, "dim": 10, "epoch": 5, "lr": 0.02}
    model = fasttext.train_unsupervised(str(work), minn=3, maxn=5, bucket=300, **common)
    model.save_model(str(DATA / "licence.bin"))
    expected["licence.bin"] = vectors(model, ASKED)

    # Two classifiers: one without subwords, one quantised with norms, most buckets dropped; ten columns are not a multiple of three.
    labelled = "\n".join(
        f"__label__{'short' if len(line) < 80 else 'long'} {line}" for line in text_lines()
    )
    work.write_text(labelled + "\n")
    model = fasttext.train_supervised(str(work), **common)
    model.save_model(str(DATA / "no_subwords.bin"))
    expected["no_subwords.bin"] = vectors(model, ["the", "Work", "License", "</s>"])
    model = fasttext.train_supervised(
        str(work), minn=2, maxn=4, bucket=500, **{**common, "minCount": 1, "lr": 0.2}
    )
    model.quantize(input=str(work), qnorm=True, retrain=False, cutoff=300, dsub=3)
    model.save_model(str(DATA / "labels.ftz"))
    expected["labels.ftz"] = vectors(model, ASKED)

    work.write_text("\n".join(text_lines()) + "\n")
    model = floret.train_unsupervised(
        str(work), mode="floret", hashCount=2, minn=2, maxn=4, bucket=50, **common
    )
    model.save_floret_vectors(str(DATA / "licence.floret"))
    # Without the word "</s>": that it has no n-grams is not written to the file.
    expected["licence.floret"] = vectors(model, [word for word in ASKED if word != "</s>"])

    work.unlink()
    text = json.dumps(expected, ensure_ascii=False, indent=0)
    (DATA / "expected.json").write_text(re.sub(r",\n(?=-?[\d.])", ", ", text) + "\n")


if __name__ == "__main__":
    numpy.seterr(all="raise")
    main()

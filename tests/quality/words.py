#!/usr/bin/env python3
"""Measures how well similarities of words agree with people's judgements: Spearman's correlation.

WordSim-353 (CC BY 4.0) and SimLex-999 (no licence stated), both in the test data of PyPI's `gensim`.
"""

import argparse
import json
import math

from gold import packages
from harness.correlation import spearman
from harness.program import Program
from harness.systems import BUILT_IN, systems

FILES = {"WordSim-353": ("wordsim353.tsv", 353), "SimLex-999": ("simlex999.txt", 999)}
"""Files, and the number of pairs in each."""


def pairs(name):
    """Pairs of words with the judgement of each."""
    file, count = FILES[name]
    folder = packages.wheel("gensim").folder / "gensim/test/test_data"
    cells = [line.split("\t") for line in (folder / file).read_text(encoding="utf-8").splitlines()]
    # Comments and a line of heads have no number.
    is_number = lambda cell: cell.replace(".", "", 1).isdecimal()
    found = [(line[0], line[1], float(line[2])) for line in cells if len(line) >= 3 and is_number(line[2])]
    if len(found) != count:
        raise SystemExit(f"{file}: {len(found)} pairs, not {count}: the package has changed")
    return found


def vectors(program, system, words):
    """The vector of each word, normalised."""
    lines = program.run("embed", "-q", "--format", "jsonl", *system.options, given="\n".join(words).encode())
    rows = [json.loads(line)["embedding"] for line in lines.splitlines()]
    return {word: normalised(row) for word, row in zip(words, rows, strict=True)}


def normalised(vector):
    """The vector, of length 1."""
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


def dot(one, other):
    """The inner product."""
    return sum(a * b for a, b in zip(one, other))


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", default=[BUILT_IN], metavar="M", help="as measure.py has them")
    parser.add_argument("--precision", nargs="+", metavar="P", help="as measure.py has them")
    parser.add_argument("--program", default="target/release/nanoembed", metavar="P", help="[%(default)s]")
    given = parser.parse_args()
    program = Program(given.program)
    for model in given.model:
        for system in systems(program, model, given.precision):
            for name in FILES:
                judged = pairs(name)
                of = vectors(program, system, sorted({word for pair in judged for word in pair[:2]}))
                similarities = [dot(of[one], of[other]) for one, other, _ in judged]
                value = spearman(similarities, [judgement for *_, judgement in judged])
                print(f"{system.model}  {system.precision}  {name}  {value:.3f}")


if __name__ == "__main__":
    main()

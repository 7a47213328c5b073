"""Compares models of all families with settings by chance with transformers, sentence-transformers and tokenizers."""

import argparse
import importlib
import pathlib
import sys
import tempfile

import common

COMPARISONS = {"encoders": "encoders", "rankers": "rankers", "decoders": "decoders", "tables": "tables", "tokenizers": "pipelines"}


def main():
    parser = argparse.ArgumentParser(prog="varied", description=__doc__)
    parser.add_argument("what", choices=COMPARISONS)
    parser.add_argument("program", help="the program `nanoembed`")
    parser.add_argument("--count", type=int, default=20, help="rounds, a model of each family each (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the first round (0)")
    parser.add_argument("--families", nargs="+", metavar="NAME", help="these alone")
    parser.add_argument("--keep", type=pathlib.Path, help="the folder for models that differ (a new one)")
    arguments = parser.parse_args()
    arguments.keep = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="varied-"))
    comparison = importlib.import_module(COMPARISONS[arguments.what])
    program = common.Program(arguments.program)
    differs = common.run(comparison.FAMILIES, comparison.case(program), arguments)
    if differs:
        print(f"models that differ: {arguments.keep}")
    sys.exit(differs)


main()

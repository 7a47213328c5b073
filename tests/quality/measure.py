#!/usr/bin/env python3
"""Measures how well `nanoembed search` finds the answers of gold sets: nDCG@10, recall@10 and MRR@10.

Sets are made from packages when they are first needed. Everything that was measured is kept, so a run that was stopped
goes on where it was. README.md tells more.
"""

import argparse
import json
import sys
from pathlib import Path

import gold
from harness.program import Program
from harness.report import as_json, rows, table
from harness.runs import Run
from harness.searches import MODES
from harness.systems import BUILT_IN, MODELS, PRECISIONS, systems


def arguments():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("sets", nargs="*", metavar="SET", help=f"{', '.join(gold.MAKERS)} [all]")
    models = f"{BUILT_IN}, {', '.join(MODELS)}, a file or a folder [{BUILT_IN}]"
    add("--model", nargs="+", default=[BUILT_IN], metavar="M", help=models)
    precisions = f"{', '.join(PRECISIONS)}, with /N for N dimensions, or all [own for {BUILT_IN}, f32 for others]"
    add("--precision", nargs="+", metavar="P", help=precisions)
    modes = f"{', '.join(MODES)} [all; rerank if --rerank]"
    add("--mode", nargs="+", choices=MODES, metavar="MODE", help=modes)
    add("--rerank", type=Path, metavar="MODEL", help="a reranker for the first hundred results")
    splits = "half of the questions: to tune on, or held back [all]"
    add("--split", choices=("all", "given", "held"), default="all", help=splits)
    add("--program", default="target/release/nanoembed", metavar="P", help="[%(default)s]")
    add("--groups", action="store_true", help="nDCG@10 of each group of questions, too")
    add("--json", action="store_true", help="a line of JSON for each row")
    given = parser.parse_args()
    for name in set(given.sets).difference(gold.MAKERS):
        parser.error(f"{name}: no such set; there are {', '.join(gold.MAKERS)}")
    given.mode = given.mode or [mode for mode in MODES if mode != "rerank" or given.rerank]
    if "rerank" in given.mode and not given.rerank:
        parser.error("--mode rerank needs --rerank MODEL")
    if given.rerank and not given.rerank.exists():
        parser.error(f"{given.rerank}: no such model")
    return given


def runs(program, given, gold_set):
    """What is measured of a set. Words alone are the same with all models."""
    modes = list(given.mode)
    for model in given.model:
        for system in systems(program, model, given.precision):
            for mode in modes:
                yield Run(gold_set, system, mode, given.rerank if mode == "rerank" else None)
            modes = [mode for mode in modes if mode != "words"]


def main():
    """Measures and prints."""
    given = arguments()
    program = Program(given.program)
    for name in given.sets or gold.MAKERS:
        gold_set = gold.load(name)
        measured = list(rows(runs(program, given, gold_set), program, given.split))
        if given.json:
            lines = [json.dumps(as_json(row), ensure_ascii=False) for row in measured]
        else:
            count = len(measured[0].values["ndcg10"])
            head = f"{name}: {count} questions, {len(gold_set.passages)} passages"
            lines = [head, *table(measured, given.groups), ""]
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nstopped; what was measured is kept", file=sys.stderr)
        sys.exit(130)

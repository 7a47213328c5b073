#!/usr/bin/env python3
"""How much memory and time `nanoembed generate` takes, with weights mapped and read from the file in pieces, in turns.

    python3 tests/tools/generation_memory.py --memory 24000000 MODEL...

Peak memory is that of the process (the pages of a mapped file that it has touched are part of it); time is what the CPU
spends on a generated token, from the difference of a long and a short text, medians of the rounds. The file is in the page
cache. Both ways must say the same.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "Once upon a time"


def run(program, model, tokens, memory):
    """The ids, the seconds of CPU time and the peak of resident memory in bytes."""
    command = [program, "generate", PROMPT, "--model", model, "--temperature", "0", "--json", "--quiet"]
    command += ["--max-tokens", str(tokens)] + (["--memory", str(memory)] if memory else [])
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return json.loads(output)["ids"], used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def measure(program, model, tokens, memory):
    short, long = run(program, model, 1, memory), run(program, model, tokens, memory)
    return long[0], (long[1] - short[1]) / (len(long[0]) - 1), long[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--memory", type=int, default=24_000_000, help="bytes (default 24 MB)")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "target/release/nanoembed")
    asked = parser.parse_args()
    print("| model | size MB | mapped: ms a token | peak MB | read in pieces: ms a token | peak MB | times slower |")
    print("|---|---|---|---|---|---|---|")
    for model in asked.models:
        runs = {memory: [] for memory in (0, asked.memory)}
        for _ in range(asked.rounds):
            for memory, results in runs.items():
                results.append(measure(asked.program, model, asked.tokens, memory))
        texts = {tuple(ids) for results in runs.values() for ids, _, _ in results}
        if len(texts) != 1:
            sys.exit(f"{model}: not the same tokens")
        cells, seconds = [], []
        for results in runs.values():
            seconds.append(statistics.median(result[1] for result in results))
            peak = max(result[2] for result in results)
            cells.append(f"{seconds[-1] * 1e3:.1f} | {peak / 1e6:.1f}")
        path = Path(model)
        files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
        size = sum(file.stat().st_size for file in files) / 1e6
        print(f"| {path.name} | {size:.1f} | {' | '.join(cells)} | {seconds[1] / seconds[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()

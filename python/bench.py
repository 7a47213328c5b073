#!/usr/bin/env python3
"""How fast the package is, and how much memory it takes: one table, by one command.

    python/bench.py                  what is installed of: nanoembed, fastembed, sentence-transformers
    python/bench.py --texts 2000     so many texts instead of 1,000

Every row is a process of its own, pinned to as many CPUs as it has threads; rows take turns, and the median of several
turns counts. ``--cli PROGRAM`` adds the command line, ``--model FOLDER`` is all-MiniLM-L6-v2 as on Hugging Face for packages
that bring no model.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one"
    " you were all her she there would their we him been has when who will no more if out so up said what its about than"
).split()


def texts(count: int) -> list[str]:
    """Sentences of 5 to 60 words, about 32 tokens in the mean, the same in each process."""
    state, found = 1, []
    for _ in range(count):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        length, words = 5 + state % 56, []
        for _ in range(length):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            words.append(WORDS[state >> 8 & 63 if (state >> 8 & 63) < len(WORDS) else 0])
        found.append(" ".join(words))
    return found


def nanoembed(arguments: argparse.Namespace) -> object:
    import nanoembed

    model = nanoembed.Model(arguments.file, threads=arguments.threads)
    return model.embed


def fastembed(arguments: argparse.Namespace) -> object:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="minilm", pooling=PoolingType.MEAN, normalization=True, dim=384,
        sources=ModelSource(url="file://"), model_file="model.onnx",
    )
    model = TextEmbedding("minilm", specific_model_path=arguments.model, threads=arguments.threads)
    return lambda given: list(model.embed(given))


def sentence_transformers(arguments: argparse.Namespace) -> object:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(arguments.threads)
    model = SentenceTransformer(arguments.model, device="cpu")
    return model.encode


PEERS = {"nanoembed": nanoembed, "fastembed": fastembed, "sentence_transformers": sentence_transformers}


def measure(arguments: argparse.Namespace) -> None:
    """One turn of one peer: a line of JSON."""
    start = time.perf_counter()
    embed = PEERS[arguments.peer](arguments)
    embed(["a first text"])
    first = time.perf_counter() - start
    given = texts(arguments.texts)
    start, before = time.perf_counter(), time.process_time()
    embed(given)
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"first": first, "wall": wall, "cpu": cpu, "peak": peak}))


def measure_program(arguments: argparse.Namespace, threads: int) -> dict[str, float]:
    """One turn of the command line; the time of its start is taken off."""
    options = ["-q", "--threads", str(threads), "--format", "npy", "-o", "/dev/null"]
    if arguments.file:
        options += ["--model", arguments.file]

    def turn(given: list[str]) -> float:
        start = time.perf_counter()
        command = [arguments.cli, "embed", *options]
        subprocess.run(command, input="\n".join(given).encode(), check=True)
        return time.perf_counter() - start

    first = turn(["a first text"])
    wall = turn(texts(arguments.texts)) - first
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"first": first, "wall": wall, "cpu": wall * threads, "peak": peak}


def pinned(threads: int) -> list[str]:
    """A command that keeps another on so many CPUs."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    return ["taskset", "-c", ",".join(map(str, cpus))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cli", help="the program `nanoembed`")
    parser.add_argument("--file", help="a file for nanoembed instead of its own model")
    parser.add_argument("--model", help="a folder as on Hugging Face, with model.onnx for fastembed")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        measure(arguments)
        return
    rows: dict[tuple[str, int], list[dict[str, float]]] = {}
    peers = [peer for peer in PEERS if importlib.util.find_spec(peer)]
    peers = [peer for peer in peers if peer == "nanoembed" or arguments.model]
    for _ in range(arguments.turns):
        for threads in (1, 2):
            for peer in peers:
                command = [*pinned(threads), sys.executable, Path(__file__), *sys.argv[1:]]
                command += ["--peer", peer, "--threads", str(threads)]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                rows.setdefault((peer, threads), []).append(json.loads(done.stdout.splitlines()[-1]))
            if arguments.cli:
                found = measure_program(arguments, threads)
                rows.setdefault(("command line", threads), []).append(found)
    print("| | threads | texts a second | of one core's time | first vector | peak memory |")
    print("|---|---|---|---|---|---|")
    for (peer, threads), turns in rows.items():
        middle = {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
        print(
            f"| {peer} | {threads} | {arguments.texts / middle['wall']:.0f} |"
            f" {arguments.texts / middle['cpu']:.0f} | {middle['first']:.2f} s | {middle['peak']:.0f} MB |"
        )


if __name__ == "__main__":
    main()

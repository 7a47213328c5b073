#!/usr/bin/env python3
"""How fast the package is, and how much memory it takes: one table, by one command.

    pip install 'nanoembed[datafusion,duckdb]' fastembed model2vec sentence-transformers
    python/bench.py --cli PROGRAM --model FOLDER --f32 FILE --static FOLDER

Peers are those that are installed of fastembed, sentence-transformers and model2vec; engines those
of DuckDB and DataFusion. What runs the package's own model must give the same bits, or the command
fails. Every row is a process of its own on as many CPUs as it has threads. Rows take turns; medians
count. On a machine that has other work, ``chrt -f 20`` before the command gives it real-time
priority, for which there is a pause before each process: Linux grants 0.95 of each second.

``--cli`` adds the command line. ``--model`` is all-MiniLM-L6-v2 as on Hugging Face, for peers that
bring no model, with ``model.onnx`` for fastembed; ``--f32`` is the same as a file of ours.
``--static`` is a folder of Model2Vec.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

# numpy's has nothing to do here, but its threads spin for some time after they were made, on CPUs
# that are measured.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# The package that is installed counts, not the one that lies beside this file.
sys.path.pop(0)

PAUSE_SECONDS = 1.0

Embed = Callable[[list[str]], object]

WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or"
    " had an they which one you were all her she there would their we him been has when who will"
).split()


def texts(count: int) -> list[str]:
    """Sentences of 5 to 60 words, about 32 tokens in the mean, the same in each process."""
    state, found = 1, []
    for _ in range(count):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        length, words = 5 + state % 56, []
        for _ in range(length):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            words.append(WORDS[(state >> 8) % len(WORDS)])
        found.append(" ".join(words))
    return found


def of_ours(file: str | None, threads: int) -> Embed:
    import nanoembed

    return nanoembed.Model(file, threads=threads).embed


def ours(arguments: argparse.Namespace) -> Embed:
    return of_ours(None, arguments.threads)


def ours_f32(arguments: argparse.Namespace) -> Embed:
    return of_ours(arguments.f32, arguments.threads)


def ours_static(arguments: argparse.Namespace) -> Embed:
    return of_ours(arguments.static, arguments.threads)


def duckdb(arguments: argparse.Namespace) -> Embed:
    import duckdb
    import pyarrow

    import nanoembed.duckdb

    connection = duckdb.connect(config={"threads": arguments.threads})
    nanoembed.duckdb.register(connection, threads=arguments.threads)

    def embed(given: list[str]) -> object:
        connection.register("texts", pyarrow.table({"text": given}))
        return connection.sql("SELECT embed(text) AS vector FROM texts").to_arrow_table()["vector"]

    return embed


def datafusion(arguments: argparse.Namespace) -> Embed:
    import pyarrow
    from datafusion import SessionConfig, SessionContext

    import nanoembed.datafusion

    # The model's threads are those that work.
    context = SessionContext(SessionConfig().with_target_partitions(1))
    nanoembed.datafusion.register(context, threads=arguments.threads)

    def embed(given: list[str]) -> object:
        context.deregister_table("texts")
        context.from_arrow(pyarrow.table({"text": given}), name="texts")
        return context.sql("SELECT embed(text) AS vector FROM texts").to_arrow_table()["vector"]

    return embed


def model2vec(arguments: argparse.Namespace) -> Embed:
    from model2vec import StaticModel

    return StaticModel.from_pretrained(arguments.static).encode


def fastembed(arguments: argparse.Namespace) -> Embed:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="minilm",
        pooling=PoolingType.MEAN,
        normalization=True,
        dim=384,
        sources=ModelSource(url="file://"),
        model_file="model.onnx",
    )
    model = TextEmbedding("minilm", specific_model_path=arguments.model, threads=arguments.threads)
    return lambda given: list(model.embed(given))


def sentence_transformers(arguments: argparse.Namespace) -> Embed:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(arguments.threads)
    model = SentenceTransformer(arguments.model, device="cpu")
    return model.encode


# What a row is called, how it is opened, the package and the option that it needs.
PEERS: dict[str, tuple[Callable[[argparse.Namespace], Embed], str, str | None]] = {
    "nanoembed, int8": (ours, "nanoembed", None),
    "DuckDB, int8": (duckdb, "duckdb", None),
    "DataFusion, int8": (datafusion, "datafusion", None),
    "nanoembed, f32": (ours_f32, "nanoembed", "f32"),
    "fastembed, f32": (fastembed, "fastembed", "model"),
    "sentence-transformers, f32": (sentence_transformers, "sentence_transformers", "model"),
    "nanoembed, static": (ours_static, "nanoembed", "static"),
    "model2vec, static": (model2vec, "model2vec", "static"),
}


def times(peer: str) -> int:
    """How many times as many texts a row gets: tables of vectors take microseconds for one."""
    return 50 if "static" in peer else 1


def digest(vectors: object) -> str:
    """The same for the same numbers, in an array of numpy or a column of lists."""
    import numpy as np

    if hasattr(vectors, "combine_chunks"):
        vectors = vectors.combine_chunks().flatten()
    return hashlib.sha256(np.ascontiguousarray(vectors, np.float32).tobytes()).hexdigest()


def measure(arguments: argparse.Namespace) -> None:
    """One turn of one peer: a line of JSON."""
    start = time.perf_counter()
    embed = PEERS[arguments.peer][0](arguments)
    embed(["a first text"])
    first = time.perf_counter() - start
    given = texts(arguments.texts * times(arguments.peer))
    start, before = time.perf_counter(), time.process_time()
    vectors = embed(given)
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"first": first, "wall": wall, "cpu": cpu, "peak": peak, "digest": digest(vectors)}
    print(json.dumps(found))


def measure_program(arguments: argparse.Namespace, threads: int) -> dict[str, Any]:
    """One turn of the command line; what it takes for one text is taken off."""
    import numpy

    file = tempfile.NamedTemporaryFile(suffix=".npy")
    options = ["-q", "--threads", str(threads), "--format", "npy", "-o", file.name]

    def turn(given: list[str]) -> tuple[float, float, float]:
        start = time.perf_counter()
        command = [*pinned(threads), arguments.cli, "embed", *options]
        program = subprocess.Popen(command, stdin=subprocess.PIPE)
        assert program.stdin
        program.stdin.write("\n".join(given).encode())
        program.stdin.close()
        _, status, used = os.wait4(program.pid, 0)
        assert status == 0
        wall = time.perf_counter() - start
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

    first, first_cpu, _ = turn(["a first text"])
    wall, cpu, peak = turn(texts(arguments.texts))
    wall, cpu = wall - first, cpu - first_cpu
    vectors = digest(numpy.load(file.name))
    return {"first": first, "wall": wall, "cpu": cpu, "peak": peak, "digest": vectors}


def pinned(threads: int) -> list[str]:
    """A command that keeps another on so many CPUs."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    return ["taskset", "-c", ",".join(map(str, cpus))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--cli", help="the program `nanoembed`")
    parser.add_argument("--model", help="a folder as on Hugging Face, for fastembed with model.onnx")
    parser.add_argument("--f32", help="the same as a file of ours")
    parser.add_argument("--static", help="a folder of Model2Vec")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        measure(arguments)
        return
    rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
    peers = [
        peer
        for peer, (_, package, option) in PEERS.items()
        if importlib.util.find_spec(package) and (option is None or getattr(arguments, option))
    ]
    for _ in range(arguments.turns):
        for threads in (1, 2):
            for peer in peers:
                time.sleep(PAUSE_SECONDS)
                command = [*pinned(threads), sys.executable, __file__, *sys.argv[1:]]
                command += ["--peer", peer, "--threads", str(threads)]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                rows.setdefault((peer, threads), []).append(found)
            if arguments.cli:
                time.sleep(PAUSE_SECONDS)
                found = measure_program(arguments, threads)
                rows.setdefault(("command line, int8", threads), []).append(found)
    print("| | threads | texts a second | a second of CPU | first vector | peak memory |")
    print("|---|---|---|---|---|---|")
    for (peer, threads), turns in rows.items():
        numbers = [name for name in turns[0] if name != "digest"]
        middle = {name: statistics.median(turn[name] for turn in turns) for name in numbers}
        count = arguments.texts * times(peer)
        rate, by_cpu = count / middle["wall"], count / middle["cpu"]
        first, peak = middle["first"], middle["peak"]
        print(f"| {peer} | {threads} | {rate:.0f} | {by_cpu:.0f} | {first:.2f} s | {peak:.0f} MB |")
    same = {key: turns for key, turns in rows.items() if key[0].endswith(", int8")}
    arrays = {turn["digest"] for turns in same.values() for turn in turns}
    names = "; ".join(dict.fromkeys(peer for peer, _ in same))
    print(f"\nDifferent arrays of vectors of {names}: {len(arrays)}")
    sys.exit(len(arrays) > 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures what a million texts cost on one core, and the bytes of a row, for docs/scale.md.

    cargo build --release
    tests/tools/scale.py target/release/nanoembed LICENSE-APACHE          # time and memory, into `.npy`
    tests/tools/scale.py target/release/nanoembed LICENSE-APACHE parquet  # and sizes, with `--features parquet`

Texts are rows of words from a file, so many that a run takes some seconds. Each run is done three times; the median
counts. The time of a run over one text, which is start-up, is taken off.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM, SOURCE = sys.argv[1], Path(sys.argv[2])
ENDING = sys.argv[3] if len(sys.argv) > 3 else "npy"
WORDS = SOURCE.read_text().split()
LENGTHS = {6: 6000, 24: 3000, 90: 1000}


def texts(path, words, count):
    rng = random.Random(words)
    with open(path, "w") as file:
        for _ in range(count):
            at = rng.randrange(len(WORDS) - words)
            print(*WORDS[at : at + words], file=file)


def run(threads, source, target, *more):
    command = [PROGRAM, "embed", "-q", "--threads", str(threads), "-f", source, "-o", target, *more]
    start = time.monotonic()
    child = subprocess.Popen(list(map(str, command)))
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def median(*arguments):
    return tuple(statistics.median(column) for column in zip(*(run(*arguments) for _ in range(3))))


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        one, target = folder / "one.txt", folder / f"out.{ENDING}"
        texts(one, 6, 1)
        startup = median(1, one, target)[0]
        print(f"start-up {startup * 1000:.0f} ms")
        print("words, threads: texts/s, hours of a million, CPU s per s, MB")
        for words, count in LENGTHS.items():
            source = folder / f"{words}.txt"
            texts(source, words, count)
            for threads in [1, 2] if words == 24 else [1]:
                wall, cpu, memory = median(threads, source, target)
                rate = count / (wall - startup)
                print(f"{words:3} {threads}: {rate:7.0f} {1e6 / rate / 3600:6.2f} {cpu / wall:5.2f} {memory:5.0f}")
        if ENDING != "parquet":
            return
        print("bytes of a row beside its text")
        lines = folder / "24.txt"
        sizes = {}
        for dtype in ["f32", "f16", "int8", "binary"]:
            run(2, lines, target, "--dtype", dtype)
            sizes[dtype] = target.stat().st_size
        run(2, lines, target, "--dtype", "binary", "--truncate-dim", "8")
        rest = target.stat().st_size
        for dtype, size in sizes.items():
            print(f"{dtype:7} {(size - rest) / LENGTHS[24]:8.1f}")


main()

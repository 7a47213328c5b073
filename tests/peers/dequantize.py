"""Dequantising ggml's types, single-threaded, in one run: nanoembed, candle, and ggml's own code (package `libgguf`).

    python3 tests/peers/dequantize.py [--worker PROGRAM] [--rounds N] [--elements N] [--types NAME …]

prints a table of GB/s of f32 written (median over all timed runs of all rounds) and the ratios round by round, and how fast
ordinary stores, and stores past the caches, write as much in the same rounds. The worker is
built by `cargo build --release -p peer-dequantize` in `tests/peers/rust`; `libgguf` is a wheel for Python 3.11 and later
(`pip install libgguf numpy`). Without one of them the other peers are compared; a peer that does not have a type leaves its
cell empty. MXFP4 lies in blocks in ggml and in two arrays in UQFF, which is what nanoembed reads. 65,536 elements (256 KB)
stay in the L2 cache; with `--elements 33554432` the result goes to memory.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).parent
TYPES = ["f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q8_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "mxfp4"]
GGML = {"q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10, "q3_k": 11, "q4_k": 12, "q5_k": 13, "q6_k": 14, "mxfp4": 39}


class Worker:
    """The Rust peers, in a process of their own."""

    def __init__(self, program, peer):
        self.peer = peer
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def turn(self, name, elements, nanoseconds):
        command = {"peer": self.peer, "type": name, "elements": elements, "nanoseconds": nanoseconds}
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "failed" in answer:
            raise RuntimeError(f"{self.peer}, {name}: {answer['failed']}")
        return answer["nanoseconds"]


class Ggml:
    """ggml's own code, called through its Python binding into memory that is there."""

    def __init__(self):
        import libgguf
        import numpy

        self.libgguf, self.numpy = libgguf, numpy

    def turn(self, name, elements, nanoseconds):
        if name not in GGML:
            return None
        number, numpy = GGML[name], self.numpy
        values = (numpy.sin(numpy.arange(elements) * 0.37) * 0.05).astype(numpy.float32)
        blocks = self.libgguf.quantize_rows_raw(number, values, 1, elements)
        out = numpy.empty(elements, numpy.float32)
        run = self.libgguf._libgguf.dequantize_rows_into_raw
        warm = time.perf_counter_ns()
        while time.perf_counter_ns() - warm < nanoseconds / 4:
            run(number, blocks, out, 1, elements)
        times, started = [], time.perf_counter_ns()
        while (now := time.perf_counter_ns()) - started < nanoseconds:
            run(number, blocks, out, 1, elements)
            times.append(time.perf_counter_ns() - now)
        return times


def peers(program):
    found = {}
    for peer in ["nanoembed", "candle"]:
        try:
            found[peer] = Worker(program, peer)
        except OSError as error:
            print(f"skipped {peer}: {error}")
    try:
        found["ggml"] = Ggml()
    except ImportError as error:
        print(f"skipped ggml: {error}")
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--worker", default=HERE / "rust/target/release/peer-dequantize")
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--elements", type=int, default=65536)
    arguments.add_argument("--milliseconds", type=int, default=20)
    arguments.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    options = arguments.parse_args()
    all_peers = peers(str(options.worker))
    if "nanoembed" in all_peers:
        all_peers |= {peer: Worker(str(options.worker), peer) for peer in ["stores", "streams"]}
    print(f"GB/s of f32 written, {options.elements} elements, {options.rounds} rounds, one thread")
    print("| type | " + " | ".join(all_peers) + " | against " + " | against ".join(list(all_peers)[1:]) + " |")
    for name in options.types:
        medians = {peer: [] for peer in all_peers}
        for _ in range(options.rounds):
            for peer in random.sample(list(all_peers), len(all_peers)):
                times = all_peers[peer].turn(name, options.elements, options.milliseconds * 1_000_000)
                if times:
                    medians[peer].append(statistics.median(times))
        cells = [f"{options.elements * 4 / statistics.median(ns):.1f}" if ns else "" for ns in medians.values()]
        own = medians["nanoembed"]
        for other in list(all_peers)[1:]:
            ratios = [theirs / ours for ours, theirs in zip(own, medians[other])]
            cells.append(f"{statistics.median(ratios):.2f}" if ratios else "")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

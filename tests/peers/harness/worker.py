"""A peer's process: one command in, one answer out, each a line of JSON (see README.md)."""

import json
import os
import select
import subprocess
import time

from . import places

DEFAULT_TIMEOUT_S = 120


class PeerFailed(Exception):
    """The peer said so, died, or did not answer in time."""


class Worker:
    """A started peer. Use as a context: leaving ends the process."""

    def __init__(self, peer, threads):
        self.peer, self.threads, self.pending = peer, threads, b""
        places.CACHE.joinpath("logs").mkdir(parents=True, exist_ok=True)
        self.log_path = places.CACHE / "logs" / f"{peer.name}.log"
        count = str(threads)
        environment = {**os.environ, "OMP_NUM_THREADS": count, "RAYON_NUM_THREADS": count}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [str(part) for part in peer.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=places.HERE,
                env=environment,
            )
        self.read_answer("started", DEFAULT_TIMEOUT_S)
        self.started_private_bytes = self.status("RssAnon")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the process."""
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()

    def open(self):
        """Opens the peer's model; `{"wall_ns", "cpu_ns"}`."""
        command = {"open": {"path": str(self.peer.model), "threads": self.threads}}
        return self.ask(command, "opened")

    def run(self, texts, warm=0, runs=1, vectors=False):
        """Embeds `warm + runs` times; `{"wall_ns": […], "cpu_ns": […], "vectors": […] or None}` of the `runs`."""
        command = {"run": {"texts": texts, "warm": warm, "runs": runs, "vectors": vectors}}
        answer = self.ask(command, "ran")
        if len(answer["wall_ns"]) != runs or len(answer["cpu_ns"]) != runs:
            raise PeerFailed(f"{runs} runs were asked for, {len(answer['wall_ns'])} answered")
        return answer

    def ask(self, command, expected, timeout=DEFAULT_TIMEOUT_S):
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise PeerFailed(f"does not listen: {error}; {self.last_words()}") from error
        return self.read_answer(expected, timeout)

    def read_answer(self, expected, timeout):
        deadline = time.monotonic() + timeout
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.process.kill()
                raise PeerFailed(f"no answer within {timeout} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise PeerFailed(f"ended with status {self.process.wait()}; {self.last_words()}")
            self.pending += piece
        line, _, self.pending = self.pending.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise PeerFailed(f"answered {line[:80]!r}") from error
        if "failed" in answer:
            raise PeerFailed(answer["failed"]["reason"])
        if expected not in answer:
            raise PeerFailed(f"answered {sorted(answer)} where {expected} was expected")
        return answer[expected]

    def last_words(self):
        """The end of what the process wrote to stderr."""
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-2:]) or "nothing on stderr"

    def peak_bytes(self):
        """The most memory that the process held since its start, mapped files included."""
        return self.status("VmHWM")

    def private_bytes_of(self, run):
        """The most of the process's own memory that it held during `run()`, beyond what the bare runtime had.

        Pages of mapped files do not count, so `run` must have been done before: none of them is yet to come.
        """
        # "Writing 5 to this file resets the peak resident set size" (proc(5)).
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        run()
        return self.peak_bytes() - self.status("RssFile") - self.status("RssShmem") - self.started_private_bytes

    def status(self, key):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * 1024
        raise PeerFailed(f"no {key}")

"""Progress on stderr."""

import sys
import time


class Progress:
    """Says what is measured: on a terminal with a count, and how long it took at the end."""

    def __init__(self, label, total):
        self.label, self.total, self.done = label, total, 0

    def __enter__(self):
        self.start = self.shown = time.monotonic()
        return self

    def step(self):
        """One more is done."""
        self.done += 1
        now = time.monotonic()
        if sys.stderr.isatty() and now - self.shown > 0.5:
            self.shown = now
            print(f"\r{self.label}: {self.done} of {self.total} questions", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_):
        begin = "\r" if sys.stderr.isatty() else ""
        seconds = time.monotonic() - self.start
        line = f"{begin}{self.label}: {self.done} of {self.total} questions, {seconds:.0f} s"
        print(line, file=sys.stderr, flush=True)

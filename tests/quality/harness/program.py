"""The program that is measured."""

import hashlib
import os
import shutil
import subprocess
from functools import cached_property
from pathlib import Path

from gold.places import CACHE


class Program:
    """`nanoembed`, with indices in a folder of its own and without the user's choice of a model."""

    def __init__(self, path):
        found = shutil.which(path)
        if found is None:
            remedy = "cargo build --release -p nanoembed-cli makes one; --program names another"
            raise SystemExit(f"{path}: no such program ({remedy})")
        self.path = str(Path(found).resolve())
        self.environment = {name: value for name, value in os.environ.items() if name != "NANOEMBED_MODEL"}
        self.environment["NANOEMBED_CACHE"] = str(CACHE / "indices")

    @cached_property
    def digest(self):
        """SHA-256 of its file."""
        return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()

    def run(self, *arguments, given=b"", allowed=(0,)):
        """Its output. What it says on stderr, such as progress, is for the user."""
        command = [self.path, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, input=given, stdout=subprocess.PIPE)
        if done.returncode not in allowed:
            raise SystemExit(f"nanoembed {arguments[0]} failed with exit status {done.returncode}")
        return done.stdout

    def start(self, *arguments):
        """A process that is asked over stdin and stdout."""
        command = [self.path, *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

"""What the tests share: models, texts, and the command line as the reference."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanoembed

ROOT = Path(os.environ.get("NANOEMBED_ROOT") or Path(__file__).parents[2]).resolve()
MODELS = ROOT / "tests/data/models"
SMALL_F32 = MODELS / "bert_cased_st6"
PROMPTED = ROOT / "ffi/tests/data/default_prompt.weights"
RERANKER = MODELS / "xlmr_reranker"
HEADS = ROOT / "tests/data/heads"
ROUTED = ROOT / "tests/data/cases/router-module"
TABLE = ROOT / "ffi/tests/data/small_table.weights"
DECODER = ROOT / "tests/data/llama/tiny.gguf"
WORDS = ROOT / "ffi/tests/data/words.fifu"

TEXTS = [
    "How do I reset my password?",
    "",
    "Click on the link to choose a new password.",
    "Füße, naïve café — Привет, мир! 你好，世界 🙂",
    "a b c d e f g h i j k l m n o p",
    "The weather is lovely today. " * 80,
    "  spaces\tand tabs  ",
    "x" * 5000,
]


@pytest.fixture(scope="session")
def model() -> nanoembed.Model:
    return nanoembed.Model(threads=2)


@pytest.fixture(scope="session")
def expected(model: nanoembed.Model) -> np.ndarray[Any, Any]:
    """The vectors of TEXTS by the command line."""
    return by_program(TEXTS)


def by_program(texts: list[str], *options: str) -> np.ndarray[Any, Any]:
    """The vectors of texts by the program."""
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    output = program("embed", "-q", "-i", "jsonl", "--format", "npy", *options, given=lines)
    found: np.ndarray[Any, Any] = np.load(io.BytesIO(output))
    return found


def program(*arguments: object, given: str = "", status: int = 0) -> bytes:
    """What the program `nanoembed`, whose place NANOEMBED_CLI tells, writes to stdout."""
    place = os.environ.get("NANOEMBED_CLI")
    if place is None:
        pytest.skip("NANOEMBED_CLI names no program to compare with")
    command = [place, *map(str, arguments)]
    done = subprocess.run(command, input=given.encode(), capture_output=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def installed(package: str) -> pytest.MarkDecorator:
    """Marks a test that needs a package; what is left out is listed by pytest."""
    is_there = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not is_there, reason=f"{package} is not installed")

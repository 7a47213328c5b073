"""Threads, processes and signals around a model."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import DECODER, PROMPTED, TEXTS, WORDS, program

import nanoembed


def test_other_threads_run_while_texts_are_embedded(model):
    """With the interpreter's lock held, this thread would not see the other one at work."""
    begun = threading.Event()
    worker = threading.Thread(
        target=lambda: model.embed(TEXTS * 100, progress=lambda done, total: begun.set())
    )
    worker.start()
    assert begun.wait(60)
    turns = 0
    while worker.is_alive():
        turns += 1
        worker.join(0.001)
    assert turns > 10


def test_a_model_is_shared_by_threads(model, expected):
    results = {}

    def embed(name):
        results[name] = model.embed(TEXTS)

    workers = [threading.Thread(target=embed, args=(name,)) for name in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(found.tobytes() == expected.tobytes() for found in results.values())


def in_child(model, texts, answers):
    answers.put(model.embed(texts).tobytes())


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_give_the_same(method, model, expected):
    usual = nanoembed.Model()
    usual.embed(TEXTS)
    context = multiprocessing.get_context(method)
    for parent in (model, usual):
        answers = context.Queue()
        child = context.Process(target=in_child, args=(parent, TEXTS, answers))
        child.start()
        assert answers.get(timeout=120) == expected.tobytes()
        child.join(60)
        assert child.exitcode == 0
    assert model.embed(TEXTS).tobytes() == expected.tobytes()


def test_pickled_models_are_opened_again(model, expected):
    again = pickle.loads(pickle.dumps(nanoembed.Model(threads=2, max_tokens=16)))
    assert again.max_tokens == 16
    file = pickle.loads(pickle.dumps(nanoembed.Model(PROMPTED)))
    data = pickle.loads(pickle.dumps(nanoembed.Model(PROMPTED.read_bytes())))
    assert np.array_equal(file.embed(TEXTS), data.embed(TEXTS))
    words = pickle.loads(pickle.dumps(nanoembed.WordVectors(WORDS)))
    assert len(words) > 0


INTERRUPTED = """
import os, sys
import nanoembed

model = nanoembed.Model(threads=2)
texts = {texts}
before = int(open("/proc/self/statm").read().split()[1]) if os.path.exists("/proc") else 0

def begun(done, total):
    if done and not begun.told:
        begun.told = True
        print("begun", flush=True)

begun.told = False
try:
    {call}
except KeyboardInterrupt:
    after = int(open("/proc/self/statm").read().split()[1]) if os.path.exists("/proc") else 0
    # 200,000 vectors are 75,000 pages; what was computed of them is gone.
    print("interrupted", after - before < 20_000, model.embed("still usable").shape, flush=True)
    sys.exit(7)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    ("texts", "call"),
    [
        ('["word " * 300] * 200_000', "model.embed(texts, progress=begun)"),
        (
            '[f"{n} word" * 40 for n in range(50_000)]',
            "nanoembed.Index.from_texts(texts, model=model, progress=begun)",
        ),
    ],
    ids=["embed", "index"],
)
def test_ctrl_c_ends_a_call_and_frees_its_memory(texts, call):
    """The texts would take minutes."""
    program = INTERRUPTED.replace("{texts}", texts).replace("{call}", call)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=20)
    assert output == "interrupted True (384,)\n" and child.returncode == 7


def test_a_continuation_is_an_iterator():
    model = nanoembed.Model(DECODER)
    pieces = model.generate("Once upon a time", max_tokens=8, temperature=0)
    first = next(pieces)
    assert isinstance(first, str) and first
    whole = first + "".join(pieces)
    assert whole == "".join(model.generate("Once upon a time", max_tokens=8, temperature=0))
    assert pieces.prompt_tokens > 0 and 0 < len(pieces.ids) <= 8
    stop = whole[len(whole) // 2 :][:2]
    for stops in (stop, ["never there", stop]):
        cut = model.generate("Once upon a time", max_tokens=8, temperature=0, stop=stops)
        assert "".join(cut) == whole[: whole.index(stop)]
    varied = {"".join(model.generate("Once", max_tokens=8, temperature=9.0)) for _ in range(4)}
    assert len(varied) > 1
    other = "".join(model.generate("Once upon a time", max_tokens=8, temperature=5.0, seed=3))
    assert other == "".join(
        model.generate("Once upon a time", max_tokens=8, temperature=5.0, seed=3)
    )
    with pytest.raises(ValueError, match="role"):
        model.generate([{"role": "wizard", "content": "hi"}])
    hi = {"role": "user", "content": "hi"}
    with pytest.raises(ValueError, match="special_tokens"):
        model.generate([hi], special_tokens=True)
    with pytest.raises(ValueError, match="no images, name"):
        model.generate([{**hi, "name": "Ann", "images": []}])
    with pytest.raises(nanoembed.ArgumentError):
        model.generate("Once", max_tokens=10**6)
    del model
    assert list(pieces) == []


def test_a_continuation_is_that_of_the_command_line():
    options = ["--temperature", "0", "--max-tokens", "12", "--json", "--model", str(DECODER)]
    output = json.loads(program("generate", "Once upon a time", *options))
    model = nanoembed.Model(DECODER)
    pieces = model.generate("Once upon a time", temperature=0, max_tokens=12, special_tokens=True)
    assert "".join(pieces) == output["text"]

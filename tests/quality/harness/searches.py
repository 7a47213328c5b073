"""Asks the program questions. A ranking is a list of passage ids, the best first.

Most questions go to one process of `nanoembed mcp`, whose `search` is the command's own; the model is then opened once.
"""

import json
from contextlib import contextmanager
from functools import cache

from .metrics import DEPTH

MODES = {"words": "words", "meaning": "meaning", "both": "both", "rerank": None}
"""Modes, by their names for `nanoembed mcp`."""


@contextmanager
def asking(program, system, mode, corpus, reranker):
    """A function from a question to its ranking."""
    index(program, system.options, corpus.folder)
    if mode == "rerank":
        yield lambda question: reranked(program, system, corpus, reranker, question)
        return
    process = program.start("mcp", corpus.folder, *system.options)
    try:
        yield lambda question: asked(process, MODES[mode], corpus, question)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.terminate()
        process.wait()


@cache
def index(program, options, folder):
    """Brings an index up to date, whose progress the program shows."""
    program.run("index", folder, *options)


def asked(process, by, corpus, question):
    """The ranking by a process of `nanoembed mcp`."""
    arguments = {"query": question, "by": by, "k": DEPTH}
    call = {"name": "search", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"nanoembed mcp ended with exit status {process.wait()}")
    result = json.loads(line)["result"]
    if result["isError"]:
        raise SystemExit(f"nanoembed mcp: {result['content'][0]['text']}")
    return ranking(corpus, result["structuredContent"]["results"])


def reranked(program, system, corpus, reranker, question):
    """The ranking by `nanoembed search --rerank`."""
    options = ("--json", "-q", "-k", DEPTH, "--rerank", reranker, *system.options)
    # Exit status 1: nothing was found.
    lines = program.run("search", *options, "--", question, corpus.folder, allowed=(0, 1))
    return ranking(corpus, map(json.loads, lines.splitlines()))


def ranking(corpus, results):
    """The ids of the passages in whose lines results are."""
    return [corpus.ids[result["line"] - 1] for result in results]

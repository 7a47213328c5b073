"""Tokens a second of a decoder, for the prompt and for what it generates, ours and llama.cpp's in turns.

Both take the same ids of SmolLM2-135M-Instruct on one thread. llama.cpp runs the published GGUF file; ours the same file,
and what `--models` names. Ratios are taken turn against turn of the same round, as in `latency`.
"""

import random
from types import SimpleNamespace

from . import machine, places
from .ratios import median, median_with_interval, pair_ratios
from .worker import PeerFailed, Worker

DECODER = places.PROJECT / "target" / "release" / "examples" / "decoder"
LLAMACPP = places.JS / "llamacpp_generate.mjs"
PROMPT_TOKENS = 256
GENERATED_TOKENS = 64


def peers(options):
    """llama.cpp, and ours on each file."""
    if options.gguf is None:
        raise SystemExit("`generate` needs --gguf FILE, SmolLM2-135M-Instruct's")
    yield SimpleNamespace(name="llama.cpp", command=("node", LLAMACPP, options.gguf))
    for activations in ("words", "bytes"):
        yield SimpleNamespace(name=f"nanoembed {activations}", command=(DECODER, "serve", options.gguf, activations))
    for path in options.models:
        yield SimpleNamespace(name=f"nanoembed {path.name}", command=(DECODER, "serve", path))


def prompt():
    """Ids without meaning: how long they take does not depend on it."""
    return [1000 + i * 7919 % 40000 for i in range(PROMPT_TOKENS)]


def measure(options):
    """Peer → a list of rates for each of the two phases and clocks."""
    load = machine.Load()
    workers = {}
    try:
        for peer in peers(options):
            workers[peer.name] = Worker(peer, threads=1)
        rounds = {name: [] for name in workers}
        order = list(workers)
        shuffle = random.Random(1).shuffle
        for turn in range(options.rounds + 1):
            shuffle(order)
            for name in order:
                command = {"generate": {"ids": prompt(), "tokens": GENERATED_TOKENS}}
                answer = workers[name].ask(command, "generated", timeout=600)
                if turn > 0:  # the first one warms up
                    rounds[name].append(rates(answer))
        peaks = {name: workers[name].peak_bytes() for name in workers}
    except PeerFailed as error:
        raise SystemExit(str(error)) from error
    finally:
        for worker in workers.values():
            worker.close()
    return {
        "machine": machine.describe(),
        "prompt_tokens": PROMPT_TOKENS,
        "generated_tokens": GENERATED_TOKENS,
        "rounds": rounds,
        "peak_bytes": peaks,
        "load": load.report(),
    }


def rates(answer):
    counts = {"prompt": PROMPT_TOKENS, "tokens": GENERATED_TOKENS}
    return {f"{phase}_{clock}": counts[phase] * 1e9 / answer[phase][f"{clock}_ns"] for phase in counts for clock in ("wall", "cpu")}


def table(result):
    """Tokens per second of CPU time, and ratios to llama.cpp with their 95 % intervals."""
    rounds = result["rounds"]
    others = result["load"]["others_cores"]
    lines = [
        f"{result['machine']['cpu']}; other programs kept {others} cores busy. Tokens a second of CPU time, one thread:",
        "",
        "| | prompt | × llama.cpp | generated | × llama.cpp | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for name, own in rounds.items():
        cells = [name]
        for phase in ("prompt_cpu", "tokens_cpu"):
            ours, theirs = ([turn[phase] for turn in of] for of in (own, rounds["llama.cpp"]))
            ratio, low, high = median_with_interval(pair_ratios(ours, theirs))
            cells += [f"{median(ours):.0f}", f"{ratio:.2f} ({low:.2f}–{high:.2f})"]
        lines.append("| " + " | ".join([*cells, f"{result['peak_bytes'][name] / 1e6:.0f}"]) + " |")
    return "\n".join(lines)

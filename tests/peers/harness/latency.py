"""Time per run, all peers interleaved: A B C …, then again in another order.

In a turn a peer first runs untimed for some 100 ms, so that its weights and code are in the caches
as they are in a loop: after the other peers' turns a run of 8 tokens takes twice as long, and needs
ten to twenty more to come down. Then it runs timed as often as fills some milliseconds; the turn
counts by its median. Where a run takes so long that cold caches are nothing to it, the untimed ones
are left out.

Ratios are taken turn against turn of the same round, so that what slows the machine for a while hits
both sides.
"""

import random
import time
from contextlib import ExitStack

from . import machine
from .inputs import Inputs, Size
from .peers import choose
from .ratios import median
from .reference import Reference, lowest_cosine
from .worker import PeerFailed, Worker

WARM_NS = 100_000_000
TURN_NS = 20_000_000
MAX_RUNS_PER_TURN = 8
LONG_RUN_NS = 500_000_000
SETTLE_S = 0.02
DEFAULT_SIZES = ("8", "32", "128", "256", "32x32")


def measure(options):
    """All sizes; a dictionary for the results file."""
    peers, skipped = choose(options.peers)
    inputs, reference = Inputs(), Reference()
    result = {
        "machine": machine.describe(),
        "threads": options.threads,
        "rounds": options.rounds,
        "peers": {p.name: {"label": p.label, "kind": p.kind, "version": p.installed_version(), "ours": p.ours, "one_by_one": p.one_by_one} for p in peers},
        "skipped": skipped,
        "sizes": [],
    }
    with ExitStack() as stack:
        load = machine.Load()
        workers = start(stack, peers, options.threads, skipped)
        for text in options.sizes or DEFAULT_SIZES:
            size = Size.parse(text)
            print(f"  {size} tokens …", flush=True)
            texts = inputs.windows(size)
            cosine = check(workers, texts, reference.embed(texts), skipped)
            rounds = interleave(workers, texts, options.rounds, options.threads, skipped)
            result["sizes"].append({"size": str(size), "texts": size.texts, "tokens": size.tokens, "cosine": cosine, "rounds": rounds})
        stack.close()
        result["load"] = load.report()
    return result


def start(stack, peers, threads, skipped):
    """Opens every peer; those that cannot are told in `skipped`."""
    workers = {}
    for peer in peers:
        try:
            worker = stack.enter_context(Worker(peer, threads))
            worker.open()
            workers[peer.name] = worker
        except (PeerFailed, OSError) as error:
            skipped[peer.name] = str(error)
    return workers


def drop(workers, name, error, skipped):
    """Takes a peer that failed out of the run, visibly."""
    skipped[name] = str(error)
    print(f"    {name} dropped: {error}", flush=True)
    workers.pop(name).close()


def check(workers, texts, expected, skipped):
    """Lowest cosine to the f64 reference, per peer; also each peer's first warm-up."""
    cosine = {}
    for name, worker in list(workers.items()):
        try:
            vectors = worker.run(texts, warm=1, vectors=True)["vectors"]
        except PeerFailed as error:
            drop(workers, name, error, skipped)
            continue
        cosine[name] = lowest_cosine(vectors, expected)
        if not cosine[name] >= worker.peer.lowest_cosine:
            print(f"    {name} is WRONG: cosine {cosine[name]:.6f} < {worker.peer.lowest_cosine}", flush=True)
    return cosine


def turn_of(worker, texts):
    """How a turn of this worker goes: the arguments of its runs."""
    took = max(1, min(worker.run(texts, runs=2)["wall_ns"]))
    runs = max(1, min(MAX_RUNS_PER_TURN, TURN_NS // took))
    return {"warm": 0 if took > LONG_RUN_NS else -(-WARM_NS // took), "runs": runs}


def interleave(workers, texts, rounds, threads, skipped):
    """Peer → `{"wall_ms": [a round each], "cpu_ms": […]}`."""
    order = list(workers)
    turns = {name: turn_of(worker, texts) for name, worker in workers.items()}
    times = {name: {"wall_ms": [], "cpu_ms": []} for name in order}
    shuffle = random.Random(1).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name in [n for n in order if n in workers]:
            if threads > 1:
                time.sleep(SETTLE_S)  # thread pools spin for a while after their work
            try:
                turn = workers[name].run(texts, **turns[name])
            except PeerFailed as error:
                drop(workers, name, error, skipped)
                times.pop(name)
                continue
            for clock in ("wall", "cpu"):
                times[name][f"{clock}_ms"].append(round(median(turn[f"{clock}_ns"]) / 1e6, 4))
    return times

"""From a fresh process to the first embedding, and memory at 256 tokens.

The clock starts when the runtime is loaded (for Python, after the imports) and stops at the first
vector: what a host process pays that opens a model. The file is in the page cache. Private memory is
what the process holds at most while it embeds, without mapped files (which the system shares and may
drop) and without what the bare runtime had.
"""

from . import machine
from .inputs import Inputs, Size
from .peers import choose
from .ratios import median
from .worker import PeerFailed, Worker

FIRST = Size(1, 8)
LONG = Size(1, 256)


def measure(options):
    """`rounds` fresh processes of every peer, interleaved."""
    peers, skipped = choose(options.peers)
    inputs = Inputs()
    first, long = inputs.windows(FIRST), inputs.windows(LONG)
    rounds = max(3, options.rounds // 2)
    figures = {peer.name: [] for peer in peers}
    load = machine.Load()
    for _ in range(rounds):
        for peer in peers:
            if peer.name not in skipped:
                try:
                    figures[peer.name].append(once(peer, options.threads, first, long))
                except (PeerFailed, OSError) as error:
                    skipped[peer.name] = str(error)
    return {
        "machine": machine.describe(),
        "threads": options.threads,
        "rounds": rounds,
        "skipped": skipped,
        "load": load.report(),
        "peers": {
            peer.name: {
                "label": peer.label,
                "kind": peer.kind,
                "ours": peer.ours,
                "version": peer.installed_version(),
                "file_bytes": file_bytes(peer.model),
                **{key: median([f[key] for f in figures[peer.name]]) for key in figures[peer.name][0]},
                "cold_ms_rounds": [f["cold_ms"] for f in figures[peer.name]],
            }
            for peer in peers
            if peer.name not in skipped
        },
    }


def once(peer, threads, first, long):
    with Worker(peer, threads) as worker:
        opened = worker.open()
        ran = worker.run(first)
        worker.run(long)
        return {
            "open_ms": opened["wall_ns"] / 1e6,
            "cold_ms": (opened["wall_ns"] + ran["wall_ns"][0]) / 1e6,
            "peak_bytes": worker.peak_bytes(),
            "private_bytes": worker.private_bytes_of(lambda: worker.run(long)),
        }


def file_bytes(model):
    """A folder stands for its safetensors."""
    return (model / "model.safetensors" if model.is_dir() else model).stat().st_size

"""How time and peak memory grow: with tokens, with texts of one length, with uneven texts.

Every point has its own fresh processes, so that a peak is that point's; times are interleaved as in
`latency`.
"""

from contextlib import ExitStack

from . import machine
from .inputs import Inputs, Size
from .latency import interleave, start
from .peers import choose
from .ratios import median

TOKENS = (8, 16, 32, 64, 128, 256, 384, 512)
BATCH = (1, 2, 4, 8, 16, 32)
BATCH_TOKENS = 32
TEXTS = (1, 4, 16, 64, 256, 1024)
ROUNDS = 5
DEFAULT_PEERS = ("nanoembed-f32", "nanoembed-int8", "onnxruntime-f32", "onnxruntime-int8", "rten-f32", "rten-int8", "candle-f32", "llamacpp-q8_0")


def measure(options):
    """Three series of points."""
    inputs = Inputs()
    from .peers import PEERS

    known = [peer.name for peer in PEERS]
    peers, skipped = choose(options.peers or [name for name in DEFAULT_PEERS if name in known])
    load = machine.Load()
    series = {
        "tokens": {n: inputs.windows(Size(1, n)) for n in TOKENS},
        "batch": {n: inputs.windows(Size(n, BATCH_TOKENS)) for n in BATCH},
        "texts": {n: inputs.sentences(n) for n in TEXTS},
    }
    result = {"machine": machine.describe(), "threads": options.threads, "rounds": ROUNDS, "series": {}}
    for name, points in series.items():
        result["series"][name] = [point(peers, options.threads, n, texts, skipped, name) for n, texts in points.items()]
    result["skipped"] = skipped
    result["peers"] = {p.name: {"label": p.label, "kind": p.kind, "ours": p.ours, "version": p.installed_version()} for p in peers}
    result["load"] = load.report()
    return result


def point(peers, threads, n, texts, skipped, series):
    """One point: median milliseconds and peak bytes per peer."""
    print(f"  {series} {n} …", flush=True)
    with ExitStack() as stack:
        workers = start(stack, [p for p in peers if p.name not in skipped], threads, skipped)
        times = interleave(workers, texts, ROUNDS, threads, skipped)
        return {
            "n": n,
            "tokens": sum(map(len, texts)),
            "peers": {
                name: {
                    "wall_ms": median(times[name]["wall_ms"]),
                    "cpu_ms": median(times[name]["cpu_ms"]),
                    "peak_bytes": worker.peak_bytes(),
                }
                for name, worker in workers.items()
            },
        }

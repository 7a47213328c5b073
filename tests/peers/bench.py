#!/usr/bin/env python3
"""nanoembed against its peers, side by side: one command. See README.md.

    python3 tests/peers/bench.py              everything: setup, latency, cold, scale, render
    python3 tests/peers/bench.py latency --sizes 8 32x32 --peers onnxruntime-int8 nanoembed-int8
"""

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import places, prepare

COMMANDS = ("all", "setup", "latency", "cold", "scale", "render", "micro", "peers", "generate", "models", "multilingual")
OTHER_MODELS = ("models", "multilingual")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="all", choices=COMMANDS)
    parser.add_argument("--threads", type=int, default=1, help="threads of every peer (default 1)")
    parser.add_argument("--rounds", type=int, default=20, help="interleaved rounds (default 20); 0 only sets up, for `models`")
    parser.add_argument("--peers", nargs="+", default=[], metavar="NAME", help="only these (see the command `peers`); comparisons of `models`")
    parser.add_argument("--sizes", nargs="+", default=[], metavar="SIZE", help="128, or 32x32 for texts × tokens")
    parser.add_argument("--results", type=Path, default=places.RESULTS, help="folder of the JSON files and pictures")
    parser.add_argument("--micro", type=Path, metavar="FILE", help="JSON lines of the micro benchmarks, for `micro`")
    parser.add_argument("--gguf", type=Path, metavar="FILE", help="SmolLM2-135M-Instruct's Q4_1, for `generate`")
    parser.add_argument("--models", nargs="+", default=[], type=Path, metavar="FILE", help="further decoders for `generate`")
    return parser.parse_args()


def in_venv():
    return Path(sys.prefix).resolve() == places.VENV.resolve()


def enter_venv():
    """Starts this program again by the Python that has what it needs."""
    if not places.PYTHON.exists():
        raise SystemExit("not set up: run `bench.py setup`")
    os.execv(places.PYTHON, [str(places.PYTHON), *sys.argv])


def set_up():
    print("setup")
    prepare.venv()
    failed = prepare.prepare()
    if "python" in failed or "model" in failed:
        raise SystemExit("the benchmark itself lacks what it needs")


def measure(name, options):
    """Runs `harness.NAME.measure`, writes its JSON, prints its table."""
    from importlib import import_module

    print(name, flush=True)
    result = import_module(f"harness.{name}").measure(options)
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / f"{file_name(name, options)}.json").write_text(json.dumps(result, indent=1) + "\n")
    show(name, result)


def file_name(name, options):
    return name if options.threads == 1 else f"{name}-{options.threads}-threads"


def show(name, result):
    from harness import tables

    if name == "latency":
        print(tables.latency_tables(result), tables.ratio_lines(result), sep="\n\n")
    elif name == "cold":
        print(tables.cold_table(result))
    elif name == "generate":
        from harness import generate

        print(generate.table(result))
    elif name in OTHER_MODELS:
        from importlib import import_module

        import_module(f"harness.{name}").show(result)


def other_models(name, options):
    """Sets up what the models need, which `setup` does not, and measures."""
    from harness import model_files

    print("setup of models")
    model_files.prepare()
    if options.rounds > 0:
        measure(name, options)


def render(options):
    """Tables and pictures again, from the results files."""
    from harness import charts

    for name in ("latency", "cold", "scale", *OTHER_MODELS):
        path = options.results / f"{file_name(name, options)}.json"
        if path.exists():
            result = json.loads(path.read_text())
            show(name, result)
            if name in ("latency", "scale"):
                getattr(charts, name)(result, options.results)


def micro(options):
    from harness import charts

    if options.micro is None:
        raise SystemExit("`micro` needs --micro FILE")
    lines = options.micro.read_text().splitlines()
    charts.micro([json.loads(line) for line in lines if line.startswith("{")], options.results)


def list_peers():
    from harness.peers import PEERS

    for peer in PEERS:
        print(f"{peer.name:18} {peer.missing() or 'ready'}")


def main():
    options = arguments()
    command = options.command
    if command in ("all", "setup") and not in_venv():
        set_up()
    if command == "setup":
        return
    if command == "generate":
        measure(command, options)  # needs no packages
        return
    if not in_venv():
        if command in OTHER_MODELS:
            prepare.venv()
        enter_venv()
    if command in OTHER_MODELS:
        other_models(command, options)
    elif command == "micro":
        micro(options)
    elif command == "peers":
        list_peers()
    else:
        for name in ("latency", "cold", "scale"):
            if command in ("all", name):
                measure(name, options)
        if command in ("all", "render"):
            render(options)


main()

"""The table of peers: one row each."""

import json
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from . import places, prepare

PYTHON_WORKER = (places.PYTHON, places.HERE / "workers" / "onnxruntime_worker.py")
NODE_WORKER = ("node", places.JS / "llamacpp_worker.mjs")


@dataclass(frozen=True)
class Peer:
    """How to start a peer and what it runs."""

    name: str
    label: str
    kind: str  # "f32" or "int8": what it is compared with
    command: tuple
    model: Path
    needs: tuple  # steps of `prepare`
    version: tuple  # ("crate" | "python" | "llama.cpp" | "wheel", package)
    ours: bool = False
    lowest_cosine: float = 0.99999  # to the f64 reference, else it is marked wrong
    one_by_one: bool = False  # its interface takes one text a call

    def missing(self):
        """Why it cannot run, or None."""
        failed = prepare.failures()
        if failed is None:
            return "not set up"
        for step in self.needs:
            if step in failed:
                return f"{step}: {failed[step]}"
        # A worker that was never built is a failed step too, told by name.
        gone = [p for p in (self.command[0], self.model) if "/" in str(p) and not Path(p).exists()]
        return f"missing: {gone[0].name}" if gone else None

    def installed_version(self):
        """The version that runs."""
        source, package = self.version
        if source == "python":
            return metadata.version(package)
        if source == "wheel":
            return package.split("==")[1]
        if source == "llama.cpp":
            release = places.JS / "node_modules" / package / "llama" / "binariesGithubRelease.json"
            return json.loads(release.read_text())["release"]
        lock = (places.RUST / "Cargo.lock").read_text()
        return re.search(rf'name = "{package}"\nversion = "([^"]+)"', lock).group(1)


def rust(name):
    return (places.RUST_BINARIES / f"peer-{name}",)


# Dynamic int8 of the peers is coarse: 0.95 tells a broken set-up from their usual loss.
PEERS = [
    Peer("nanoembed-f32", "nanoembed", "f32", rust("nanoembed"), places.WEIGHTS / "minilm-f32.weights", ("weights", "nanoembed"), ("crate", "nanoembed-core"), ours=True),
    Peer("nanoembed-int8", "nanoembed int8", "int8", rust("nanoembed"), places.WEIGHTS / "minilm-int8.weights", ("weights", "nanoembed"), ("crate", "nanoembed-core"), ours=True, lowest_cosine=0.99),
    # Float activations with the same 8-bit weights: slower, closer to the float model. Not what the others are held against.
    Peer("nanoembed-precise", "nanoembed int8 --precise", "int8", (*rust("nanoembed"), "--precise"), places.WEIGHTS / "minilm-int8.weights", ("weights", "nanoembed"), ("crate", "nanoembed-core"), lowest_cosine=0.995),
    Peer("onnxruntime-f32", "onnxruntime", "f32", PYTHON_WORKER, places.ONNX_F32, ("python", "onnx"), ("python", "onnxruntime")),
    Peer("rten-f32", "rten", "f32", rust("rten"), places.ONNX_F32, ("onnx", "rten"), ("crate", "rten")),
    Peer("tract-f32", "tract", "f32", rust("tract"), places.ONNX_F32, ("onnx", "tract"), ("crate", "tract-onnx")),
    Peer("candle-f32", "candle", "f32", rust("candle"), places.MODEL, ("model", "candle"), ("crate", "candle-core")),
    Peer("llamacpp-f32", "llama.cpp", "f32", NODE_WORKER, places.GGUF / "minilm-f32.gguf", ("gguf", "npm"), ("llama.cpp", "node-llama-cpp"), lowest_cosine=0.999, one_by_one=True),
    Peer("onnxruntime-int8", "onnxruntime int8", "int8", PYTHON_WORKER, places.ONNX_INT8, ("python", "onnx"), ("python", "onnxruntime"), lowest_cosine=0.95),
    Peer("rten-int8", "rten int8", "int8", rust("rten"), places.ONNX_INT8, ("onnx", "rten"), ("crate", "rten"), lowest_cosine=0.95),
    Peer("llamacpp-q8_0", "llama.cpp q8_0", "int8", NODE_WORKER, places.GGUF / "minilm-q8_0.gguf", ("gguf", "npm"), ("llama.cpp", "node-llama-cpp"), lowest_cosine=0.95, one_by_one=True),
]


def choose(names):
    """The peers of these names (all if empty) that can run, and why the others cannot."""
    known = {peer.name for peer in PEERS}
    unknown = set(names) - known
    if unknown:
        raise SystemExit(f"no such peer: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
    wanted = [peer for peer in PEERS if not names or peer.name in names]
    skipped = {peer.name: reason for peer in wanted if (reason := peer.missing())}
    return [peer for peer in wanted if peer.name not in skipped], skipped

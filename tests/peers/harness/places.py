"""Where things lie: the benchmark's folder, what it downloads and builds (never committed)."""

from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PROJECT = HERE.parent.parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
CACHE = HERE / ".cache"
MODEL = CACHE / "model"
ONNX_F32 = CACHE / "onnx" / "minilm-f32.onnx"
ONNX_INT8 = CACHE / "onnx" / "minilm-int8.onnx"
GGUF = CACHE / "gguf"
WEIGHTS = CACHE / "weights"
RUST = HERE / "rust"
RUST_BINARIES = RUST / "target" / "release"
JS = HERE / "workers" / "js"
RESULTS = HERE / "results"

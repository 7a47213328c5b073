"""What mypy and pyright see of the package: checked, never run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import nanoembed
from nanoembed.chromadb import NanoembedFunction
from nanoembed.langchain import NanoembedEmbeddings, NanoembedReranker
from nanoembed.sentence_transformers import SentenceTransformer
from nanoembed.txtai import transform

model = nanoembed.Model(Path("model.weights"), threads=2)
one: npt.NDArray[np.float32] = model.embed("a text", prompt_name="query", progress=True)
several: npt.NDArray[np.int8] = model.embed(["a", "b"], dtype="int8", on_error="null")
details = model.embed(["a", None], details=True, on_error="null")
assert_type(details, nanoembed.Embedded)
assert_type(details.status, npt.NDArray[np.uint8])
assert_type(model.tokenize("a").ids, list[int])
assert_type(model.detokenize([101, 102]), str)
assert_type(model.detokenize(model.tokenize("a")), str)
assert_type(model.detokenize([[101], [102]]), list[str])
assert_type(model.embed("a", vectors="sparse"), nanoembed.SparseVector)
assert_type(model.embed("a", vectors="multi"), npt.NDArray[np.float32])
assert_type(model.embed_query("a", vectors="sparse").indices, npt.NDArray[np.uint32])
assert_type(nanoembed.max_sim([one], [one]), npt.NDArray[np.float32])
spelled: list[tuple[str, float]] = model.decode(model.embed("a", vectors="sparse"), top_k=3)
listed: list[nanoembed.SparseVector] = model.embed(["a"], vectors="sparse")
assert_type(model.embed(["a"], vectors="multi", details=True), nanoembed.Embedded)
assert_type(model.rerank("a", ["b"])[0].score, float)
assert_type(nanoembed.similarity(one, several), npt.NDArray[np.float32])
text: str = "".join(model.generate([{"role": "user", "content": "Hello"}], max_tokens=8))

assert_type(model.fingerprint, str)

index = nanoembed.Index("docs/", Path("src"), model=model, glob="*.md", type=["py"], unit="line")
hits: list[nanoembed.Hit] = index.search("a query", 3, by="words", min=0.5, rerank=model)
assert_type(hits[0].similarity, float | None)
assert_type(nanoembed.Index.from_texts(["a"], ["name"]), nanoembed.Index)
ages: list[int] = [status.age_seconds for status in index.status()]

limits = nanoembed.Limits(file_bytes=1 << 30)
assert_type(limits.session_bytes, int)
SentenceTransformer("folder/", limits=limits).encode(["a"])
words = nanoembed.WordVectors("words.fifu", limits=limits)
assert_type(words.vector("word"), npt.NDArray[np.float32] | None)
near: list[str] = [neighbour.word for neighbour in words.similar("word", k=3)]

assert_type(nanoembed.read_tensor("a.gguf", "a"), npt.NDArray[np.float32])
apart: list[float | None] = [it.nmse for it in nanoembed.diff("a.gguf", "b.gguf").tensors]
nanoembed.migrate(["a-0.uqff", Path("residual.safetensors")], "b.gguf", config="config.json")

try:
    nanoembed.Model("missing")
except nanoembed.FileMissing as error:
    assert_type(error.offset, int | None)

lists: list[list[float]] = NanoembedEmbeddings(model).embed_documents(["a"])
NanoembedReranker(model, top_n=3).compress_documents([], "a query")
rows = NanoembedFunction()(["a"])
transformed = transform(model)(["a"])
encoded: npt.NDArray[np.float32] = SentenceTransformer().encode(["a"], normalize_embeddings=True)

"""Text embeddings offline, from one small wheel: the model is inside.

>>> import nanoembed
>>> model = nanoembed.Model()
>>> model.embed(["a cat on a mat", "the price of oil"]).shape
(2, 384)

===========================  ====================================================================
:class:`Model`               embed, rerank, continue and tokenise texts
:class:`Index`               search in folders of texts and code, by words and by meaning
:class:`WordVectors`         vectors of words
:func:`similarity`           similarities of vectors in any form; :func:`max_sim`: of those of tokens
:func:`inspect`              what a file says of itself; :func:`verify`: whether it is whole
:func:`convert`              models and word vectors in other forms; :func:`quantize`: in fewer bits
:class:`Limits`              how much a stranger's file may take
:class:`NanoembedError`      what can go wrong
===========================  ====================================================================

Modules for other packages, imported only when they are asked for: ``sentence_transformers``,
``fastembed``, ``langchain``, ``llama_index``, ``haystack``, ``txtai``, ``chromadb``, ``lancedb``, ``duckdb``,
``spark``, ``ray``.
"""

from ._errors import (
    ArgumentError,
    FileMissing,
    ModelError,
    NanoembedError,
    NotFound,
    OutOfMemory,
    StorageError,
)
from ._files import Finding, Verified, convert, inspect, quantize, verify
from ._index import Hit, Index, IndexStatus
from ._limits import Limits
from ._model import Model
from ._native import __version__
from ._results import Embedded, Ranked, SparseVector, Status, Tokens
from ._similarity import max_sim, similarity
from ._truncation import TruncationWarning
from ._weights import Difference, Differences, Shapes, dequantize, diff, migrate, read_tensor
from ._words import Neighbour, WordVectors

__all__ = [
    "ArgumentError",
    "Difference",
    "Differences",
    "Embedded",
    "FileMissing",
    "Finding",
    "Hit",
    "Index",
    "IndexStatus",
    "Limits",
    "Model",
    "ModelError",
    "NanoembedError",
    "Neighbour",
    "NotFound",
    "OutOfMemory",
    "Ranked",
    "Shapes",
    "SparseVector",
    "Status",
    "StorageError",
    "Tokens",
    "TruncationWarning",
    "Verified",
    "WordVectors",
    "__version__",
    "convert",
    "dequantize",
    "diff",
    "inspect",
    "max_sim",
    "migrate",
    "quantize",
    "read_tensor",
    "similarity",
    "verify",
]

"""The part of the package that is compiled. Use the package, not this."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any, Protocol, TypedDict

__version__: str
FILE_BYTES: int
SESSION_BYTES: int

class Limits(Protocol):
    @property
    def file_bytes(self) -> int: ...
    @property
    def session_bytes(self) -> int: ...

class Before(TypedDict):
    prompt: str | None
    prompt_name: str | None
    role: str | None
    usual_role: str | None

class Request(TypedDict):
    template: str | None
    text: str | None
    messages: list[tuple[str, str]] | None
    max_tokens: int
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    repetition_penalty: float | None
    presence_penalty: float
    frequency_penalty: float
    seed: int
    stop: list[str]

class WritingOptions(TypedDict):
    to: str | None
    names: str | None
    config: str | None
    keep_names: bool
    like: str | None
    shard_bytes: int | None
    report: bool
    residual: str | None

class Rows:
    def __len__(self) -> int: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

class Pieces(Iterator[str]):
    def __iter__(self) -> Pieces: ...
    def __next__(self) -> str: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def ids(self) -> list[int]: ...

class Model:
    def __init__(
        self,
        path: str | PathLike[str] | None,
        data: bytes | None,
        *,
        threads: int | None,
        memory: int | None,
        max_tokens: int | None,
        precise: bool,
        requantize: bool,
        limits: Limits | None,
        allow_unknown: list[str],
        adapter: str | None,
    ) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def positions(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    def embed(
        self,
        texts: Iterable[object],
        before: Before,
        *,
        truncate_dim: int | None,
        normalize: bool,
        dtype: str,
        out: object | None,
        strict: bool,
        nulls: bool,
        progress: Callable[[int, int | None], object] | None,
    ) -> tuple[Rows | None, bytes, bytes, bytes]: ...
    def embed_sparse(
        self,
        texts: Iterable[object],
        before: Before,
        *,
        strict: bool,
        nulls: bool,
        progress: Callable[[int, int | None], object] | None,
    ) -> tuple[list[int], bytearray, bytearray, tuple[bytes, bytes]]: ...
    def embed_multi(
        self,
        texts: Iterable[object],
        before: Before,
        *,
        strict: bool,
        nulls: bool,
        progress: Callable[[int, int | None], object] | None,
    ) -> tuple[list[int], Rows, tuple[bytes, bytes]]: ...
    def tokenize(
        self,
        texts: Iterable[object],
        before: Before,
        *,
        max_tokens: int | None,
        strict: bool,
        nulls: bool,
    ) -> list[tuple[list[int], bool] | None]: ...
    def token(self, id: int) -> str | None: ...
    def detokenize(self, lists: list[list[int]]) -> list[str]: ...
    def rerank(
        self,
        query: str,
        texts: Iterable[object],
        before: Before,
        *,
        progress: Callable[[int, int | None], object] | None,
    ) -> list[tuple[int, float]]: ...
    def score(
        self,
        queries: Iterable[object],
        texts: Iterable[object],
        before: Before,
        *,
        progress: Callable[[int, int | None], object] | None,
    ) -> list[tuple[list[float], list[float]]]: ...
    def generate(self, request: Request) -> Pieces: ...

class SearchedFiles(TypedDict):
    paths: list[str]
    glob: list[str]
    types: list[str]
    hidden: bool
    no_ignore: bool
    unit: str | None
    lossy: bool
    keep: bool

class SearchRequest(TypedDict):
    query: str
    k: int
    by: str
    vectors: str | None
    min: float | None
    rerank: Model | None

class Index:
    @staticmethod
    def open(
        model: Model,
        files: SearchedFiles,
        *,
        progress: Callable[[int, int | None], object] | None,
    ) -> Index: ...
    @staticmethod
    def from_texts(
        model: Model,
        texts: Iterable[object],
        names: list[str] | None,
        *,
        progress: Callable[[int, int | None], object] | None,
    ) -> Index: ...
    def __len__(self) -> int: ...
    @property
    def messages(self) -> list[str]: ...
    @property
    def embedded(self) -> int: ...
    def search(
        self,
        request: SearchRequest,
        *,
        progress: Callable[[int, int | None], object] | None,
    ) -> tuple[
        list[tuple[str, int, int, str, float, float | None, str | None]],
        bool,
        str | None,
    ]: ...

def index_states(
    model: Model, files: SearchedFiles
) -> list[tuple[str, int, int, int, int, str]]: ...
def drop_indices(model: Model, files: SearchedFiles) -> list[str]: ...

class Words:
    def __init__(
        self, path: str | PathLike[str], *, threads: int | None, limits: Limits | None
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def dimensions(self) -> int: ...
    def words(self) -> list[str]: ...
    def contains(self, word: str) -> bool: ...
    def vectors(self, words: list[str]) -> Rows: ...
    def similar(self, word: str, k: int) -> list[tuple[str, float]]: ...
    def analogy(self, words: tuple[str, str, str], k: int) -> list[tuple[str, float]]: ...

class ModelOptions(TypedDict):
    block: int | None
    bits: float | None
    for_web: bool
    config: str | None
    vocab: str | None
    calibrate: str | None
    pooler: bool
    name: str | None
    metadata: list[tuple[str, str]]
    role: str | None
    allow_unknown: list[str]
    adapter: str | None

class WordOptions(TypedDict):
    duplicates: str
    utf8: str
    normalize: bool
    normalized: bool
    first: int | None
    ignore_count: bool
    metadata: list[tuple[str, str]]

def max_sim(
    queries: tuple[object, list[int]], documents: tuple[object, list[int]], width: int
) -> Rows: ...
def inspection(path: str) -> str: ...
def verification(path: str, strict: bool, duplicates: str, utf8: str) -> tuple[str, str]: ...
def is_model_name(path: str) -> bool: ...
def convert_model(input: str, output: str, weight_type: str, options: ModelOptions) -> str: ...
def convert_words(input: str, output: str, options: WordOptions) -> str: ...
def migrate(inputs: list[str], output: str, options: WritingOptions) -> str: ...
def dequantize(input: str, output: str, type_name: str) -> str: ...
def differences(a: str, b: str, names: str | None) -> str: ...

class Floats:
    def __init__(self, path: str, name: str) -> None: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

def quantize(
    input: str,
    output: str,
    type_name: str,
    include: list[str],
    exclude: list[str],
    bits: int | None,
) -> str: ...

"""Parquet files of texts become Parquet files with vectors on a Ray cluster.

>>> import nanoembed.ray                                                     # doctest: +SKIP
>>> nanoembed.ray.embed_parquet("texts/", "vectors/", workers=8)             # doctest: +SKIP

A file is a task, which runs again elsewhere when its worker or node is lost. The model's file is
mapped, so workers of one host share it. All columns are kept, a column of vectors and one of
statuses are added. A file appears when it is complete, and files that are there are not made again:
a job that was killed goes on where it was. What is written depends neither on the number of workers
nor on batches.

:class:`Embedder` is for pipelines of Ray Data: ``dataset.map_batches(Embedder, …)``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._model import Model
from ._tables import Columns, embed_file, remove_unfinished, with_vectors
from ._workers import opened

# Arrow's own pool keeps what a file took: with the system's a worker needs half the memory.
_ENVIRONMENT = {"env_vars": {"ARROW_DEFAULT_MEMORY_POOL": "system"}}


class Embedder:
    """Called with tables, batches of Ray Data in the format of pyarrow.

    >>> dataset.map_batches(                                                 # doctest: +SKIP
    ...     Embedder, batch_format="pyarrow", concurrency=4,
    ...     fn_constructor_kwargs={"columns": Columns(text="body")},
    ... )
    """

    def __init__(
        self, path: str | None = None, columns: Columns = Columns(), threads: int = 1
    ) -> None:
        self._model = Model(path, threads=threads)
        self._columns = columns

    def __call__(self, table: Any) -> Any:
        """The table with vectors and statuses."""
        return with_vectors(self._model, table, self._columns)


def _embed_file(
    path: str | None, threads: int, source: str, target: str, columns: Columns
) -> int:
    """What a task does, with a model that its process opens once."""
    return embed_file(opened(path, threads), source, target, columns)


def embed_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    path: str | None = None,
    columns: Columns = Columns(),
    workers: int = 1,
    threads: int = 1,
) -> int:
    """Embeds every ``.parquet`` file of a folder, or one file, into files of the same names in the
    folder ``target``, to which one job at a time writes. Ray is started if it is not.

    :param path: the model, a path that every host has; ``None`` is that of the package.
    :param columns: the column of texts, and what the new ones are called.
    :param workers: how many files are embedded at a time, on ``threads`` CPUs each.
    :returns: how many rows were embedded now.
    """
    if workers < 1:
        raise ValueError(f"workers={workers} embed nothing")
    import ray

    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).glob("*.parquet"))
    waiting = [(str(file), str(folder / file.name)) for file in files]
    waiting = [(file, result) for file, result in waiting if not os.path.exists(result)]
    results = [result for _, result in waiting]
    for result in results:
        remove_unfinished(result)
    options = {"num_cpus": threads, "max_retries": -1, "runtime_env": _ENVIRONMENT}
    task = ray.remote(**options)(_embed_file)
    running: list[Any] = []
    rows = 0
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(task.remote(path, threads, *waiting.pop(0), columns))
        done, running = ray.wait(running)
        rows += sum(ray.get(done))
    # What tasks left that were killed, and done again.
    for result in results:
        remove_unfinished(result)
    return rows

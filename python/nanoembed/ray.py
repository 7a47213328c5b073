"""Parquet files of texts become Parquet files with vectors on a Ray cluster.

>>> import nanoembed.ray                                                     # doctest: +SKIP
>>> nanoembed.ray.embed_parquet("texts/", "vectors/", workers=8)             # doctest: +SKIP

A worker is an actor that takes a file at a time; the model's file is mapped, so workers of one host
share it. All columns are kept, a column of vectors and one of statuses are added. A file appears
when it is complete, and files that are there are not made again: a job that was killed goes on
where it was. What is written depends neither on the number of workers nor on batches.

:class:`Embedder` is for pipelines of Ray Data: ``dataset.map_batches(Embedder, …)``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._model import Model
from ._tables import Columns, embed_file, with_vectors


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

    def embed_file(self, source: str, target: str) -> int:
        """Embeds a file: see :func:`embed_parquet`. How many rows it has."""
        return embed_file(self._model, source, target, self._columns)


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
    folder ``target``. Ray is started if it is not.

    :param path: the model, a path that every host has; ``None`` is that of the package.
    :param columns: the column of texts, and what the new ones are called.
    :param workers: actors, each of ``threads`` CPUs. Leave some CPUs of the cluster to its readers.
    :returns: how many rows were embedded now.
    """
    import ray
    from ray.util import ActorPool

    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).glob("*.parquet"))
    waiting = [(str(file), str(folder / file.name)) for file in files]
    waiting = [(file, result) for file, result in waiting if not os.path.exists(result)]
    if not waiting:
        return 0
    worker = ray.remote(num_cpus=threads, max_restarts=-1, max_task_retries=-1)(Embedder)
    actors = [worker.remote(path, columns, threads) for _ in range(min(workers, len(waiting)))]
    rows = ActorPool(actors).map_unordered(
        lambda actor, pair: actor.embed_file.remote(*pair), waiting
    )
    return sum(rows)

"""Passages as files that the program searches: a JSON line each, so that each is one result."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import gold
from gold.places import CACHE

LONG_AGO = 1_000_000_000
"""A time of change: that of 9 September 2001."""


@dataclass(frozen=True)
class Corpus:
    """A folder with one file of passages. `ids` are those of its lines."""

    folder: Path
    ids: list

    @property
    def file(self):
        """The file."""
        return self.folder / "passages.jsonl"


def corpus(passages):
    """The corpus of these passages. Sets with equal passages share it, and its indices."""
    rows = [json.dumps({"id": passage.id, "text": passage.text}, ensure_ascii=False) + "\n" for passage in passages]
    content = "".join(rows).encode()
    folder = CACHE / "corpora" / hashlib.sha256(content).hexdigest()[:16]
    found = Corpus(folder, [passage.id for passage in passages])
    if not found.file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as scratch:
            part = Path(scratch, found.file.name)
            part.write_bytes(content)
            # An index does not trust a file that was written just before it was read.
            os.utime(part, (LONG_AGO, LONG_AGO))
            part.rename(found.file)
    return found


def by_group(gold_set):
    """The corpus in which questions of each group are asked."""
    if not gold_set.corpora:
        whole = corpus(gold_set.passages)
        return {query.group: whole for query in gold_set.queries}
    groups = {query.group for query in gold_set.queries}
    own = lambda group: [passage for passage in gold_set.passages if passage.group == group]
    return {group: corpus(own(group)) for group in sorted(groups)}


def of_all_sets():
    """The files of the passages of all sets."""
    return sorted({corpus(gold.load(name).passages).file for name in gold.MAKERS})

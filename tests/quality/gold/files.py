"""The files of a gold set.

    queries.jsonl   {"id", "text", "group", "split"}
    passages.jsonl  {"id", "text", "group"}
    qrels.tsv       id of a question, id of a passage, grade (always 1)
    about.json      versions and licences of the packages, counts, SHA-256 of the three files

Every second question of a group has the split `held`: settings are tuned on the others (`given`) and confirmed on
these.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass

from .gold_set import Text


@dataclass(frozen=True)
class Stored:
    """A set as it is measured."""

    name: str
    digest: str
    queries: list
    splits: dict
    """By the ids of questions."""
    passages: list
    corpora: bool
    """True if each group of passages is searched by itself."""
    relevant: dict
    """The ids of the passages that answer a question, by its id."""


def write(folder, gold_set):
    """Writes a set, `about.json` last."""
    gold_set.check(folder.name)
    folder.mkdir(parents=True, exist_ok=True)
    turns, queries = Counter(), []
    for query in gold_set.queries:
        split = "held" if turns[query.group] % 2 else "given"
        turns[query.group] += 1
        queries.append(vars(query) | {"split": split})
    files = {
        "queries.jsonl": lines(queries),
        "passages.jsonl": lines(map(vars, gold_set.passages)),
        "qrels.tsv": "".join(f"{query}\t{passage}\t1\n" for query, passage in gold_set.pairs).encode(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    about = {
        "packages": gold_set.packages,
        "licences": gold_set.licences,
        "queries": len(queries),
        "passages": len(gold_set.passages),
        "groups": turns,
        "corpora": gold_set.corpora,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def lines(rows):
    """Rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def read(folder):
    """Reads a set. Fails if its files were changed."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    content = {name: (folder / name).read_bytes() for name in about["sha256"]}
    for name, digest in about["sha256"].items():
        if hashlib.sha256(content[name]).hexdigest() != digest:
            raise SystemExit(f"{folder / name} was changed: remove {folder}, and it is made again")
    rows = lambda name: [json.loads(line) for line in content[name].splitlines()]
    text = lambda row: Text(row["id"], row["text"], row["group"])
    queries = rows("queries.jsonl")
    relevant = {}
    for line in content["qrels.tsv"].decode().splitlines():
        query, passage, _ = line.split("\t")
        relevant.setdefault(query, set()).add(passage)
    return Stored(
        name=folder.name,
        digest=hashlib.sha256(b"".join(content.values())).hexdigest(),
        queries=list(map(text, queries)),
        splits={row["id"]: row["split"] for row in queries},
        passages=list(map(text, rows("passages.jsonl"))),
        corpora=about["corpora"],
        relevant=relevant,
    )

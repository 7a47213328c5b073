"""Rankings of all questions of a set, which the cache keeps question by question: a run that was stopped goes on."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from gold.places import CACHE

from .corpora import by_group
from .progress import Progress
from .searches import asking
from .systems import stamp


@dataclass(frozen=True)
class Run:
    """A set, searched by a system in a mode."""

    gold_set: object
    system: object
    mode: str
    reranker: Path | None = None

    @property
    def label(self):
        """Its name for people."""
        return f"{self.gold_set.name}, {self.system.model} {self.system.precision}, {self.mode}"

    def file(self, program):
        """The file of its rankings. Another program, set or model has another one."""
        models = (self.system.identity, self.system.options, self.reranker and stamp(self.reranker))
        state = (program.digest, self.gold_set.digest, self.mode, models)
        key = hashlib.sha256(repr(state).encode()).hexdigest()[:12]
        precision = self.system.precision.replace("/", "-")
        return CACHE / "measured" / self.gold_set.name / f"{self.mode}-{self.system.model}-{precision}-{key}.jsonl"

    def rankings(self, program):
        """The ranking of each question, by its id."""
        file = self.file(program)
        known = kept(file)
        missing = [query for query in self.gold_set.queries if query.id not in known]
        if missing:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as lines, Progress(self.label, len(missing)) as progress:
                for query, ranking in self.ask(program, missing):
                    known[query.id] = ranking
                    lines.write(json.dumps([query.id, ranking], ensure_ascii=False) + "\n")
                    lines.flush()
                    progress.step()
        return known

    def ask(self, program, queries):
        """Asks these questions, those of a corpus together."""
        corpora = by_group(self.gold_set)
        folders = {corpus.folder: corpus for corpus in corpora.values()}
        for folder, corpus in folders.items():
            own = [query for query in queries if corpora[query.group].folder == folder]
            if own:
                with asking(program, self.system, self.mode, corpus, self.reranker) as ask:
                    for query in own:
                        yield query, ask(query.text)


def kept(file):
    """The rankings in a file. A line that was being written when the run was stopped is cut off."""
    if not file.exists():
        return {}
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with file.open("r+b") as lines:
            lines.truncate(len(whole))
    return dict(json.loads(line) for line in whole.splitlines())

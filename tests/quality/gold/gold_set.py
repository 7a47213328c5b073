"""A gold set: questions, passages, and which passages answer which question."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A question or a passage. Groups are languages or subjects."""

    id: str
    text: str
    group: str


@dataclass(frozen=True)
class GoldSet:
    """A set as its script makes it."""

    queries: list
    passages: list
    pairs: list
    """The ids of a question and of a passage that answers it."""
    licences: dict
    packages: dict
    """Versions by name."""
    expected: tuple
    """Fewest and most questions, then passages: if a package has changed more, the set is another one."""
    corpora: bool = False
    """True if each group of passages is searched by itself."""

    def check(self, name):
        """Fails unless the set is whole, and as large as expected."""
        queries = {query.id for query in self.queries}
        passages = {passage.id for passage in self.passages}
        assert len(queries) == len(self.queries), f"{name}: ids of questions occur twice"
        assert len(passages) == len(self.passages), f"{name}: ids of passages occur twice"
        assert {query for query, _ in self.pairs} == queries, f"{name}: a question has no answer"
        assert {passage for _, passage in self.pairs} <= passages, f"{name}: an answer is no passage"
        for (least, most), found, what in zip(self.expected, (queries, passages), ("questions", "passages")):
            if not least <= len(found) <= most:
                raise SystemExit(f"{name}: {len(found)} {what}, not {least} to {most}: a package has changed too much")

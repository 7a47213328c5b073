"""An English question → the whole chapter that has its answer, without headings."""

from ..gold_set import GoldSet, Text
from . import english


def make():
    """The set."""
    short = english.make()
    chapter_of = {key: section.chapter for key, section in english.sections().items()}
    chapters = {}
    for passage in short.passages:
        chapters.setdefault(chapter_of[passage.id], []).append(passage.text)
    passages = [Text(chapter, "\n\n".join(texts), "") for chapter, texts in chapters.items()]
    pairs = [(query, chapter_of[passage]) for query, passage in short.pairs]
    return GoldSet(short.queries, passages, pairs, short.licences, short.packages, ((450, 700), (60, 150)))

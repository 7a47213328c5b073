"""A question of Debian's FAQ in one of eight languages → its English answer, among the passages of `english`."""

from ..gold_set import GoldSet, Text
from . import debian, english, translated


def make():
    """The set."""
    ids, queries, pairs = translated.passage_ids(), [], []
    for language in debian.LANGUAGES:
        for section in translated.sections(language):
            if translated.is_question(section, language):
                query = f"q-{language}-{section.key}"
                queries.append(Text(query, section.title, language))
                pairs.append((query, ids[section.key]))
    versions = english.versions(*debian.LANGUAGES)
    return GoldSet(queries, english.passages(), pairs, english.LICENCES, versions, ((400, 1100), (1200, 3000)))

"""A question of Debian's FAQ in one of nine languages → its answer in that language."""

from ..gold_set import GoldSet, Text
from . import debian, english, translated

LANGUAGES = ("en", *debian.LANGUAGES)


def make():
    """The set."""
    queries, passages, pairs = [], [], []
    for language in LANGUAGES:
        for section in translated.sections(language):
            key = f"{language}-{section.key}"
            passages.append(Text(key, section.body, language))
            if translated.is_question(section, language):
                queries.append(Text(f"q-{key}", section.title, language))
                pairs.append((f"q-{key}", key))
    versions = english.versions(*debian.LANGUAGES)
    expected = ((400, 1200), (500, 1500))
    return GoldSet(queries, passages, pairs, english.LICENCES, versions, expected, corpora=True)

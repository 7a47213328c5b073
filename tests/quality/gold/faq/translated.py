"""Sections of Debian's FAQ in all languages."""

from functools import cache

from . import debian, english

LEAST_CHARACTERS = 20
SAME_CHARACTERS = 60
"""A text that begins with as many of the original is not translated."""


@cache
def passage_ids():
    """The passage of each key in English."""
    return {section.key: passage for passage, section in english.sections().items() if section.key}


def sections(language):
    """The sections of a language that have an answer in English and are translated."""
    originals, ids = debian.sections(), passage_ids()
    for key, section in debian.sections(language).items():
        if key in ids and len(section.body) >= LEAST_CHARACTERS:
            if language == "en" or is_translated(section, originals[key]):
                yield section


def is_translated(section, original):
    """True unless the title or the beginning of the text is the original's."""
    begins = section.body[:SAME_CHARACTERS] == original.body[:SAME_CHARACTERS]
    return section.title != original.title and not begins


def is_question(section, language):
    """True for a title that asks; Japanese and Chinese questions may lack the mark."""
    if section.title[-1] in "?？":
        return True
    return language in ("ja", "zh-cn") and debian.sections()[section.key].title.endswith("?")

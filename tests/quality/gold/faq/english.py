"""An English question → its answer, among all sections of the same manuals."""

from functools import cache

from ..gold_set import GoldSet, Text
from . import debian, git, perl, python

LEAST_WORDS = 8
LICENCES = {
    "perl-doc": perl.LICENCE,
    "python3.11-doc": python.LICENCE,
    "git-doc": git.LICENCE,
    "debian-faq*": debian.LICENCE,
}


@cache
def sections():
    """The sections of all manuals by passage id, texts that occur twice or are short left out."""
    found, seen = {}, set()
    for section in (*perl.sections(), *python.sections(), *git.sections(), *debian.sections().values()):
        if len(section.body.split()) >= LEAST_WORDS and section.body not in seen:
            seen.add(section.body)
            found[f"{section.subject}-{len(found)}"] = section
    return found


def is_question(section):
    """True for a title that asks, and that the answer does not repeat."""
    title = section.title
    return title.endswith("?") and len(title.split()) > 2 and title not in section.body


def passages():
    """A passage for each section."""
    return [Text(key, section.body, section.subject) for key, section in sections().items()]


def versions(*languages):
    """Versions of the packages, with translations into these languages."""
    found = {"perl-doc": perl.package(), "python3.11-doc": python.package(), "git-doc": git.package()}
    found |= {f"debian-faq {language}": debian.package(language) for language in ("en", *languages)}
    return {name: package.version for name, package in found.items()}


def make():
    """The set."""
    asked = {key: section for key, section in sections().items() if is_question(section)}
    queries = [Text(f"q-{key}", " ".join(section.title.split()), section.subject) for key, section in asked.items()]
    pairs = [(f"q-{key}", key) for key in asked]
    return GoldSet(queries, passages(), pairs, LICENCES, versions(), ((450, 700), (1200, 3000)))

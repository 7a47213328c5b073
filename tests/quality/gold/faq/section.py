"""A section of a manual."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A title, which may be a question, and its text. `key` is the same in all translations."""

    subject: str
    chapter: str
    title: str
    body: str
    key: str = ""

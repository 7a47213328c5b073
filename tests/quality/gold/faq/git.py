"""Git's FAQ, tutorials and manual pages, of the package `git-doc`."""

import re

from .. import packages
from ..markup import asciidoc
from .section import Section

LICENCE = "GPL-2.0-only"
MANUAL = (
    "gittutorial gittutorial-2 gitworkflows giteveryday gitcore-tutorial gitattributes gitignore gitrevisions "
    "gitsubmodules gitcredentials git-rebase git-merge git-commit git-push git-fetch git-stash git-branch git-checkout "
    "git-clone git-reset git-worktree"
).split()
LEFT_OUT = ("NAME", "SYNOPSIS", "GIT", "SEE ALSO", "OPTIONS")
QUESTION = re.compile(r"(?ms)^(?:\[\[[^\]]*\]\]\n)([^\n]+\?)::\n(.*?)(?=^\[\[|^[A-Z][^\n]*\n-+\n|\Z)")
HEADING = re.compile(r"(?m)^([A-Za-z][^\n]*)\n[-~=]{4,}\n")


def package():
    """The package."""
    return packages.debian("git-doc")


def sections():
    """Questions of gitfaq, then sections of the manual."""
    folder = package().folder / "usr/share/doc/git-doc"
    for title, body in QUESTION.findall((folder / "gitfaq.txt").read_text(encoding="utf-8")):
        yield Section("git", "gitfaq", title.replace("`", ""), asciidoc(body))
    for chapter in MANUAL:
        parts = HEADING.split((folder / f"{chapter}.txt").read_text(encoding="utf-8"))
        for title, body in zip(parts[1::2], parts[2::2]):
            if title not in LEFT_OUT:
                yield Section("git", chapter, title.rstrip("?"), asciidoc(body))

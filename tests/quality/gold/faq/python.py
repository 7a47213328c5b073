"""Python's FAQ, how-tos and tutorial, of the package `python3.11-doc`."""

import re

from .. import packages
from ..markup import rst, tidy
from .section import Section

LICENCE = "PSF-2.0"
LEFT_OUT = ("index.rst.txt", "clinic.rst.txt")
HEADING = re.compile(r"(?m)^(\S[^\n]*)\n(?:=+|-+|\^+|~+|\*+)\n")


def package():
    """The package."""
    return packages.debian("python3.11-doc")


def sections():
    """Sections of all chapters. Only those of the FAQ count as questions."""
    folder = package().folder / "usr/share/doc/python3.11/html/_sources"
    for file in sorted(file for part in ("faq", "howto", "tutorial") for file in folder.glob(f"{part}/*.rst.txt")):
        if file.name in LEFT_OUT:
            continue
        part, stem = file.parent.name, file.name.split(".")[0]
        parts = HEADING.split(file.read_text(encoding="utf-8"))
        for title, body in zip(parts[1::2], parts[2::2]):
            title = rst(title) if part == "faq" else rst(title).rstrip("?")
            yield Section("python", f"{part}/{stem}", title, tidy(re.sub(r"(?m)^[=*#-]{3,}$", "", rst(body))))

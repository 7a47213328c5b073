"""The examples of the README that show what they print."""

from __future__ import annotations

import doctest

import nanoembed
from conftest import ROOT


def test_the_examples_of_the_readme_print_what_they_show():
    readme = ROOT / "python/README.md"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testfile(str(readme), module_relative=False, optionflags=flags)
    assert found.attempted > 10 and found.failed == 0


def test_the_examples_of_the_package_print_what_they_show():
    for module in (nanoembed, nanoembed._index, nanoembed._model):
        assert doctest.testmod(module).failed == 0

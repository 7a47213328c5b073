#!/usr/bin/env python3
"""Lines that tests run, by part of the project, from what `cargo llvm-cov --lcov` writes.

usage: coverage.py LCOV_FILE [LINES]

Tests beside the code they test do not count. With LINES, the files with the most lines that no test runs are listed, so
many, and their lines. Exits 1 where a part has less than is asked of it."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A part, what is asked of it in per cent, and its files; a file counts for every part that it is of.
PARTS = [
    ("what reads bytes and texts", 95, r"core/src/(bytes\.rs|limit\.rs|format/|read/|text/|token/|model/(source|folder|config)/|subword\.rs)"),
    ("core", 90, r"core/src/"),
    ("nanoembed", None, r"nanoembed/src/"),
    ("ffi", None, r"ffi/src/"),
    ("command line", None, r"cli/src/"),
]


def first_line_of_tests(path):
    """The number of the line from which on a file has its own tests."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines[:-1], 1):
        if line == "#[cfg(test)]" and lines[number].startswith("mod "):
            return number
    return len(lines) + 1


def is_test(name):
    return re.search(r"/tests?(/|\.rs$)|/utf8_shapes\.rs$", name) is not None


def read(lcov):
    """The lines of each file that can run, and whether they did."""
    files = {}
    for line in lcov.read_text().splitlines():
        kind, _, value = line.partition(":")
        if kind == "SF":
            path = pathlib.Path(value)
            lines = files.setdefault(path.relative_to(ROOT).as_posix(), {}) if path.is_relative_to(ROOT) else {}
            end = first_line_of_tests(path) if path.is_relative_to(ROOT) else 0
        elif kind == "DA":
            number, count = (int(field) for field in value.split(",")[:2])
            if number < end:
                lines[number] = lines.get(number, False) or count > 0
    return {name: lines for name, lines in files.items() if lines and not is_test(name)}


def ranges(numbers):
    """Numbers in rising order, as text."""
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in found)


def main():
    files = read(pathlib.Path(sys.argv[1]))
    falls_short = False
    print(f"{'lines':>28}{'run':>9}{'':>9}")
    for part, least, pattern in PARTS:
        lines = [ran for name, lines in files.items() if re.match(pattern, name) for ran in lines.values()]
        if not lines:
            continue
        share = 100 * sum(lines) / len(lines)
        short = least is not None and share < least
        falls_short = falls_short or short
        asked = "" if least is None else f" of {least} % asked" + (", FALLS SHORT" if short else "")
        print(f"{part:28}{len(lines):8}{sum(lines):9}{share:8.2f} %{asked}")
    missing = {name: sorted(number for number, ran in lines.items() if not ran) for name, lines in files.items()}
    for name, numbers in sorted(missing.items(), key=lambda it: -len(it[1]))[: int(sys.argv[2]) if len(sys.argv) > 2 else 0]:
        print(f"{len(numbers):5} of {len(files[name]):5}  {name}: {ranges(numbers)}")
    sys.exit(falls_short)


main()

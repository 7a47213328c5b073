"""What a function does → its source: Python's own library, of the package `libpython3.11-stdlib`.

The query is the first sentence of the docstring, the passage the function without its docstring. Sentences that several
functions share are left out, and trivial functions. Groups: `named` if the sentence shares a word with the function's
name, otherwise `unnamed`.
"""

import ast
import re
import textwrap
from collections import Counter

from . import packages
from .gold_set import GoldSet, Text

PACKAGE = "libpython3.11-stdlib"
LICENCES = {PACKAGE: "PSF-2.0"}
QUERIES = 700
OTHERS = 1300
LEAST_NODES = 25
"""Nodes of the syntax tree of a function that is not trivial."""
LEFT_OUT = "test idlelib lib2to3 pydoc_data encodings turtledemo ensurepip __phello__ __pycache__".split()


def make():
    """The set: functions that are asked for, and others to distract."""
    package = packages.debian(PACKAGE)
    functions = library(package.folder / "usr/lib/python3.11")
    asked = sentences(functions)
    keys = spread(list(asked), QUERIES)
    chosen = {*keys, *spread([key for key in functions if key not in set(keys)], OTHERS)}
    passages = [Text(key, functions[key][1], re.split(r"[.:]", key)[0]) for key in functions if key in chosen]
    queries = [Text(f"q-{key}", asked[key], group(key, asked[key])) for key in keys]
    pairs = [(f"q-{key}", key) for key in keys]
    versions = {PACKAGE: package.version}
    return GoldSet(queries, passages, pairs, LICENCES, versions, ((QUERIES, QUERIES), (1500, QUERIES + OTHERS)))


def spread(items, count):
    """So many of them, at even distances; all if there are fewer."""
    step = max(1, len(items) / count)
    return [items[int(at * step)] for at in range(min(count, len(items)))]


def library(root):
    """The docstring and the source of every function, by `module:name`."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] in LEFT_OUT or path.stem.startswith("_sysconfigdata"):
            continue
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines(keepends=True)
        for name, doc, text in functions(ast.parse(source), "", lines):
            found.setdefault(f"{'.'.join(parts)}:{name}", (doc, textwrap.dedent(text)))
    return found


def functions(node, prefix, lines):
    """Functions of a module and methods of its classes: name, docstring and source without it."""
    for item in node.body:
        if isinstance(item, ast.ClassDef):
            yield from functions(item, f"{prefix}{item.name}.", lines)
        elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(item)
            body = item.body[1:] if doc else item.body
            if body and sum(1 for _ in ast.walk(ast.Module(body, []))) >= LEAST_NODES:
                head = lines[item.lineno - 1 : item.body[0].lineno - 1]
                yield prefix + item.name, doc, "".join(head + lines[body[0].lineno - 1 : item.end_lineno])


def sentences(functions):
    """First sentences of docstrings that describe one function."""
    found = {}
    for key, (doc, _) in functions.items():
        first = re.split(r"(?<=[.!?])\s|\n\s*\n", " \n".join((doc or "").split("\n")).strip())[0]
        first = " ".join(first.split())
        # Signatures, references and remarks to developers describe nothing.
        is_other = re.match(r"(?i)\w+\(.*\)|.*->|see |overrid|internal|private|helper", first)
        if 4 <= len(first.split()) <= 40 and not is_other:
            found[key] = first
    times = Counter(found.values())
    return {key: sentence for key, sentence in found.items() if times[sentence] == 1}


def group(key, sentence):
    """Whether the sentence shares a word with the function's name."""
    name = key.split(":")[1].split(".")[-1]
    return "named" if words(name) & words(sentence) else "unnamed"


def words(text):
    """The beginnings of words and of parts of identifiers."""
    return {word.lower()[:5] for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text) if len(word) > 2}

"""An index finds what the command line finds, and shares its store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import HEADS, MODELS, PROMPTED, program

import nanoembed

FILES = {
    "a.md": "# Cats\n\nThe cat sat on the mat.\n\n## Dogs\n\nThe dog barked at the train.\n",
    "src/open.py": "def open_file(path):\n    return path\n\n\ndef close():\n    pass\n",
    "b/mails.jsonl": '{"id": 7, "text": "The train leaves at noon."}\n{"id": "x", "text": "Oil"}\n',
    "b/list.txt": "the storm at sea\nthe price of oil\nwhere the keys are\n",
    ".hidden.txt": "the cat is hidden\n",
    ".ignore": "left.txt\n",
    "left.txt": "the cat is left out\n",
}
QUERIES = ["Where is the cat?", "train", "open_file", "oil price"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of texts, and no indices yet."""
    monkeypatch.setenv("NANOEMBED_CACHE", str(tmp_path / "cache"))
    for name, text in FILES.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "texts"


def searched(query, *arguments):
    """The hits of the command line, as dictionaries."""
    output = program("search", "-q", "--json", query, *arguments)
    return [json.loads(line) for line in output.splitlines()]


def shown(hits):
    """Hits as the command line has them: scores to the bits of 32-bit floats."""
    return [
        {
            "file": hit.file,
            "line": hit.line,
            "end_line": hit.end_line,
            **hit.members,
            "text": hit.text,
            "score": pytest.approx(hit.score, rel=1e-7),
            "similarity": hit.similarity and pytest.approx(hit.similarity, rel=1e-7),
        }
        for hit in hits
    ]


@pytest.mark.parametrize("opened", [None, PROMPTED, HEADS / "splade"], ids=["own", "file", "sparse"])
def test_hits_are_those_of_the_command_line(opened, folder):
    index = nanoembed.Index(folder, model=opened)
    options = [] if opened is None else ["-m", opened]
    for query in QUERIES:
        for by, option in (("both", []), ("words", ["--exact"]), ("meaning", ["--meaning"])):
            found = index.search(query, k=4, by=by)
            assert found and searched(query, folder, "-k", 4, *option, *options) == shown(found)


def test_options_are_those_of_the_command_line(folder):
    for keywords, options in (
        ({"glob": "*.md"}, ["-g", "*.md"]),
        ({"glob": ["!*.md", "!*.py"]}, ["-g", "!*.md", "-g", "!*.py"]),
        ({"type": "py"}, ["-t", "py"]),
        ({"hidden": True, "no_ignore": True}, ["--hidden", "--no-ignore"]),
        ({"unit": "line"}, ["--by", "line"]),
        ({"keep": False}, ["--no-index"]),
    ):
        index = nanoembed.Index(folder / "b", folder / "a.md", folder, **keywords)
        found = index.search("the cat")
        assert found and searched("the cat", folder / "b", folder / "a.md", folder, *options) == shown(
            found
        )
    reranker, least = MODELS / "cross_encoder", 0.2
    found = index.search("the cat", rerank=nanoembed.Model(reranker), min=least)
    arguments = ["--rerank", reranker, "--min", least]
    assert found and searched("the cat", folder / "b", folder / "a.md", folder, *arguments) == shown(
        found
    )


def test_the_index_is_shared_with_the_command_line(folder):
    program("index", "-q", folder)
    index = nanoembed.Index(folder)
    assert (index.embedded, len(index)) == (0, 8)
    [status] = index.status()
    told = json.loads(program("index", "--status", "--json", folder))
    assert (status.folder, status.files) == (str(folder.resolve()), 4)
    assert {**told, "age_seconds": 0} == {
        **vars(status),
        "age_seconds": 0,
        "model": "the default model",
    }
    (folder / "new.txt").write_text("A whale, far out.")
    index.update()
    assert index.embedded == 1 and index.search("whale", k=1)[0].file == str(folder / "new.txt")
    assert index.drop() == [status.folder]
    assert index.status() == [] and index.drop() == [] and len(index) == 9


def test_without_an_index_nothing_is_written(folder):
    index = nanoembed.Index(folder, keep=False)
    assert index.embedded == len(index) == 8
    assert index.status() == [] and not (folder.parent / "cache").exists()


def test_texts_in_memory_are_passages_with_names(model):
    texts = ["The cat sat.", "It rains. " * 400, "The cat sat."]
    index = nanoembed.Index.from_texts(texts, model=model)
    assert len(index) == 2, "equal texts are there once"
    assert [(hit.file, hit.line) for hit in index.search("cat", by="words")] == [("0", 1)]
    named = nanoembed.Index.from_texts(texts, ["a", "b", "c"], model=model)
    hit = named.search("rain", k=1)[0]
    assert hit.file == "b" and hit.text in texts[1], "the best part of a long text"
    with pytest.raises(ValueError, match="1 names for 3 texts"):
        nanoembed.Index.from_texts(texts, ["a"], model=model)
    with pytest.raises(TypeError, match="no files"):
        index.update()


def test_what_is_left_out_is_warned_of(folder):
    (folder / "odd.jsonl").write_text('{"body": "no text"}\n{"text": "a text"}\n')
    with pytest.warns(UserWarning, match="1 line left out, the first: .*odd.jsonl: line 1") as told:
        index = nanoembed.Index(folder)
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="the built-in model knows English"):
        index.search("погода")
    with pytest.warns(nanoembed.TruncationWarning, match="the query has more than 256 tokens"):
        index.search("cat " * 300)
    with pytest.raises(nanoembed.ModelError, match="no member `text`"):
        nanoembed.Index(folder / "odd.jsonl")


def test_what_makes_no_sense_is_refused(folder, model):
    index = nanoembed.Index(folder, model=model)
    for keywords, message in (
        ({"k": 0}, "k=0"),
        ({"by": "sound"}, "by=\"sound\""),
        ({"vectors": "multi"}, "is dense or sparse"),
        ({"query": " "}, "the query is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            index.search(**{"query": "cat", **keywords})
    with pytest.raises(TypeError, match="compares no texts"):
        index.search("cat", rerank=model)
    with pytest.raises(ValueError, match="unit="):
        nanoembed.Index(folder, model=model, unit="page")
    with pytest.raises(ValueError, match="one file or folder"):
        nanoembed.Index(model=model)
    with pytest.raises(FileNotFoundError):
        nanoembed.Index(folder / "none", model=model)

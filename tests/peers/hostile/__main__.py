"""Small files that are wrong on purpose, opened by nanoembed and by other readers: who refuses, crashes, hangs."""

import argparse
import collections
import datetime
import json
import pathlib
import shutil
import subprocess
import sys

from reader import Reader

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KINDS = ["error", "accepted", "panic", "crash", "hang", "memory"]


def run(*command, cwd=HERE):
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def built(command, name, cwd):
    """The program of a crate, where cargo says that it is."""
    run(*command, "--quiet", cwd=cwd)
    lines = subprocess.run([*command, "--message-format=json", "--quiet"], cwd=cwd, capture_output=True, text=True, check=True)
    messages = map(json.loads, lines.stdout.splitlines())
    return next(it["executable"] for it in messages if it.get("executable") and it["target"]["name"] == name)


def python(folder):
    """A Python with the packages of others."""
    if not (folder / "bin/python").exists():
        run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/pip", "install", "--quiet", "-r", HERE / "requirements.txt")
    return folder / "bin/python"


def node(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in ["package.json", "package-lock.json", "read.mjs"]:
        shutil.copy(HERE / name, folder)
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", cwd=folder)
    return folder


def set_up(work):
    """The files, and a reader or a reason for each column: (name, kind of files, reader)."""
    files = work / "files"
    shutil.rmtree(files, ignore_errors=True)
    cargo = ["cargo", "build", "--locked"]
    writer = built([*cargo, "-p", "nanoembed-tests", "--bin", "hostile_files"], "hostile_files", ROOT)
    ours = built([*cargo, "-p", "nanoembed-host-tests", "--bin", "open_files"], "open_files", ROOT)
    run(writer, files)
    readers = [("nanoembed", kind.name, [ours, kind.name]) for kind in sorted(files.iterdir())]

    def attempt(name, kind, prepare):
        try:
            readers.append((name, kind, prepare()))
        except (OSError, subprocess.CalledProcessError) as reason:
            print(f"left out: {name} ({reason})")

    for package in ["safetensors", "gguf", "sentencepiece", "tokenizers"]:
        attempt(f"{package} (PyPI)", package, lambda name=package: [python(work / "venv"), HERE / "read.py", name])
    attempt("@huggingface/gguf (npm)", "gguf", lambda: ["node", node(work / "node") / "read.mjs"])
    crate = [*cargo, "--release", "--manifest-path", str(HERE / "rust/Cargo.toml")]
    attempt("finalfusion (crates.io)", "finalfusion", lambda: [built(crate, "peer-hostile", HERE)])
    return files, readers


def opened(reader, folder):
    """What becomes of every file of a kind, and of the first of each kind that did not end well."""
    counts, examples = collections.Counter(), {}
    for path in sorted(folder.rglob("*.*")):
        if path.parent.name == "honest":
            continue
        verdict = reader.open(path)
        counts[verdict.kind] += 1
        examples.setdefault(verdict.kind, f"{path.relative_to(folder)}: {verdict.message}")
    for path in sorted((folder / "honest").iterdir()):
        verdict = reader.open(path)
        if verdict.kind != "accepted":
            examples[f"honest {path.name}"] = f"{verdict.kind} {verdict.message}"
    reader.close()
    return counts, examples


def main():
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, default=HERE / ".cache", help="the folder for files and packages (.cache)")
    work = parser.parse_args().work.resolve()
    files, readers = set_up(work)
    print(f"\n{datetime.date.today()}\n\n| files | reader | " + " | ".join(KINDS) + " |\n|---|---|" + "---:|" * len(KINDS))
    remarks, sound = [], True
    for name, kind, command in sorted(readers, key=lambda it: (it[1], it[0] != "nanoembed")):
        # V8 reserves more addresses than it uses.
        reader = Reader([str(part) for part in command], work, limited=command[0] != "node")
        counts, examples = opened(reader, files / kind)
        print(f"| {kind} | {name} | " + " | ".join(str(counts[it] or "") for it in KINDS) + " |", flush=True)
        ended_badly = {it: example for it, example in examples.items() if it not in ("error", "accepted")}
        remarks += [f"{name}, {it}: {example}" for it, example in ended_badly.items()]
        sound = sound and (name != "nanoembed" or not ended_badly)
    print("\n" + "\n".join(remarks))
    sys.exit(not sound)


main()

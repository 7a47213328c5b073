#!/usr/bin/env python3
"""Writes the source distribution: ``python/sdist.py FOLDER``.

``maturin sdist`` leaves out what this package is built from: the workspace that its crates inherit
from, and the model. So the archive has the repository's own layout, cut down to these: each crate's
files as cargo would publish them, the workspace without its other members, the model, and
``pyproject.toml`` at the top, where pip looks for it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "nanoembed-python"
MODEL = "models/all-MiniLM-L6-v2.int8.weights"
# What cargo adds to a package.
GENERATED = {".cargo_vcs_info.json", "Cargo.toml.orig"}


def output(*command: str | Path, folder: Path = ROOT) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def crates() -> dict[str, Any]:
    """The crates of this repository that the package is made of, by name."""
    manifest = ROOT / "python/Cargo.toml"
    metadata = output("cargo", "metadata", "--format-version", "1", "--manifest-path", manifest)
    packages = json.loads(metadata)["packages"]
    return {package["name"]: package for package in packages if package["source"] is None}


def copy(file: Path, target: Path) -> None:
    """Copies what a link leads to, with its time, by which cargo knows what has changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(file, target)


def copy_crate(folder: Path, tree: Path) -> None:
    listed = output("cargo", "package", "--list", "--allow-dirty", folder=folder).splitlines()
    for name in listed:
        # Only the workspace of the package itself is built, and so only its lock file counts.
        is_lock = name == "Cargo.lock" and folder.name != "python"
        if name not in GENERATED and not is_lock:
            copy(folder / name, tree / folder.relative_to(ROOT) / name)


def replaced(pattern: str, replacement: str, text: str) -> str:
    found, count = re.subn(pattern, replacement, text, count=1, flags=re.MULTILINE)
    if count != 1:
        sys.exit(f"there is no {pattern!r} to replace")
    return found


def write_workspace(members: list[str], tree: Path) -> None:
    """The workspace with no other crates than there are."""
    text = (ROOT / "Cargo.toml").read_text()
    text = replaced(r"^members = .*$", f"members = {json.dumps(members)}", text)
    text = replaced(r"^default-members = .*\n", "", text)
    text = replaced(r"^exclude = .*$", 'exclude = ["python"]', text)
    (tree / "Cargo.toml").write_text(text)


def write_project(tree: Path) -> None:
    """``pyproject.toml`` of the folder above the package's own."""
    text = (ROOT / "python/pyproject.toml").read_text()
    places = 'manifest-path = "python/Cargo.toml"\npython-source = "python"'
    text = replaced(r"^\[tool\.maturin\]$", rf"\g<0>\n{places}", text)
    (tree / "pyproject.toml").write_text(text)
    for name in ("README.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE"):
        copy(ROOT / "python" / name, tree / name)


def write_metadata(tree: Path, scratch: Path) -> None:
    """``PKG-INFO``, which is what a wheel's ``METADATA`` is."""
    output("maturin", "pep517", "write-dist-info", "--metadata-directory", scratch, folder=tree)
    [metadata] = scratch.glob("*.dist-info/METADATA")
    copy(metadata, tree / "PKG-INFO")


def write_archive(tree: Path, file: Path) -> None:
    """The same bytes on every machine, if ``SOURCE_DATE_EPOCH`` says of when its files are."""
    date = os.environ.get("SOURCE_DATE_EPOCH")

    def normalised(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        entry.mtime = int(date) if date else entry.mtime
        return entry

    with gzip.GzipFile("", "wb", fileobj=file.open("wb"), mtime=int(date) if date else None) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(tree, tree.name, filter=normalised)


def main() -> None:
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    found = crates()
    name = f"nanoembed-{found[PACKAGE]['version']}"
    folders = sorted(Path(crate["manifest_path"]).parent for crate in found.values())
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / name
        for folder in folders:
            copy_crate(folder, tree)
        members = [str(folder.relative_to(ROOT)) for folder in folders if folder.name != "python"]
        write_workspace(members, tree)
        write_project(tree)
        copy(ROOT / MODEL, tree / MODEL)
        write_metadata(tree, Path(scratch) / "metadata")
        write_archive(tree, target / f"{name}.tar.gz")


if __name__ == "__main__":
    main()

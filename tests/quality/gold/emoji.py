"""The name of an emoji in another language → its English name and keywords.

CLDR's names, in the npm package `emojibase-data`. 40 emoji for each language; flags, skin tones and names that are the
same in English are left out.
"""

import json

from . import packages
from .gold_set import GoldSet, Text

LICENCES = {"emojibase-data": "MIT; the names are CLDR's: Unicode-3.0"}
EACH = 40
LEFT_OUT = ("en", "en-gb", "es-mx", "zh-hant")
FLAGS = 9


def make():
    """The set."""
    package = packages.npm("emojibase-data")
    names = {file.parent.name: read(file) for file in sorted(package.folder.glob("*/compact.json"))}
    english = names["en"]
    shown = [code for code, emoji in english.items() if emoji.get("group") not in (None, FLAGS)]
    describe = lambda emoji: f"{emoji['label']}: {', '.join(emoji.get('tags', []))}"
    passages = [Text(code, describe(english[code]), "en") for code in shown]
    queries, pairs = [], []
    # The turn moves the choice, so that languages ask for different emoji.
    for turn, language in enumerate(names):
        if language in LEFT_OUT:
            continue
        own = names[language]
        label = lambda code: own[code]["label"]
        kept = [code for code in shown if code in own and label(code).lower() != english[code]["label"].lower()]
        for at in range(EACH):
            code = kept[int(at * len(kept) / EACH + turn) % len(kept)]
            queries.append(Text(f"{language}-{code}", label(code), language))
            pairs.append((f"{language}-{code}", code))
    versions = {"emojibase-data": package.version}
    return GoldSet(queries, passages, pairs, LICENCES, versions, ((700, 1100), (1400, 2200)))


def read(file):
    """The emoji of a language by their code points."""
    return {emoji["hexcode"]: emoji for emoji in json.loads(file.read_text(encoding="utf-8"))}

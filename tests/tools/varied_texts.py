"""Texts that are random over words, scripts, spaces, digits, contractions and code, but the same on every run."""

WORDS = (
    "the of and to in is that it was for on are with as his they be at one have this from by hot but some what there we "
    "can out other were all your when up use word how said an each she which do their time if will way about many then "
    "them would write like so these her long make thing see him two has look more day could go come did my sound no most "
    "number who over know water than call first people may down side been now find any new work part take get place made "
    "live where after back little only round man year came show every good me give our under name very through just form "
    "sentence great think say help low line differ turn cause much mean before move right boy old too same tell does set "
    "three want air well also play small end put home read hand port large spell add even land here must big high such"
).split()
SCRIPTS = [
    "éèêëàâäöüßñçøåæœ", "αβγδεζηθικλμνξοπρστυφχψω", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي", "अआइईउऊएऐओऔकखगघङचछजझ", "กขฃคฅฆงจฉชซฌญฎ", "的一是不了人我在有他这中大来上国",
    "あいうえおかきくけこアイウエオ", "가나다라마바사아자차카타파하", "😀😁🚀❤️👍🏽🇩🇪👨‍👩‍👧", "０１２３４５٤٥٦²³¼½Ⅷ①㈠",
    "\u00a0\u2003\u3000\u200b\u0085\u2028\ufeff", "\u0301\u0308\u20dd\u0940", "𝒜𝓑𝔠𝕕𐌰𐍈𒀀𓀀", "ſKÅµªº",
]
CODE = ["def f(x):\n\treturn x + 1\n", "for (int i = 0; i < 10; ++i) {\r\n}\r\n", "<a href=\"x\">y</a>", "#!/bin/sh\n\n\n", "a==b!=c"]


def text(rng, symbols):
    """A text that also spells some of the `symbols`."""
    parts = []
    for _ in range(rng.randrange(1, 14)):
        kind = rng.randrange(10)
        if kind < 4:
            parts.append(rng.choice(WORDS))
        elif kind == 4:
            parts.append(rng.choice(WORDS).capitalize() + rng.choice(["'s", "'LL", "'t", "'re", "'VE", "'d", "'m", "'ſ", "'x"]))
        elif kind == 5:
            script = rng.choice(SCRIPTS)
            parts.append("".join(rng.choice(script) for _ in range(rng.randrange(1, 7))))
        elif kind == 6:
            parts.append(str(rng.randrange(10 ** rng.randrange(1, 9))))
        elif kind == 7:
            parts.append(rng.choice([".", ",", "!?", "...", "--", "(", ")", "\"", "$%", "\n", "\r\n", "\t"]))
        elif kind == 8:
            parts.append(rng.choice(symbols))
        else:
            parts.append(rng.choice(CODE))
        parts.append(rng.choice(["", " ", " ", " ", "  ", "   ", "\n", " \n", "\n\n  ", "\t", "\u00a0"]))
    return "".join(parts)

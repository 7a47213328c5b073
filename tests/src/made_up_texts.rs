//! Synthetic texts in all scripts, with everything that tokenizers treat specially.

/// A deterministic generator of texts.
pub struct Texts {
    state: u64,
}

const WORDS: &[&str] = &[
    "the",
    "Embedding",
    "models",
    "don't",
    "I'LL",
    "naïve",
    "café",
    "cafe\u{301}",
    "Straße",
    "ﬁnance",
    "ｆｕｌｌ",
    "Größe",
    "İstanbul",
    "ΣΊΣΥΦΟΣ",
    "Привет",
    "мир",
    "й",
    "и\u{306}",
    "한국어",
    "\u{1112}\u{1161}\u{11ab}",
    "日本語",
    "テスト",
    "ﾃｽﾄ",
    "が",
    "か\u{3099}",
    "中文字符",
    "繁體",
    "हिन्दी",
    "क्षत्रिय",
    "தமிழ்",
    "ไทย",
    "ภาษาไทย",
    "العربية",
    "עברית",
    "שָׁלוֹם",
    "áéíóú",
    "ﷺ",
    "½",
    "①",
    "x²",
    "10,000",
    "3.14",
    "٣٤",
    "Ⅷ",
    "𝟙𝟚",
    "𝒜",
    "ǅ",
    "ſ",
    "'ſ",
    "ŉ",
    "a\u{328}\u{301}",
    "q\u{307}\u{323}",
    "\u{344}",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "🇩🇪🇫🇷🇮",
    "👍🏽",
    "❤️",
    "#️⃣",
    "🤷🏻‍♀️",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[UNK]",
    "[PAD]",
    "<s>",
    "</s>",
    "<mask>",
    "<unk>",
    "<pad>",
    "<|endoftext|>",
    "<|im_end|>",
    "<bos>",
    "<eos>",
    "<extra_id_3>",
    "[Q] ",
    "[D] ",
    "``",
    "''",
    "▁",
    "▁▁",
    "Ġ",
    "<0x0A>",
    "##ing",
    "foo_bar",
    "HTTPServer2",
    "fn(x)->y;",
    "e-mail@example.org",
    "…",
    "—",
    "«",
    "$",
    "€",
    "^",
    "`",
    "~",
    "+",
    "<",
    ">",
    "=",
    "|",
    "\\",
    "\"",
    "≮",
    "Å",
    "\u{212b}",
    "ゟ",
    "㌀",
    "㋿",
    "ـ",
    "\u{e000}",
    "\u{378}",
    "𠀀",
    "𫝀",
    "豈",
    "\u{2f800}",
    "\u{1F9FF}",
    "ᄀ",
    "가각",
];

const SEPARATORS: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "",
    "",
    "  ",
    "   ",
    "      ",
    "\n",
    "\r\n",
    "\n\n",
    "\t",
    "\t\t\t",
    "\r",
    "\u{a0}",
    "\u{3000}",
    "\u{200b}",
    "\u{200d}",
    "\u{200e}",
    "\u{2028}",
    "\u{85}",
    "\u{b}",
    "\u{c}",
    "\u{1680}",
    "\u{feff}",
    "\u{ad}",
    "\0",
    "\u{1}",
    "\u{7f}",
    "\u{9f}",
    "\u{8f}",
    "\u{fffd}",
    ".",
    ",",
    "!",
    "? ",
    "-",
    "_",
    "/",
    "'",
    "\u{301}",
    "\u{308}\u{301}",
    "\u{94d}",
    "\u{fe0f}",
    "\u{600}",
];

impl Texts {
    /// The texts of this `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 16).expect("48 bits") % limit
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A character of any kind, mostly of the first planes.
    fn character(&mut self) -> char {
        let limit = [0x80, 0x250, 0x800, 0x3400, 0x1_0000, 0x3_0000, 0x11_0000][self.below(7)];
        let code = u32::try_from(self.below(limit)).expect("a code point");
        char::from_u32(code).unwrap_or('\u{d7ff}')
    }

    /// Fixed texts that every tokenizer should be tested with.
    #[must_use]
    pub fn fixed(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            ["", " ", "  ", "\n", "\0", "a", "\u{301}", "▁", "a ", " a"].map(String::from).into();
        texts.extend(WORDS.iter().chain(SEPARATORS).map(|word| (*word).to_owned()));
        for part in ["a", "ab", " ", "\u{301}", "é", "中", "👨‍👩‍👧‍👦", "'s", "1", ".", "\n", "<mask>"]
        {
            texts.push(part.repeat(300));
        }
        texts
    }

    /// Makes a text.
    pub fn make(&mut self) -> String {
        let mut text = String::new();
        let parts = [3, 8, 30, 120][self.below(4)];
        for _ in 0..self.below(parts) {
            match self.below(12) {
                0 => (0..=self.below(6)).for_each(|_| text.push(self.character())),
                1 => text.push_str(&self.one_of(WORDS).repeat(2)),
                2 => text.push_str(&self.one_of(SEPARATORS).repeat(3)),
                3 => text.push_str(&self.one_of(WORDS).to_uppercase()),
                _ => text.push_str(self.one_of(WORDS)),
            }
            text.push_str(self.one_of(SEPARATORS));
        }
        text
    }
}

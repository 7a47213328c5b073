//! Texts that tokenizers stumble over, made by chance.

/// Texts that tokenizers stumble over.
pub(crate) const TEXTS: [&str; 8] = [
    "",
    "How do I reset my password?",
    "  HÉLLO,\u{a0}wörld\u{200b}! 中国 \u{301}x ",
    "[SEP] [CLS]x[MASK] [PAD][UNK] [unk]",
    "<s>a</s> <mask>  b <MASK>x<pad> <unk>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
    "각 İI ﬁ ½ ß Σας\r\n\tx",
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen one two \
     three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen one two three \
     four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
];

/// What generated texts are made of.
pub(crate) const PARTS: &[&str] = &[
    "the",
    "and ",
    " of",
    "Reset",
    "PASSWORD",
    "ing",
    "é",
    "e\u{301}",
    "ﬁ",
    "Ａ",
    "ａｂ",
    "①",
    "½",
    "ß",
    "İ",
    "Σας",
    "привет ",
    "ё",
    "и\u{306}",
    "漢字",
    "中国",
    "、",
    "かな",
    "ガ",
    "ｶﾞ",
    "각",
    "\u{1100}\u{1161}\u{11A8}",
    "नमस्ते",
    "क्षि",
    "ส\u{E33}",
    "שָׁלוֹם",
    "مرحبا",
    "لا",
    "\u{200d}",
    "👩\u{200d}👩\u{200d}👧",
    "🇩🇪🇫",
    "👍🏽",
    "\u{fe0f}",
    "\u{ad}",
    "\u{feff}",
    "\u{200b}",
    "\0",
    "\u{1}",
    "\u{85}",
    "\u{fffd}",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "▁",
    "▁▁",
    "<s>",
    "</s>",
    "<mask>",
    " <mask> ",
    "<unk>",
    "<pad>",
    "<bos>",
    "<0x0A>",
    "\n\n",
    "▁▁▁▁ ",
    "====",
    " for the cursor",
    "[CLS]",
    "0",
    "12",
    "3.14",
    "!",
    "?!",
    "...",
    "…",
    "'s",
    "don't",
    "-",
    "_",
    "#",
    "@x",
    "a",
    "aaa",
    "zzzzzzzz",
    "\u{301}",
    "\u{300}\u{301}",
    "x\u{323}\u{307}",
    "\u{1D15E}",
    "\u{10FFFF}",
    "ŀ",
    "™",
    "㎏",
    "㋿",
    "ﷺ",
];

/// Texts of up to so many parts, the same in every run.
pub(crate) fn generated(count: usize, most: usize) -> Vec<String> {
    let mut state = 12_345_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut text = |_| {
        let parts = random(most) + 1;
        (0..parts).map(|_| PARTS[random(PARTS.len())]).collect()
    };
    (0..count).map(&mut text).collect()
}

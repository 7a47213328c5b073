//! Properties of every text and every vocabulary, tested on random ones. The assertions are those
//! of the fuzz target.

use nanoembed_tests::fuzz::{tokenizer, tokenizer_seeds};
use proptest::collection::vec;
use proptest::prelude::*;

/// Characters that interact in words: letters, marks of all kinds, spaces, ideographs, syllables,
/// parts of special tokens.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ab]{1,4}",
        2 => "[a-zA-Z0-9]{1,3}",
        2 => prop::sample::select(vec![
            "[CLS]", "[MASK]", "[", "CLS]", " ", "\n", ".", "é", "E\u{301}", "İ", "中", "가", "각", "\u{F900}",
            "\u{302E}", "\u{1D16D}", "\u{1D165}", "\u{301}", "\u{901}", "\u{200B}", "\0", "\u{10FFFF}", "ßẞ", "≮",
        ]).prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
        1 => "[ab]{95,105}",
    ];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "(##)?[ab]{0,5}",
        "(##)?[a-e0-3]{1,2}",
        "(##)?(中|가|ᄀ|ᅡ|ᆨ|é|e|i|ss|<|\u{302E}|\u{1D165})",
        "[CLS]",
        Just("#".into()),
    ];
    vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

/// A token that may begin or end within a character.
fn piece_of_characters() -> impl Strategy<Value = Vec<u8>> {
    ("(##)?", "[a中é]{1,2}", 0..6_usize, 0..6_usize).prop_map(|(prefix, text, from, to)| {
        let bytes = text.as_bytes();
        let piece = bytes.get(from..to).unwrap_or(bytes);
        [prefix.as_bytes(), piece].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn indices_and_a_plain_implementation_agree(mode in 0_u8..8, lines in lines(), text in text()) {
        let data = [&[mode], lines.as_bytes(), &[0xFF], text.as_bytes()].concat();
        tokenizer(&data);
    }

    #[test]
    fn tokens_that_are_not_utf8_match_nothing(
        mode in 0_u8..8,
        lines in vec(piece_of_characters(), 0..20),
        text in "[a中é]{1,6}( [a中é]{1,6})?",
    ) {
        let data = [&[mode], lines.join(&b'\n').as_slice(), &[0xFF], text.as_bytes()].concat();
        tokenizer(&data);
    }

    #[test]
    fn bytes_that_are_no_vocabulary_do_no_harm(
        mode in 8_u8..16,
        count in 0_u8..12,
        flags in 0_u8..4,
        size in 0_u8..20,
        special in any::<[u8; 5]>(),
        rest in vec(prop_oneof![4 => 0_u8..6, 1 => any::<u8>(), 1 => Just(b'a')], 0..300),
    ) {
        let special = special.map(|id| id % 13);
        let data = [&[mode, count, flags, size], special.as_slice(), &rest].concat();
        tokenizer(&data);
    }

    #[test]
    fn a_vocabulary_with_damage_does_no_harm(
        seed in 0_usize..48,
        damage in vec((1_usize..1000, any::<u8>()), 1..4),
    ) {
        let mut data = tokenizer_seeds()[seed].clone();
        for (at, byte) in damage {
            let at = 1 + at % (data.len() - 1);
            data[at] = byte;
        }
        tokenizer(&data);
    }
}

//! Every code point is a word character, or not, as in PyPI's `tokenizers`: for the pre-tokenizer
//! `Whitespace`, and next to added tokens with `single_word`.

use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use serde_json::json;

const UNKNOWN: u32 = 0;
const LETTER: u32 = 1;
const ADDED: u32 = 2;

/// A tokenizer with the word `a` and the added token `zq`.
fn tokenizer() -> Pipeline {
    let json = json!({
        "version": "1.0",
        "added_tokens": [{
            "id": ADDED, "content": "zq", "single_word": true, "lstrip": false, "rstrip": false,
            "normalized": false, "special": false,
        }],
        "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"[UNK]": UNKNOWN, "a": LETTER},
        },
    });
    Pipeline::read(&json.to_string()).expect("a tokenizer")
}

/// The reference: each line has the first and last code point of a range of word characters.
fn reference() -> Vec<bool> {
    let mut is_word = vec![false; 0x11_0000];
    for line in include_str!("../data/unicode/word_characters.txt").lines() {
        let mut ends = line.split(' ').map(|end| usize::from_str_radix(end, 16).expect("hex"));
        let (first, last) = (ends.next().expect("first"), ends.next().expect("last"));
        is_word[first..=last].fill(true);
    }
    is_word
}

#[test]
fn every_code_point_is_part_of_words_as_in_tokenizers() {
    let (tokenizer, is_word) = (tokenizer(), reference());
    let mut session = PipelineSession::default();
    let mut ids = |text: String| {
        let found = tokenizer.encode(&text, usize::MAX, SpecialTokens::AsTokens, &mut session);
        found.expect("a text").ids
    };
    let (mut words, mut others) = (0, 0);
    for c in '\0'..=char::MAX {
        let is_word = is_word[c as usize];
        *(if is_word { &mut words } else { &mut others }) += 1;
        // Detectable only if a different piece follows.
        let starts_with_letter = ids(format!("a{c}")).first() == Some(&LETTER);
        assert_eq!(starts_with_letter, !is_word, "{c:?} after a letter");
        for text in [format!("{c}zq"), format!("zq{c}")] {
            assert_eq!(ids(text).contains(&ADDED), !is_word, "{c:?} beside a token");
        }
    }
    assert_eq!((words, others), (144_667, 0x11_0000 - 0x800 - 144_667));
}

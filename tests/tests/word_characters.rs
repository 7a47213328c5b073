//! Every code point is part of words, or not, as PyPI's `tokenizers` has it: for the pre-tokenizer
//! `Whitespace`, and beside added tokens that have to stand alone (`single_word`).

use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use serde_json::json;

const UNKNOWN: u32 = 0;
const LETTER: u32 = 1;
const ADDED: u32 = 2;

/// A tokenizer that knows the word `a` and the added token `zq`.
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

/// The code points from the first to the last of each line are part of words.
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
        // Known only where what follows is another piece.
        let starts_with_letter = ids(format!("a{c}")).first() == Some(&LETTER);
        assert_eq!(starts_with_letter, !is_word, "{c:?} behind a letter");
        for text in [format!("{c}zq"), format!("zq{c}")] {
            assert_eq!(ids(text).contains(&ADDED), !is_word, "{c:?} beside a token");
        }
    }
    assert_eq!((words, others), (144_667, 0x11_0000 - 0x800 - 144_667));
}

//! Settings of tokenizers that are refused.

extern crate std;

use std::format;
use std::string::String;

use super::tokenizer_root;
use crate::error::ErrorKind::{BadJson, BadMetadata, BadVocabulary, UnsupportedSetting};
use crate::text::json::tests::{AT, Row, changed, check, read, refusal};

mod around;
mod byte_pairs;
mod unigram;
mod word_pieces;

#[test]
fn a_tokenizer_is_refused_at_the_byte_that_is_wrong() {
    let failure = |bytes: &[u8]| {
        let fault = tokenizer_root::read(bytes, AT).unwrap_err();
        (fault.error.kind(), fault.error.offset().unwrap() - AT, String::from(fault.key))
    };
    assert_eq!(failure(b"{\"a\": \"\xff\"}"), (BadVocabulary, 0, String::new()));
    assert_eq!(failure(b"{\"a\": ?}"), (BadJson, 6, String::new()));
    assert_eq!(failure(b"[]"), (BadMetadata, 0, String::new()));
    assert_eq!(failure(b"{\"version\": \"2.0\"}"), (UnsupportedSetting, 12, "version".into()));
    let cut = |members: &str| failure(format!("{{\"truncation\": {members}}}").as_bytes());
    assert_eq!(cut("7"), (BadMetadata, 15, "truncation".into()));
    assert_eq!(cut("{\"direction\": \"Left\"}"), (UnsupportedSetting, 29, "direction".into()));
    assert_eq!(cut("{\"max_length\": -1}"), (BadMetadata, 30, "max_length".into()));
    assert_eq!(cut("{\"odd\": 1}"), (UnsupportedSetting, 23, "odd".into()));
}

//! The generated tables of characters in core.

use crate::{decomposed_tables, letter_classes, pipeline_tables, unicode_tables, word_characters};

/// One past the last code point.
pub(crate) const CODE_POINTS: u32 = 0x11_0000;

/// The range of Hangul syllables, which are decomposed and composed by arithmetic.
pub(crate) const HANGUL: std::ops::RangeInclusive<u32> = 0xAC00..=0xD7A3;

/// The path of a file in core's folder, and the generator of its text.
pub type Table = (&'static str, fn() -> String);

/// All of them.
pub const TABLES: [Table; 6] = [
    ("src/token/tables.rs", unicode_tables::generate),
    ("src/token/decomposed_tables.rs", decomposed_tables::generate),
    ("src/token/bpe/letters.rs", letter_classes::generate),
    ("src/token/bpe/letter_cases.rs", letter_classes::generate_cases),
    ("src/token/word_tables.rs", word_characters::generate),
    ("src/token/unicode/tables.rs", pipeline_tables::generate),
];

/// The path of core's folder.
pub const CORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_in_core_are_what_the_generators_write() {
        for (path, generate) in TABLES {
            let committed = std::fs::read_to_string(format!("{CORE}/{path}")).expect(path);
            assert!(
                committed == generate(),
                "{path}: run `cargo run -p nanoembed-tests --bin generate_unicode` and look at the difference"
            );
        }
    }
}

//! Rewrites the tables of characters in core.

fn main() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/tables.rs");
    std::fs::write(path, nanoembed_tests::unicode_tables::generate())?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/decomposed_tables.rs");
    std::fs::write(path, nanoembed_tests::decomposed_tables::generate())?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/bpe/letters.rs");
    std::fs::write(path, nanoembed_tests::letter_classes::generate())?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/word_tables.rs");
    std::fs::write(path, nanoembed_tests::word_characters::generate())?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/unicode/tables.rs");
    std::fs::write(path, nanoembed_tests::pipeline_tables::generate())
}

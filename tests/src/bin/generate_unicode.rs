//! Rewrites `core/src/token/tables.rs` and `core/src/token/bpe/letters.rs`.

fn main() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/tables.rs");
    std::fs::write(path, nanoembed_tests::unicode_tables::generate())?;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/bpe/letters.rs");
    std::fs::write(path, nanoembed_tests::letter_classes::generate())
}

//! Rewrites `core/src/token/tables.rs`.

fn main() -> std::io::Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/src/token/tables.rs");
    std::fs::write(path, nanoembed_tests::unicode_tables::generate())
}

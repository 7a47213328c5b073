//! Regenerates the tables of characters in core.

use nanoembed_tests::core_tables::{CORE, TABLES};

fn main() -> std::io::Result<()> {
    TABLES
        .iter()
        .try_for_each(|(path, generate)| std::fs::write(format!("{CORE}/{path}"), generate()))
}

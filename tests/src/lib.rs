//! What the suites in `tests/` and the fuzz targets share: generators, references and checks.

pub mod unicode_tables;
pub mod vocabularies;

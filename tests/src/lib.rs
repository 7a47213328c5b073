//! What the suites in `tests/`, the benchmarks and the fuzz targets share.
//!
//! * [`events`]: events as owned values, with data pieces joined, so that runs can be compared.
//! * [`sources`]: one decoder run through every source.
//! * [`contract`]: a decoder that checks the contract of [`nanoembed_core::event`] at every call.
//! * [`finalfusion`]: finalfusion files written anew, made up, and opened.
//! * [`formats`]: the table of formats that generic suites loop over.
//! * [`hostile`]: files made wrong on purpose.
//! * [`int8`]: the published model with 8-bit matrices.
//! * [`minilm`]: the reference sentences and the published model.
//! * [`vocabularies`]: small vocabularies, as files hold them.
//! * [`wordpiece_reference`]: WordPiece without regard to time.
//! * [`unicode_tables`]: generates core's character tables.
//! * [`english`]: text for benchmarks.
//! * [`fuzz`]: what the fuzz targets call.
//! * [`data`]: where test files lie.
//! * [`values`]: comparing arrays of numbers.

pub mod contract;
pub mod data;
pub mod english;
pub mod events;
pub mod finalfusion;
pub mod formats;
pub mod fuzz;
pub mod hostile;
pub mod minilm;
pub mod sources;
pub mod unicode_tables;
pub mod values;
pub mod vocabularies;
pub mod wordpiece_reference;

//! What the suites in `tests/`, the benchmarks and the fuzz targets share.
//!
//! * [`events`]: events as owned values, with data pieces joined, so that runs can be compared.
//! * [`sources`]: one decoder run through every source.
//! * [`contract`]: a decoder that checks the contract of [`nanoembed_core::event`] at every call.
//! * [`formats`]: the table of formats that generic suites loop over.
//! * [`hostile`]: files made wrong on purpose.
//! * [`fuzz`]: what the fuzz targets call.
//! * [`data`]: where test files lie.
//! * [`values`]: comparing arrays of numbers.

pub mod contract;
pub mod data;
pub mod events;
pub mod formats;
pub mod fuzz;
pub mod hostile;
pub mod sources;
pub mod values;

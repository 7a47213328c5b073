//! Python's package `nanoembed`: what its Python modules are made of. They check and spell
//! arguments as Python does; this converts them, calls the crate `nanoembed`, and converts results.
//!
//! | module | role |
//! |---|---|
//! | `texts` | texts to be embedded: strings of Python, or columns of Arrow, neither of them copied |
//! | `rows` | vectors on their way out, for NumPy and Arrow, not copied either |
//! | `other_vectors` | sparse vectors and vectors of tokens on their way out, and MaxSim |
//! | `watch` | work without the interpreter's lock, interrupted by Ctrl-C |
//! | `threads` | threads that a forked process starts again |
//! | `model` | models of texts |
//! | `limits` | limits on the memory that a file may take |
//! | `generate` | continuations |
//! | `index` | files and folders that are searched |
//! | `words` | word vectors |
//! | `files` | inspection, verification, conversion |
//! | `weights` | weights in other formats, as floats, and compared |
//! | `error` | the library's errors as exceptions |

mod error;
mod files;
mod generate;
mod index;
mod limits;
mod model;
mod other_vectors;
mod rows;
mod texts;
mod threads;
mod watch;
mod weights;
mod words;

use pyo3::prelude::*;

/// The part of the package that is compiled. Use the package, not this.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::files::{
        convert_model, convert_words, inspection, is_model_name, quantize, verification,
    };
    #[pymodule_export]
    use super::generate::Pieces;
    #[pymodule_export]
    use super::index::{Index, drop_indices, index_states};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::other_vectors::max_sim;
    #[pymodule_export]
    use super::rows::Rows;
    #[pymodule_export]
    use super::weights::{Floats, dequantize, differences, migrate};
    #[pymodule_export]
    use super::words::Words;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let usual = nanoembed::Limits::default();
        module.add("FILE_BYTES", usual.file_bytes)?;
        module.add("SESSION_BYTES", usual.session_bytes)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

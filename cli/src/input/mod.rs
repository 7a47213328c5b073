//! Texts: arguments, or lines of stdin and files, read as they are needed.
//!
//! | file | role |
//! |---|---|
//! | `rows` | rows of a CSV file |
//! | `source` | a file or stdin, as bytes |
//! | `arguments` | arguments about texts |
//! | `error_policy` | treatment of lines that cannot be used |
//! | `pairs` | a question, and texts that may answer it |
//! | `texts` | texts in chunks of bounded size, read ahead of the work |
//! | `whole_text` | the whole text of a file |

mod arguments;
mod error_policy;
mod pairs;
mod rows;
mod source;
mod texts;
mod whole_text;

pub(crate) use arguments::{FormArgs, InputArgs, LineFormat};
pub(crate) use error_policy::OnError;
pub(crate) use pairs::PairArgs;
pub(crate) use source::{lines, read};
#[cfg(feature = "parquet")]
pub(crate) use texts::LeftOut;
pub(crate) use texts::{Item, Reader, Texts};
pub(crate) use whole_text::whole_text;

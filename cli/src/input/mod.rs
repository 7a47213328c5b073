//! Texts: arguments, or lines of stdin and files, read as they are needed.
//!
//! | file | role |
//! |---|---|
//! | `lines` | the lines of a file, with their places |
//! | `json_line` | a line that is a JSON object with a text |
//! | `rows` | rows of a CSV file |
//! | `source` | a file or stdin, as bytes |
//! | `surrogates` | halves of characters in JSON |
//! | `arguments` | arguments about texts |
//! | `error_policy` | treatment of lines that cannot be used |
//! | `pairs` | a question, and texts that may answer it |
//! | `texts` | texts in chunks of bounded size, read ahead of the work |
//! | `whole_text` | the whole text of a file |

mod arguments;
mod error_policy;
mod json_line;
mod lines;
mod pairs;
mod rows;
mod source;
mod surrogates;
mod texts;
mod whole_text;

pub(crate) use arguments::{FormArgs, InputArgs, LineFormat};
pub(crate) use error_policy::OnError;
#[cfg(feature = "parquet")]
pub(crate) use json_line::ID;
pub(crate) use lines::Lines;
pub(crate) use pairs::PairArgs;
pub(crate) use source::read;
pub(crate) use texts::{Item, LeftOut, Reader, Texts};
pub(crate) use whole_text::whole_text;

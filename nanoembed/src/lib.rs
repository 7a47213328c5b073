//! Embedding models and word vectors on a host.

mod choice;
mod error;
mod progress;

#[doc(hidden)]
pub mod causal;
#[doc(hidden)]
pub mod convert;
#[doc(hidden)]
pub mod embed;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod glob;
#[doc(hidden)]
pub mod inspect;
mod limits;
#[doc(hidden)]
pub mod open;
#[doc(hidden)]
pub mod stored;
#[doc(hidden)]
pub mod units;
#[doc(hidden)]
pub mod words;

pub use choice::Choice;
pub use error::{Error, Kind, Result};
#[doc(hidden)]
pub use error::{hint, name_of, name_of_output, place_of};
pub use progress::{Observer, Progress, Silent, Task, Unit};

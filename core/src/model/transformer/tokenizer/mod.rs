//! Texts to token ids as the `tokenizer.json` in a file says, in lent memory, with the ids of
//! `owned::Pipeline`.
//!
//! | part | what it is |
//! |---|---|
//! | `source` | which tokenizer a file has, and how much memory that takes |
//! | `unigram` | opening a Unigram tokenizer, and its texts |
//! | `normalizer`, `pieces` | what is done to these texts before |
//! | `added` | the tokens that were added to a vocabulary |
//! | `around` | what is put around ids |
//! | `memory` | the memory lent |
//! | `ready` | texts to ids |

mod added;
mod around;
mod memory;
mod normalizer;
mod pieces;
mod ready;
mod source;
mod unigram;

pub use memory::{FolderTokenizerMemory, FolderTokenizerNeeds, TokenizingMemory, TokenizingNeeds};
pub use ready::FolderTokenizer;
pub use source::FolderTokenizerSource;
pub(super) use unigram::UnigramParts;

use crate::error::{Error, ErrorKind};

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

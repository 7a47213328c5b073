//! Texts to token ids as the `tokenizer.json` in a file says, in lent memory, with the ids of
//! `owned::Pipeline`.
//!
//! | part | what it is |
//! |---|---|
//! | `file` | the tokenizer of a file |
//! | `source` | which tokenizer a file has, and how much memory that takes |
//! | `unigram` | opening a Unigram tokenizer, and its texts |
//! | `normalizer`, `pieces` | what is done to these texts before |
//! | `byte_pairs`, `nfc_window` | the same of byte-level BPE, and Unicode's form NFC |
//! | `fallback` | the same of BPE over characters with byte fallback |
//! | `merges` | merges, and an index over them |
//! | `vocabulary` | tokens, and indices over them and the added ones |
//! | `added` | the tokens that were added to a vocabulary |
//! | `unigram_settings`, `bpe_settings` | the descriptions that are done here |
//! | `ends` | the tokens around a text |
//! | `pair` | two texts, with the tokens around and between them |
//! | `prompt_text` | a text after a prompt |
//! | `memory` | the memory lent |
//! | `encoding` | texts to ids |

mod added;
mod bpe_settings;
mod byte_pairs;
mod encoding;
mod ends;
mod fallback;
mod file;
mod memory;
mod merges;
mod nfc_window;
mod normalizer;
pub(super) mod pair;
mod pieces;
mod prompt_text;
mod source;
mod unigram;
mod unigram_settings;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use encoding::FolderTokenizer;
pub use memory::{TokenizingMemory, TokenizingNeeds};
pub use source::FolderTokenizerSource;

use crate::error::{Error, ErrorKind, Result};
use crate::token::AddedTable;
use crate::token::added_parts::Part;

/// Takes the ids of a text, and `None` where a piece of it ends, of which the model makes ids by
/// itself.
type Give<'g> = dyn FnMut(Option<u32>) + 'g;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// Gives the ids of the added tokens of a text, and calls `plain` with what lies between them.
fn each_plain(
    added: &AddedTable<'_>,
    text: &str,
    give: &mut Give<'_>,
    plain: &mut dyn FnMut(&str, &mut Give<'_>) -> Result<()>,
) -> Result<()> {
    added.parts(text, &mut |part| match part {
        Part::Added { id, .. } => {
            give(Some(id));
            Ok(())
        }
        Part::Plain(place) => plain(text.get(place).unwrap_or_default(), give),
    })
}

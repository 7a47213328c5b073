//! Added tokens as files describe them.

use super::{JsonPlace, SpelledText};
use crate::text::json::{Read, Value};
use crate::token::AddedRules;

/// A token that was added to a vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct AddedTokenSpec<'a> {
    /// The id that the file says. `tokenizers` numbers by itself those that the vocabulary has not.
    pub id: u32,
    /// Its text.
    pub content: SpelledText<'a>,
    /// How it is found.
    pub rules: AddedRules,
    /// True if it is looked for in normalised text.
    pub normalized: bool,
    /// True if it is a special token, which decoders may leave out.
    pub special: bool,
    /// Where it is spelled.
    pub place: JsonPlace<'a>,
}

/// A reader of a token of a list of JSON.
pub type ReadAdded = for<'t> fn(Value<'t>) -> Read<'t, AddedTokenSpec<'t>>;

/// Added tokens, in the order of the file.
#[derive(Clone, Copy, Debug)]
pub enum AddedTokenSpecs<'a> {
    /// In memory.
    Listed(&'a [AddedTokenSpec<'a>]),
    /// Items of a list of JSON, all of which have been read before.
    Json {
        /// The list.
        list: Value<'a>,
        /// The reader of an item.
        read: ReadAdded,
    },
}

impl<'a> AddedTokenSpecs<'a> {
    /// The tokens.
    pub fn iter(&self) -> impl Iterator<Item = Read<'a, AddedTokenSpec<'a>>> + use<'a> {
        // One after the other by hand: chains of iterators are kilobytes of code.
        let (mut listed, mut json) = match *self {
            Self::Listed(tokens) => (tokens.iter(), None),
            Self::Json { list, read } => ([].iter(), Some((list.items(), read))),
        };
        core::iter::from_fn(move || match &mut json {
            Some((items, read)) => items.next().map(*read),
            None => listed.next().map(|token| Ok(*token)),
        })
    }

    /// Where the list is spelled.
    #[must_use]
    pub const fn place(&self) -> JsonPlace<'a> {
        match self {
            Self::Listed(_) => JsonPlace::NONE,
            Self::Json { list, .. } => JsonPlace::new(*list),
        }
    }
}

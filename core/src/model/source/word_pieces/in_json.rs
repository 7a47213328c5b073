//! Added tokens as a `tokenizer.json` has them.

use crate::error::Result;
use crate::model::source::word_pieces::BAD;
use crate::text::character::utf8;
use crate::text::json::{Object, Read, Value, chars};
use crate::token::{AddedRules, Vocabulary};

/// The longest added token that is compared with the vocabulary.
const MOST_BYTES: usize = 64;

/// An added token.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct TokenInJson<'a> {
    pub(in crate::model) id: u32,
    /// Its spelling, as JSON spells that.
    content: &'a str,
    pub(in crate::model) rules: AddedRules,
    pub(in crate::model) normalized: bool,
}

impl<'a> TokenInJson<'a> {
    pub(in crate::model) fn read(value: Value<'a>) -> Read<'a, Self> {
        let token = Object::new(value)?;
        let truth = |name| token.needed(name, token.truth(name)?);
        let rules = AddedRules {
            strips_before: truth("lstrip")?,
            strips_behind: truth("rstrip")?,
            single_word: truth("single_word")?,
        };
        let normalized = truth("normalized")?;
        truth("special")?;
        let content = token.needed("content", token.text("content")?)?;
        let id = token.needed("id", token.integer("id")?)?;
        let id = u32::try_from(id).map_err(|_| token.bad("id", "ids have 32 bits"))?;
        token.finish(&[])?;
        Ok(Self { id, content, rules, normalized })
    }

    pub(in crate::model) fn spelling(&self) -> impl Iterator<Item = Result<char>> + use<'a> {
        chars(self.content).map(Ok)
    }

    /// Refuses a token of another id than `tokenizers` would give it: that of the vocabulary, or
    /// else `next`, which is counted on then.
    pub(in crate::model) fn check(
        &self,
        vocabulary: &impl Vocabulary,
        next: &mut u32,
    ) -> Result<()> {
        let mut spelling = heapless::Vec::<u8, MOST_BYTES>::new();
        let mut room = [0; 4];
        for c in chars(self.content) {
            let bytes = utf8(c, &mut room).as_bytes();
            spelling.extend_from_slice(bytes).map_err(|_| BAD)?;
        }
        let id = vocabulary.find(&spelling)?.unwrap_or_else(|| {
            let id = *next;
            *next = id.saturating_add(1);
            id
        });
        if id == self.id { Ok(()) } else { Err(BAD) }
    }
}

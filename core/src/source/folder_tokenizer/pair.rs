//! Two texts to ids.

use super::memory::TokenizingMemory;
use super::{FolderTokenizer, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::text::json::Read;
use crate::token::Encoded;
use crate::token::longest_first::longest_first;
use crate::token::spec::{IdItem, IdPart, IdTemplate, TokenizerSpec};

/// The tokens around and between two texts.
pub(in crate::source) fn pair_template<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, IdTemplate> {
    let template = IdTemplate::new(&spec.post_processor, &spec.post_processor.pair);
    let only = "each of two texts is to be there once";
    match template.has_both_once() {
        true => Ok(template),
        false => Err(spec.place.unsupported(&["post_processor", "pair"], only)),
    }
}

impl FolderTokenizer<'_> {
    /// The ids and types of two texts with what is put around and between them. If there are more
    /// than fit, the longer text is shortened first.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode); [`ErrorKind::OtherModel`] if the model compares no texts.
    pub fn encode_pair(
        &self,
        texts: [&str; 2],
        (ids, types): (&mut [u32], &mut [u8]),
        mut memory: TokenizingMemory<'_>,
    ) -> Result<Encoded> {
        let other = Error::without_offset(ErrorKind::OtherModel);
        let template = self.pair.as_ref().ok_or(other)?;
        let [first, second] = texts;
        let most = ids.len().min(types.len());
        let room = most.checked_sub(template.added()).ok_or(TOO_SMALL)?;
        let first_tokens = self.count(first, memory.again())?;
        let second_tokens = self.count(second, memory.again())?;
        let kept = longest_first(first_tokens, second_tokens, room);
        let mut places = ids.iter_mut().zip(types);
        let mut tokens = 0_usize;
        for IdItem { part, kind } in template.items() {
            let mut put = |id| {
                if let Some((place, place_of_kind)) = places.next() {
                    (*place, *place_of_kind) = (id, *kind);
                    tokens = tokens.saturating_add(1);
                }
            };
            match part {
                IdPart::First => self.start(first, kept.0, memory.again(), &mut put)?,
                IdPart::Second => self.start(second, kept.1, memory.again(), &mut put)?,
                IdPart::Special(id) => put(*id),
            }
        }
        let all = first_tokens.saturating_add(second_tokens).saturating_add(template.added());
        Ok(Encoded::new(tokens, all, all > tokens))
    }

    /// The number of tokens of a whole text.
    fn count(&self, text: &str, memory: TokenizingMemory<'_>) -> Result<usize> {
        let mut count = 0_usize;
        self.each(&[text], memory, &mut |id| {
            count = count.saturating_add(usize::from(id.is_some()));
        })?;
        Ok(count)
    }

    /// Calls `put` with the first `kept` ids of a text.
    fn start(
        &self,
        text: &str,
        kept: usize,
        memory: TokenizingMemory<'_>,
        put: &mut dyn FnMut(u32),
    ) -> Result<()> {
        let mut left = kept;
        self.each(&[text], memory, &mut |id| {
            if let Some(id) = id.filter(|_| left > 0) {
                left = left.saturating_sub(1);
                put(id);
            }
        })
    }
}

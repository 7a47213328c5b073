//! The tokens around a text: at most one before it and one after it.

use super::{Give, TOO_SMALL};
use crate::error::Result;
use crate::text::json::Read;
use crate::token::Encoded;
use crate::token::spec::TokenizerSpec;

const POST: &str = "post_processor";
const ONLY: &str = "one token before texts and one after them are done without a heap";

/// The ids of the tokens around texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) before: Option<u32>,
    pub(crate) after: Option<u32>,
}

impl Ends {
    /// Those of a description.
    pub(super) fn from_spec<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, Self> {
        let many = spec.place.unsupported(&[POST, "single"], ONLY);
        let ends = spec.post_processor.ends().ok_or(many)?;
        let [before, after] = ends.map(|token| token.map(|token| token.id));
        Ok(Self { before, after })
    }

    /// Both ids.
    pub(super) fn both<'a>(self, spec: &TokenizerSpec<'a>) -> Read<'a, [u32; 2]> {
        let both = self.before.zip(self.after).map(|(before, after)| [before, after]);
        both.ok_or(spec.place.unsupported(&[POST], ONLY))
    }

    /// Writes both ids and, between them, those that `encode` gives; the last of these are left out so
    /// that all fit `ids`.
    ///
    /// # Errors
    ///
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if there is no room for the ends; the error of
    /// `encode`.
    pub(super) fn surround(
        self,
        ids: &mut [u32],
        encode: impl FnOnce(&mut Give<'_>) -> Result<()>,
    ) -> Result<Encoded> {
        let Self { before, after } = self;
        let count = usize::from(before.is_some()).saturating_add(usize::from(after.is_some()));
        let most = ids.len().checked_sub(count).ok_or(TOO_SMALL)?;
        let mut places = ids.iter_mut();
        if let Some(before) = before {
            *places.next().ok_or(TOO_SMALL)? = before;
        }
        let mut total = 0_usize;
        let places = places.into_slice();
        encode(&mut |id| {
            let Some(id) = id else { return };
            if let Some(place) = places.get_mut(total).filter(|_| total < most) {
                *place = id;
            }
            total = total.saturating_add(1);
        })?;
        let kept = total.min(most);
        if let Some(after) = after {
            *places.get_mut(kept).ok_or(TOO_SMALL)? = after;
        }
        let all = total.saturating_add(count);
        Ok(Encoded::new(kept.saturating_add(count), all, total > most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_keeps_its_ends() {
        let encode = |room: usize, before, after| {
            let mut ids = [0; 5];
            let found = Ends { before, after }.surround(&mut ids[..room], |give| {
                [7, 8, 9].map(Some).into_iter().for_each(give);
                Ok(())
            });
            (ids, found.map(|it| (it.tokens, it.total, it.truncated)))
        };
        assert_eq!(encode(5, Some(1), Some(2)), ([1, 7, 8, 9, 2], Ok((5, 5, false))));
        assert_eq!(encode(4, Some(1), Some(2)), ([1, 7, 8, 2, 0], Ok((4, 5, true))));
        assert_eq!(encode(2, Some(1), Some(2)), ([1, 2, 0, 0, 0], Ok((2, 5, true))));
        assert_eq!(encode(1, Some(1), Some(2)).1, Err(TOO_SMALL));
        assert_eq!(encode(3, None, Some(2)), ([7, 8, 2, 0, 0], Ok((3, 4, true))));
        assert_eq!(encode(3, None, None), ([7, 8, 9, 0, 0], Ok((3, 3, false))));
    }
}

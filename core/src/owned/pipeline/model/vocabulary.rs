//! The tokens of a model, with their scores.

use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::limit::{Limit, collected, grow, reserved};
use crate::owned::pipeline::tokens::TokenStrings;
use crate::text::json::{Fault, Read, Value};
use crate::token::spec::{self, JsonPlace};

/// Tokens and merges that are apart from a description.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Elsewhere<'a> {
    /// The tokens by id; an empty one is none.
    pub(in crate::owned::pipeline) tokens: &'a [&'a str],
    pub(in crate::owned::pipeline) scores: Option<&'a [f64]>,
    pub(in crate::owned::pipeline) merges: &'a [(u32, u32)],
}

impl Elsewhere<'_> {
    /// Nothing.
    pub(in crate::owned::pipeline) const NONE: Self =
        Self { tokens: &[], scores: None, merges: &[] };
}

/// The tokens of a model.
pub(super) struct Vocabulary<'t> {
    /// Where they are spelled.
    place: JsonPlace<'t>,
    /// The object of JSON that names the tokens, which cannot name one twice.
    named: Option<Value<'t>>,
    pub(super) tokens: TokenStrings,
    pub(super) scores: Vec<f64>,
    /// How many tokens `tokenizers` counts, which numbers those that are added.
    pub(super) count: usize,
}

impl<'t> Vocabulary<'t> {
    /// The tokens of `model`, which are in `elsewhere` if they are apart.
    pub(super) fn new(model: &spec::Model<'t>, elsewhere: Elsewhere<'_>) -> Read<'t, Self> {
        match model.vocabulary {
            spec::VocabularySpec::Ids(value) => Self::from_ids(value),
            spec::VocabularySpec::Scores(value) => Self::from_scores(value),
            spec::VocabularySpec::Apart { ids, count } => {
                let place = model.place.value().and_then(|model| model.member("vocab"));
                let place = place.map(JsonPlace::new).unwrap_or_default();
                Self::from_elsewhere(place, [ids, count], elsewhere)
            }
        }
    }

    /// Tokens with their ids, in any order.
    fn from_ids(value: Value<'t>) -> Read<'t, Self> {
        let (mut count, mut bytes, mut most) = (0_usize, 0_usize, 0_usize);
        for (token, id) in value.members() {
            let number = id.as_u64().ok_or_else(|| at(id, id.bad()))?;
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            (count, bytes, most) = (count + 1, bytes + token.len(), most.max(number));
        }
        let far = Error::new(value.offset(), ErrorKind::OverLimit);
        let room = if count == 0 { 0 } else { most.saturating_add(1) };
        if room > Limit::ids_of(count) {
            return Err(at(value, far));
        }
        let of = |error| at(value, error);
        let mut by_id: Vec<&'t str> = Vec::new();
        grow(&mut by_id, room, "").map_err(of)?;
        for (token, id) in value.members() {
            let place = &mut by_id[id.as_u64().unwrap_or(0) as usize];
            if !place.is_empty() && *place != token {
                return Err(at(id, Error::new(id.offset(), ErrorKind::BadVocabulary)));
            }
            *place = token;
        }
        let mut tokens = TokenStrings::with_room(room, bytes).map_err(of)?;
        by_id.iter().try_for_each(|token| tokens.push_spelled(token)).map_err(of)?;
        tokens.shrink();
        let place = JsonPlace::new(value);
        Ok(Self { place, named: Some(value), tokens, scores: Vec::new(), count })
    }

    /// Tokens in the order of their ids, with their scores.
    fn from_scores(value: Value<'t>) -> Read<'t, Self> {
        let of = |error| at(value, error);
        let count = value.items().count();
        let mut tokens = TokenStrings::with_room(count, 0).map_err(of)?;
        let mut scores = reserved(count).map_err(of)?;
        for pair in value.items() {
            let mut parts = pair.items();
            let parts = (parts.next(), parts.next(), parts.next());
            let (token, score) = match parts {
                (Some(token), Some(score), None) => (token.as_text(), score.as_f64()),
                _ => (None, None),
            };
            let (Some(token), Some(score)) = (token, score) else {
                return Err(at(pair, pair.bad()));
            };
            tokens.push_spelled(token).map_err(of)?;
            scores.push(score);
        }
        tokens.shrink();
        Ok(Self { place: JsonPlace::new(value), named: None, tokens, scores, count })
    }

    /// Tokens of which the description says only how many there are.
    fn from_elsewhere(
        place: JsonPlace<'t>,
        [ids, count]: [u64; 2],
        elsewhere: Elsewhere<'_>,
    ) -> Read<'t, Self> {
        let of = |error| place.met("vocab", error);
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        let ids = usize::try_from(ids).ok().and_then(|ids| elsewhere.tokens.get(..ids));
        let ids = ids.ok_or_else(|| of(bad))?;
        let count = usize::try_from(count).ok().filter(|count| *count <= ids.len());
        let mut tokens = TokenStrings::with_room(ids.len(), ids.iter().map(|it| it.len()).sum());
        let tokens = tokens.as_mut().map_err(|error| of(*error))?;
        ids.iter().try_for_each(|token| tokens.push(token)).map_err(of)?;
        let scores = elsewhere.scores.unwrap_or_default();
        let scores = scores.get(..ids.len()).unwrap_or_default();
        Ok(Self {
            place,
            named: None,
            tokens: core::mem::take(tokens),
            scores: collected(scores.iter().copied()).map_err(of)?,
            count: count.ok_or_else(|| of(bad))?,
        })
    }

    /// An error that was met in the tokens.
    pub(super) fn met(&self, error: Error) -> Fault<'t> {
        self.place.met("vocab", error)
    }

    /// Refuses names that are there twice: `find` gives the id of only one of them. In lists of
    /// tokens the last one counts.
    pub(super) fn refuse_twins(&self, find: impl Fn(&str) -> Option<u32>) -> Read<'t, ()> {
        let Some(named) = self.named else { return Ok(()) };
        let twin = self.tokens.iter().find(|(id, token)| find(token) != Some(*id));
        let Some((id, _)) = twin else { return Ok(()) };
        let member = named.members().find(|(_, value)| value.as_u64() == Some(id.into()));
        let place = member.map_or(named, |(_, value)| value);
        Err(at(place, Error::new(place.offset(), ErrorKind::BadVocabulary)))
    }
}

/// An error that was met in `value`.
fn at(value: Value<'_>, error: Error) -> Fault<'_> {
    JsonPlace::new(value).met("vocab", error)
}

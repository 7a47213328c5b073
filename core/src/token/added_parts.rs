//! A text cut at the added tokens that it spells, as `AddedVocabulary` of Hugging Face `tokenizers`
//! has it.

use core::ops::Range;

use super::added::AddedToken;
use super::word_characters::is_word_character;
use crate::error::Result;

/// What a text is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text between added tokens, not empty.
    Plain(Range<usize>),
    /// An added token's id.
    Added(u32),
}

/// Calls `take` with the parts of `text` until it answers that it has enough. `next` gives the first
/// token from a place on, and where it begins. Tokens of which `is_text` holds are text like any
/// other.
///
/// # Errors
///
/// What `take` answers.
pub(crate) fn cut(
    text: &str,
    mut next: impl FnMut(usize) -> Option<(AddedToken, usize)>,
    is_text: impl Fn(u32) -> bool,
    take: &mut dyn FnMut(Part) -> Result<bool>,
) -> Result<bool> {
    let mut spaces = Spaces { text, run: 0..0 };
    // What tokens have taken ends at `taken`, which may lie behind the place of the next one.
    let (mut at, mut taken) = (0, 0);
    while let Some((token, start)) = next(at) {
        let end = start.saturating_add(token.bytes());
        at = end;
        if is_text(token.id()) || !may_stand(&token, text, start..end) {
            continue;
        }
        let rules = token.rules();
        let start = if rules.strips_before { spaces.before(start, taken) } else { start };
        let end = if rules.strips_behind { spaces.behind(end) } else { end };
        if taken < start && !take(Part::Plain(taken..start))? {
            return Ok(false);
        }
        // All that it spells has been taken by the one before it: then it is not there.
        if start < end && !take(Part::Added(token.id()))? {
            return Ok(false);
        }
        taken = end;
    }
    if taken < text.len() { take(Part::Plain(taken..text.len())) } else { Ok(true) }
}

/// Whether a token may be found at a place: some only where no part of a word lies on either side.
fn may_stand(token: &AddedToken, text: &str, place: Range<usize>) -> bool {
    if !token.rules().single_word {
        return true;
    }
    let before = text.get(..place.start).and_then(|text| text.chars().next_back());
    let behind = text.get(place.end..).and_then(|text| text.chars().next());
    !before.into_iter().chain(behind).any(is_word_character)
}

/// White space around places of a text, of which no run is passed over twice.
struct Spaces<'t> {
    text: &'t str,
    run: Range<usize>,
}

impl Spaces<'_> {
    /// Where the white space behind `at` ends.
    fn behind(&mut self, at: usize) -> usize {
        if !self.run.contains(&at) {
            let rest = self.text.get(at..).unwrap_or_default();
            self.run = at..self.text.len().saturating_sub(rest.trim_start().len());
        }
        self.run.end.max(at)
    }

    /// Where the white space before `at` begins, but not before `from`.
    fn before(&self, at: usize, from: usize) -> usize {
        let before = self.text.get(from..at);
        before.map_or(from, |before| from.saturating_add(before.trim_end().len()))
    }
}

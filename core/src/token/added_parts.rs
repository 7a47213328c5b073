//! A text cut at the added tokens that it spells, as `AddedVocabulary` of Hugging Face `tokenizers`
//! has it.

use core::ops::Range;

use super::added::{AddedTable, AddedToken};
use crate::error::Result;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text between added tokens, not empty.
    Plain(Range<usize>),
    /// An added token.
    Added {
        /// Its id.
        id: u32,
        /// The part of the text that it takes.
        place: Range<usize>,
    },
}

impl AddedTable<'_> {
    /// Calls `take` with the parts of `text`, from the first to the last.
    ///
    /// # Errors
    ///
    /// The error of `take`.
    pub(crate) fn parts(&self, text: &str, take: &mut dyn FnMut(Part) -> Result<()>) -> Result<()> {
        cut(text, |at| self.next_in(text, at), |_| false, take)
    }
}

/// Calls `take` with the parts of `text`. `next` gives the first token from a place on, and where it
/// begins. Tokens of which `is_text` holds are text like any other.
///
/// # Errors
///
/// The error of `take`.
pub(crate) fn cut(
    text: &str,
    mut next: impl FnMut(usize) -> Option<(AddedToken, usize)>,
    is_text: impl Fn(u32) -> bool,
    take: &mut dyn FnMut(Part) -> Result<()>,
) -> Result<()> {
    let mut spaces = Spaces { text, run: 0..0 };
    // What tokens have taken ends at `taken`, which may be after the place of the next one.
    let (mut at, mut taken) = (0, 0);
    while let Some((token, start)) = next(at) {
        let end = start.saturating_add(token.bytes());
        at = end;
        if is_text(token.id()) || !token.rules().may_stand(text, start..end) {
            continue;
        }
        let rules = token.rules();
        let start = if rules.strips_before { spaces.before(start, taken) } else { start };
        let end = if rules.strips_after { spaces.after(end) } else { end };
        if taken < start {
            take(Part::Plain(taken..start))?;
        }
        // All that it spells has been taken by the one before it: then it is not there.
        if start < end {
            take(Part::Added { id: token.id(), place: start..end })?;
        }
        taken = end;
    }
    if taken < text.len() { take(Part::Plain(taken..text.len())) } else { Ok(()) }
}

/// White space around places of a text, of which no run is passed over twice.
struct Spaces<'t> {
    text: &'t str,
    run: Range<usize>,
}

impl Spaces<'_> {
    /// Where the white space after `at` ends.
    fn after(&mut self, at: usize) -> usize {
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

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::vec::Vec;

    use super::*;
    use crate::token::added::AddedRules;
    use crate::token::added::tests::tokens;

    fn found(spellings: &[&str], rules: AddedRules, text: &str) -> Vec<(u32, usize, usize)> {
        let (all, mut tokens) = tokens(spellings, rules);
        let table = AddedTable::build(all.as_bytes(), &mut tokens).unwrap();
        let (mut all, mut done) = (Vec::new(), 0);
        let mut take = |part| {
            let (Part::Plain(place) | Part::Added { place, .. }) = &part;
            assert_eq!(place.start, done);
            done = place.end;
            if let Part::Added { id, place } = part {
                all.push((id, place.start, place.end));
            }
            Ok(())
        };
        table.parts(text, &mut take).unwrap();
        assert_eq!(done, text.len());
        all
    }

    /// As [`found`], by trying every token at every place.
    fn tried(spellings: &[&str], text: &str) -> Vec<(u32, usize, usize)> {
        let (mut all, mut at) = (Vec::new(), 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let here =
                (0..).zip(spellings).filter(|it| !it.1.is_empty() && rest.starts_with(*it.1));
            match here.max_by_key(|(id, it)| (it.len(), *id)) {
                Some((id, it)) => {
                    all.push((id, at, at + it.len()));
                    at += it.len();
                }
                None => at += rest.chars().next().unwrap().len_utf8(),
            }
        }
        all
    }

    #[test]
    fn what_is_found_is_what_trying_every_token_finds() {
        let mut state = 1_u32;
        let mut random = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % most
        };
        for _ in 0..2_000 {
            let mut word = |most| -> String {
                (0..random(most))
                    .map(|_| ['a', 'b', 'é', '\u{1F600}'][random(4) as usize])
                    .collect()
            };
            let spellings: Vec<String> = (0..12).map(|_| word(5)).collect();
            let spellings: Vec<&str> = spellings.iter().map(String::as_str).collect();
            let text = word(40);
            let rules = AddedRules::default();
            assert_eq!(found(&spellings, rules, &text), tried(&spellings, &text), "{spellings:?}");
        }
    }

    #[test]
    fn rules_say_what_a_token_takes_and_where_it_is_not_found() {
        let rules = AddedRules::default();
        let found = |rules, text| found(&["ab"], rules, text);
        assert_eq!(found(AddedRules { strips_before: true, ..rules }, "x \n ab y"), [(0, 1, 6)]);
        assert_eq!(found(AddedRules { strips_after: true, ..rules }, "x ab  y"), [(0, 2, 6)]);
        let word = AddedRules { single_word: true, ..rules };
        assert_eq!(found(word, "xab ab, abé ab_ (ab)"), [(0, 4, 6), (0, 18, 20)]);
    }
}

//! Normalisation of a text before it is cut into pieces, character by character.

use super::unigram_settings::Replacing;
use crate::error::Result;
use crate::token::allowance::Allowance;
use crate::token::charsmap::{Charsmap, Mapped};

/// The steps, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normalizer<'a> {
    pub(super) rules: Option<Charsmap<'a>>,
    /// White space at the start and at the end that is left out.
    pub(super) strips: [bool; 2],
    pub(super) replaces: Option<Replacing<'a>>,
}

impl Normalizer<'_> {
    /// Calls `take` with the characters of what becomes of `text`.
    ///
    /// # Errors
    ///
    /// [`OverLimit`](crate::ErrorKind::OverLimit) if that is far longer than the text; what `take` answers.
    pub(super) fn each(&self, text: &str, take: &mut dyn FnMut(char) -> Result<()>) -> Result<()> {
        let mut allowance = Allowance::for_text(text);
        let take = &mut |c: char| {
            allowance.take(c.len_utf8())?;
            take(c)
        };
        let [strips_start, strips_end] = self.strips;
        let end = if strips_end { self.end(text)? } else { usize::MAX };
        let (mut at, mut has_begun) = (0_usize, !strips_start);
        // How many of the character that is replaced have come.
        let mut run = 0_usize;
        self.mapped(text, &mut |c| {
            has_begun |= !c.is_whitespace();
            if has_begun && at < end {
                self.replaced(c, &mut run, take)?;
            }
            at = at.saturating_add(1);
            Ok(())
        })?;
        self.end_run(run, take)
    }

    /// How many characters there are up to the white space at the end.
    fn end(&self, text: &str) -> Result<usize> {
        let (mut count, mut end) = (0_usize, 0);
        self.mapped(text, &mut |c| {
            count = count.saturating_add(1);
            if !c.is_whitespace() {
                end = count;
            }
            Ok(())
        })?;
        Ok(end)
    }

    /// Calls `take` with what the rules make of `text`.
    fn mapped(&self, text: &str, take: &mut dyn FnMut(char) -> Result<()>) -> Result<()> {
        let Some(rules) = &self.rules else { return text.chars().try_for_each(take) };
        let mut allowance = Allowance::for_text(text);
        rules.each(text, |mapped| match mapped {
            Mapped::Plain(part) | Mapped::Part(part) => {
                allowance.take(part.len())?;
                part.chars().try_for_each(&mut *take)
            }
            Mapped::End(_) => Ok(()),
        })
    }

    fn replaced(
        &self,
        c: char,
        run: &mut usize,
        take: &mut dyn FnMut(char) -> Result<()>,
    ) -> Result<()> {
        let is_replaced = self.replaces.is_some_and(|it| it.character == c);
        if is_replaced {
            *run = run.saturating_add(1);
        }
        if !is_replaced || self.replaces.is_some_and(|it| !it.is_whole) {
            self.end_run(core::mem::take(run), take)?;
        }
        if is_replaced { Ok(()) } else { take(c) }
    }

    /// Writes what becomes of so many of the character that is replaced.
    fn end_run(&self, run: usize, take: &mut dyn FnMut(char) -> Result<()>) -> Result<()> {
        match self.replaces.filter(|_| run > 0) {
            None => Ok(()),
            Some(it) if run >= it.least => it.content.chars().try_for_each(take),
            Some(it) => core::iter::repeat_n(it.character, run).try_for_each(take),
        }
    }
}

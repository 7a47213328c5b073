//! Warnings about texts that were longer than a model takes.

use std::sync::Arc;

use nanoembed::{Encoder, Role};

use crate::error::warn;
use crate::input::Item;

/// The most places that are named.
const NAMED: usize = 5;

/// The texts that were cut.
#[derive(Debug, Default)]
pub(crate) struct Truncated {
    texts: u64,
    all: u64,
    /// The places of the first of them: the file, if it is one, and the line.
    places: Vec<(Option<Arc<str>>, u64)>,
}

/// The lengths that a model takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The tokens of a text that were used.
    pub(crate) used: usize,
    /// The tokens that could be used.
    pub(crate) most: usize,
}

impl Limits {
    /// The limits of a model that embeds.
    pub(crate) fn new(encoder: &Encoder) -> Self {
        Self { used: encoder.max_tokens(), most: encoder.positions() }
    }

    /// The limits of a model that makes a vector for each token.
    pub(crate) fn of_multi(encoder: &Encoder) -> Self {
        let most = encoder.multi_positions(Role::Text);
        Self { used: encoder.max_tokens().min(most), most }
    }

    /// The option that makes more of a text count, if there is one.
    fn remedy(self) -> String {
        let Self { used, most } = self;
        match used < most {
            true => format!("; `--max-tokens {most}` uses as much as the model can"),
            false => String::new(),
        }
    }
}

impl Truncated {
    /// Counts a text, and whether it was cut.
    pub(crate) fn count(&mut self, item: &Item, truncated: bool) {
        self.all += 1;
        if truncated {
            self.texts += 1;
            if self.places.len() < NAMED {
                self.places.push((item.file.clone(), item.line));
            }
        }
    }

    /// So many rows of a table, of `all`, the first of them where `first` says.
    #[cfg(feature = "parquet")]
    pub(crate) fn warn_of_rows(rows: u64, all: u64, first: &str, limits: Limits) {
        let (used, more) = (limits.used, limits.remedy());
        warn(format_args!(
            "of {rows} of {all} texts only the first {used} tokens were used, the first: {first}{more}"
        ));
    }

    /// Says which texts were cut.
    pub(crate) fn warn(&self, limits: Limits) {
        let (used, more) = (limits.used, limits.remedy());
        let Self { texts, all, .. } = self;
        match (texts, all) {
            (0, _) => {}
            (1, 1) => {
                warn(format_args!("only the first {used} tokens of the text were used{more}"));
            }
            _ => warn(format_args!(
                "of {texts} of {all} texts only the first {used} tokens were used ({}){more}",
                self.named()
            )),
        }
    }

    /// `line 3, 7 of a.txt, line 1 of b.txt, …`
    fn named(&self) -> String {
        let mut named = String::new();
        for (ordinal, (file, line)) in self.places.iter().enumerate() {
            let before = ordinal.checked_sub(1).and_then(|before| self.places.get(before));
            let is_same = before.is_some_and(|(before, _)| before == file);
            let after = self.places.get(ordinal + 1);
            let is_last = after.is_none_or(|(after, _)| after != file);
            let unit = if file.is_some() { "line" } else { "text" };
            if ordinal > 0 {
                named.push_str(", ");
            }
            if !is_same {
                named.push_str(unit);
                named.push(' ');
            }
            named.push_str(&line.to_string());
            if let Some(file) = file.as_ref().filter(|_| is_last) {
                named.push_str(" of ");
                named.push_str(file);
            }
        }
        if self.texts > self.places.len() as u64 {
            named.push_str(", …");
        }
        named
    }
}

/// Says that a question was cut.
pub(crate) fn warn_of_question(limits: Limits) {
    let (used, more) = (limits.used, limits.remedy());
    warn(format_args!("only the first {used} tokens of the question were used{more}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_by_file_and_line() {
        let place = |file: &str, line| (Some(file.into()), line);
        let truncated = |texts, places| Truncated { texts, all: 100, places };
        let named = truncated(3, vec![place("a", 3), place("a", 7), place("b", 1)]).named();
        assert_eq!(named, "line 3, 7 of a, line 1 of b");
        assert_eq!(truncated(9, vec![(None, 2), (None, 4)]).named(), "text 2, 4, …");
    }
}

//! The arguments about word vectors that several commands share.

use clap::Args;
use nanoembed::words::{Conversion, OnBrokenUtf8, OnDuplicate, Policy};

use super::choice::choice;

/// The arguments about words that files get wrong.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Words")]
pub(crate) struct PolicyArgs {
    /// Policy for words that stand in a vocabulary twice
    #[arg(long, value_parser = choice::<OnDuplicate>(), default_value = "error", value_name = "POLICY")]
    duplicates: OnDuplicate,

    /// Policy for words that are not UTF-8
    #[arg(long, value_parser = choice::<OnBrokenUtf8>(), default_value = "error", value_name = "POLICY")]
    utf8: OnBrokenUtf8,
}

impl PolicyArgs {
    /// The policy that the arguments name.
    pub(crate) fn policy(&self) -> Policy {
        Policy::default().duplicates(self.duplicates).utf8(self.utf8)
    }

    /// An option that was given another value than it has of itself.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--duplicates", self.duplicates != OnDuplicate::default()),
            ("--utf8", self.utf8 != OnBrokenUtf8::default()),
        ];
        options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
    }
}

/// The arguments of `convert` about word vectors.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Word vectors")]
pub(crate) struct WordArgs {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Keep vectors as they are in a `.fifu` file: neither normalised nor with their lengths beside
    /// them
    #[arg(long)]
    no_normalize: bool,

    /// Read only the first N words, as gensim's `limit` does
    #[arg(long, visible_alias = "limit", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,

    /// Take the words that are there, however many the first line announces
    #[arg(long)]
    ignore_count: bool,

    /// Write vectors of length 1 to other files than `.fifu` instead of their original lengths
    #[arg(long, conflicts_with = "no_normalize")]
    normalized: bool,
}

impl WordArgs {
    /// `conversion` as it is asked for.
    pub(crate) fn applied_to(&self, conversion: Conversion) -> Conversion {
        conversion
            .policy(self.policy.policy())
            .normalize(!self.no_normalize)
            .first(self.first)
            .ignore_count(self.ignore_count)
            .normalized(self.normalized)
    }

    /// The name of an option that was given, and its purpose.
    pub(crate) fn given(&self) -> Option<(&'static str, &'static str)> {
        if let Some(option) = self.policy.given() {
            return Some((option, "word vectors"));
        }
        let options = [
            ("--no-normalize", self.no_normalize, "word vectors that are no `.fifu` file yet"),
            ("--first", self.first.is_some(), "word2vec, text and fastText files"),
            ("--ignore-count", self.ignore_count, "files whose first line announces their words"),
            ("--normalized", self.normalized, "vectors of words in other files than `.fifu`"),
        ];
        let given = options.into_iter().find(|(_, is_given, _)| *is_given);
        given.map(|(option, _, use_is)| (option, use_is))
    }
}

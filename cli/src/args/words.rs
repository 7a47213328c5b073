//! The arguments about word vectors that several commands share.

use clap::Args;
use nanoembed::words::convert::WordOptions;
use nanoembed::words::policy::{OnBrokenUtf8, OnDuplicate, Policy};

use super::choice::choice;

/// The arguments about words that files get wrong.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Words")]
pub(crate) struct PolicyArgs {
    /// What to do with words that stand in a vocabulary twice
    #[arg(long, value_parser = choice::<OnDuplicate>(), default_value = "error", value_name = "POLICY")]
    duplicates: OnDuplicate,

    /// What to do with words that are not UTF-8
    #[arg(long, value_parser = choice::<OnBrokenUtf8>(), default_value = "error", value_name = "POLICY")]
    utf8: OnBrokenUtf8,
}

impl PolicyArgs {
    /// What is asked for.
    pub(crate) const fn policy(&self) -> Policy {
        Policy { duplicates: self.duplicates, utf8: self.utf8 }
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
    /// What is asked for.
    pub(crate) const fn options(&self) -> WordOptions {
        WordOptions {
            policy: self.policy.policy(),
            no_normalize: self.no_normalize,
            first: self.first,
            ignore_count: self.ignore_count,
            normalized: self.normalized,
        }
    }
}

//! The steps that a description has.

use alloc::vec::Vec;

use super::{ByteLevel, PreTokenizer, SplitAt};
use crate::error::Result;
use crate::limit::reserved;
use crate::token::spec::{self, Steps};

impl PreTokenizer {
    /// The steps of a description.
    pub(in crate::owned::pipeline) fn from_spec(
        steps: &Steps<'_, spec::PreTokenizer<'_>>,
    ) -> Result<Vec<Self>> {
        let mut all = reserved(steps.len())?;
        for step in steps {
            all.push(Self::new(step.does)?);
        }
        Ok(all)
    }

    fn new(step: spec::PreTokenizer<'_>) -> Result<Self> {
        use spec::PreTokenizer as Spec;
        Ok(match step {
            Spec::Bert => Self::Bert,
            Spec::Whitespace => Self::Whitespace,
            Spec::WhitespaceSplit => Self::WhitespaceSplit,
            Spec::Metaspace(metaspace) => Self::Metaspace(metaspace),
            Spec::ByteLevel { adds_space, splits } => {
                Self::ByteLevel(ByteLevel { adds_space, splits })
            }
            Spec::Split { at, behavior, inverted } => {
                let at = match at {
                    spec::SplitAt::Pattern(pattern) => SplitAt::Pattern(pattern.try_into()?),
                    spec::SplitAt::Words(words) => SplitAt::Words(words),
                };
                Self::Split { at, behavior, inverted }
            }
            Spec::Digits { alone } => Self::Digits { alone },
            Spec::Punctuation(behavior) => Self::Punctuation(behavior),
            Spec::Delimiter(delimiter) => Self::Delimiter(delimiter),
        })
    }
}

//! The steps that a description has.

use alloc::vec::Vec;

use super::{Bert, Charsmap, Normalizer};
use crate::error::Result;
use crate::limit::push;
use crate::owned::pipeline::text::owned;
use crate::text::json::Read;
use crate::token::spec::{self, Steps};
use crate::token::unicode::Form;

impl Normalizer {
    /// The steps of a description, some of which are several here.
    pub(in crate::owned::pipeline) fn from_spec<'a>(
        steps: &Steps<'a, spec::Normalizer<'a>>,
    ) -> Read<'a, Vec<Self>> {
        let mut all = Vec::new();
        for step in steps {
            let add = &mut |it| push(&mut all, it);
            Self::add(step.does, add).map_err(|error| {
                let name = match step.does {
                    spec::Normalizer::Precompiled(_) => "precompiled_charsmap",
                    _ => "normalizer",
                };
                step.place.member(name).met(name, error)
            })?;
        }
        Ok(all)
    }

    fn add(step: spec::Normalizer<'_>, add: &mut dyn FnMut(Self) -> Result<()>) -> Result<()> {
        use spec::Normalizer as Spec;
        add(match step {
            Spec::Bert { cleans_text, splits_ideographs, strips_accents, lowercases } => {
                let (cleans, sets_ideographs_apart) = (cleans_text, splits_ideographs);
                add(Self::Bert(Bert { cleans, sets_ideographs_apart }))?;
                if strips_accents.unwrap_or(lowercases) {
                    add(Self::WithoutAccents)?;
                }
                return if lowercases { add(Self::Lowercase) } else { Ok(()) };
            }
            Spec::Form(form) => Self::Form(match form {
                spec::Form::Nfc => Form::NFC,
                spec::Form::Nfd => Form::NFD,
                spec::Form::Nfkc => Form::NFKC,
                spec::Form::Nfkd => Form::NFKD,
            }),
            Spec::Lowercase => Self::Lowercase,
            Spec::StripAccents => Self::StripAccents,
            Spec::Strip { left, right } => Self::Strip { left, right },
            Spec::Replace(replace) => Self::Replace(replace.try_map(owned)?),
            Spec::Prepend(prefix) => Self::Prepend(owned(prefix)?),
            Spec::Precompiled(rules) => Self::Precompiled(Charsmap::from_spec(rules)?),
            Spec::Nmt => Self::Nmt,
            Spec::ByteLevel => Self::ByteLevel,
        })
    }
}

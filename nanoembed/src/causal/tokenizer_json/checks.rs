//! Whether the ids of a `tokenizer.json` are those of Hugging Face `tokenizers`.

use std::collections::HashSet;

use nanoembed_core::owned::{Pipeline, PipelineSession, TokenSession, Tokenizer};
use nanoembed_core::token::SpecialTokens::AsTokens;

use serde_json::Value;

use super::{TokenizerJson, is_set};
use crate::error::{Error, Result, name_of};

/// Texts that show what stands around texts, and where spaces go.
const PROBES: [&str; 4] = ["", "a", " a", "a a"];

impl TokenizerJson<'_> {
    /// Refuses a file by which `pipeline`, which does what `tokenizers` does, gives other ids than
    /// `tokenizer`.
    pub(in crate::causal) fn check_ids(
        &self,
        tokenizer: &Tokenizer<'_>,
        pipeline: &Pipeline,
    ) -> Result<()> {
        for (id, content) in self.added()? {
            let theirs = pipeline.id(&content);
            if theirs != Some(id) {
                let theirs = theirs.map_or("none".into(), |id| id.to_string());
                let message = format!(
                    "the added token {content:?} has the id {id}, and `tokenizers` gives it {theirs}"
                );
                return Err(self.unsupported(message));
            }
        }
        self.check_normalized()?;
        let failed = |error| Error::in_file(name_of(self.path), error);
        let (mut session, mut theirs) = (TokenSession::default(), PipelineSession::default());
        for probe in PROBES {
            let ids = tokenizer.encode(probe, AsTokens, &mut session).map_err(failed)?;
            let theirs = pipeline.encode(probe, usize::MAX, AsTokens, &mut theirs);
            let theirs = theirs.map_err(failed)?.ids;
            if ids != theirs {
                let message = format!("{probe:?} would be {ids:?}, and is {theirs:?}");
                return Err(self.unsupported(message));
            }
        }
        Ok(())
    }

    /// Added tokens that are `normalized` are looked for in normalised text, where others have left
    /// it: refuses them where that is not to look for all at once.
    fn check_normalized(&self) -> Result<()> {
        let all = self.at("/added_tokens").and_then(Value::as_array).into_iter().flatten();
        let (normalized, written): (Vec<&Value>, Vec<&Value>) =
            all.partition(|token| is_set(token, "normalized"));
        let written: Vec<&[u8]> = written.into_iter().filter_map(content).collect();
        let written = Apart::from(&written);
        let has_normalizer = self.at("/normalizer").is_some_and(|it| !it.is_null());
        match normalized
            .into_iter()
            .filter_map(content)
            .find(|it| has_normalizer || !written.is(it))
        {
            Some(token) => {
                let token = String::from_utf8_lossy(token);
                Err(self.unsupported(format!("the added token {token:?} has `normalized`")))
            }
            None => Ok(()),
        }
    }
}

fn content(token: &Value) -> Option<&[u8]> {
    token.get("content").and_then(Value::as_str).map(str::as_bytes)
}

/// What tells whether a token shares letters of no text with some others.
#[derive(Default)]
struct Apart<'t> {
    all: HashSet<&'t [u8]>,
    starts: HashSet<&'t [u8]>,
    /// The bytes that they start with, and those behind.
    first: HashSet<u8>,
    further: HashSet<u8>,
}

impl<'t> Apart<'t> {
    fn from(tokens: &[&'t [u8]]) -> Self {
        let mut apart = Self::default();
        for token in tokens {
            let Some((first, further)) = token.split_first() else { continue };
            apart.all.insert(token);
            apart.starts.extend((1..=token.len()).filter_map(|end| token.get(..end)));
            apart.first.insert(*first);
            apart.further.extend(further);
        }
        apart
    }

    /// Neither begins within the other, nor is the beginning of the other.
    fn is(&self, token: &[u8]) -> bool {
        let Some((first, further)) = token.split_first() else { return true };
        let begins =
            || self.further.contains(first) || further.iter().any(|it| self.first.contains(it));
        let mut starts = (1..=token.len()).filter_map(|end| token.get(..end));
        !(begins() || self.starts.contains(token) || starts.any(|start| self.all.contains(start)))
    }
}

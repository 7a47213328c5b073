//! Reading a `tokenizer.json`, and taking it apart for files that keep the vocabulary elsewhere.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::added::AddedVocabulary;
use super::model::{self, Elsewhere, Model};
use super::{Pipeline, added, decoder, normalizer, post, pre_tokenizer};
use crate::error::Result;
use crate::limit::{collected, copied, formatted, push, write};
use crate::model::tokenizer_root;
use crate::model::truncation::truncation;
use crate::text::json::{Fault, Read};

/// A tokenizer in parts, for files that keep its vocabulary elsewhere: see
/// [`Pipeline::from_parts`].
#[derive(Clone, Debug)]
pub struct PipelineParts<'p> {
    /// The JSON, in which a number stands in place of the vocabulary and of the merges.
    pub settings: &'p str,
    /// The model's own tokens by id; an empty one stands for an id without a token.
    pub tokens: Vec<&'p str>,
    /// The scores of the tokens, if the model has any.
    pub scores: Option<Vec<f64>>,
    /// The pairs of ids that become one, in the order of their ranks.
    pub merges: Vec<(u32, u32)>,
}

impl Pipeline {
    /// Reads a whole `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// The setting that is at fault, or that is not known here.
    pub fn read(text: &str) -> Read<'_, Self> {
        Self::read_with(text, None)
    }

    /// Puts a tokenizer together again. Of `tokens` those beyond the model's own are not used: a
    /// file may keep added tokens with the others.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn from_parts<'t>(
        settings: &'t str,
        tokens: &[&str],
        scores: Option<&[f64]>,
        merges: &[(u32, u32)],
    ) -> Read<'t, Self> {
        Self::read_with(settings, Some(Elsewhere { tokens, scores, merges }))
    }

    /// The `tokenizer.json` with numbers in place of the vocabulary and the merges.
    #[must_use]
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// What [`from_parts`](Self::from_parts) takes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`](crate::ErrorKind::NoMemory).
    pub fn parts(&self) -> Result<PipelineParts<'_>> {
        let tokens =
            (0..self.tokens.len() as u32).map(|id| self.tokens.get(id).unwrap_or_default());
        Ok(PipelineParts {
            settings: &self.settings,
            tokens: collected(tokens)?,
            scores: match &self.model {
                Model::Unigram(model) => Some(model.scores.to_vec()?),
                _ => None,
            },
            merges: match &self.model {
                Model::Bpe(model) => model.pairs()?,
                _ => Vec::new(),
            },
        })
    }

    fn read_with<'t>(text: &'t str, elsewhere: Option<Elsewhere<'_>>) -> Read<'t, Self> {
        let root = tokenizer_root::read(text.as_bytes(), 0)?;
        let truncation = truncation(&root)?;
        let normalizer = normalizer::read(root.get("normalizer"))?;
        let pre_tokenizer = pre_tokenizer::read(root.get("pre_tokenizer"))?;
        let post = post::read(root.get("post_processor"))?;
        let decoder = decoder::read(root.get("decoder"))?;
        let entries = added::read(&root)?;
        let model = root.needed("model", root.get("model"))?;
        root.finish(&["padding"])?;
        let read = model::read(model, elsewhere)?;
        let find = |token: &str| read.model.find(&read.tokens, token);
        let added = AddedVocabulary::new(entries, &normalizer, read.count, find)?;
        let settings = match elsewhere {
            Some(_) => copied(text),
            None => without(text, &read.large, read.count),
        };
        let settings = settings.map_err(Fault::of)?;
        let model::ReadModel { model, tokens, .. } = read;
        let pipeline = Self {
            tokens,
            added,
            normalizer,
            pre_tokenizer,
            model,
            post,
            decoder,
            settings,
            truncation,
        };
        if !pipeline.post.is_within(pipeline.count()) {
            return Err(root.bad("post_processor", "its ids are beyond the vocabulary"));
        }
        if pipeline.added.tokens().iter().any(|token| pipeline.contradicts(token)) {
            return Err(root.bad("added_tokens", "one would get the id of another token"));
        }
        Ok(pipeline)
    }
}

impl Pipeline {
    /// Whether an added token has the id of another one, as where the ids of a vocabulary have
    /// gaps.
    fn contradicts(&self, added: &added::Added) -> bool {
        self.tokens.get(added.id).is_some_and(|own| own != added.content)
    }
}

/// The text with numbers in place of the vocabulary and the merges.
fn without(text: &str, large: &[(Range<u64>, usize)], count: usize) -> Result<String> {
    let mut places: Vec<(Range<usize>, String)> = Vec::new();
    for (index, (range, length)) in large.iter().enumerate() {
        let range = range.start as usize..range.end as usize;
        let number = match index {
            0 => formatted(format_args!(r#"{{"ids": {length}, "count": {count}}}"#))?,
            _ => formatted(format_args!("{length}"))?,
        };
        push(&mut places, (range, number))?;
    }
    places.sort_unstable_by_key(|(range, _)| range.start);
    let (mut settings, mut from) = (String::new(), 0);
    for (range, number) in places {
        write(&mut settings, &text[from..range.start])?;
        write(&mut settings, &number)?;
        from = range.end;
    }
    write(&mut settings, &text[from..])?;
    Ok(settings)
}

//! Reading a `tokenizer.json`, and taking it apart for files that keep the vocabulary elsewhere.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::Pipeline;
use super::added::{self, AddedVocabulary};
use super::model::{self, Elsewhere, Model, OpenedModel};
use super::normalizer::Normalizer;
use super::text::owned;
use crate::describe::tokenizer::{self as describe, Json, Layout};
use crate::error::{ErrorKind, Result};
use crate::limit::{collected, copied, formatted, push, write};
use crate::text::json::{Fault, Read};
use crate::token::spec::{IdTemplate, PostProcessor, TokenizerSpec};

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
        Self::whole(text, |_| {})
    }

    /// As [`read`](Self::read), for models that put nothing around texts: the post-processor is passed
    /// over, which in models that were distilled may have the ids of their teacher.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_alone(text: &str) -> Read<'_, Self> {
        Self::whole(text, |spec| spec.post_processor = PostProcessor::default())
    }

    /// As [`from_parts`](Self::from_parts), without the post-processor: see
    /// [`read_alone`](Self::read_alone).
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn from_parts_alone<'t>(
        settings: &'t str,
        tokens: &[&str],
        scores: Option<&[f64]>,
        merges: &[(u32, u32)],
    ) -> Read<'t, Self> {
        let elsewhere = Elsewhere { tokens, scores, merges };
        Self::apart(settings, elsewhere, |spec| spec.post_processor = PostProcessor::default())
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
        Self::apart(settings, Elsewhere { tokens, scores, merges }, |_| {})
    }

    /// The tokenizer of a description, whose tokens are apart from it: as
    /// [`from_parts`](Self::from_parts).
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn from_spec<'t>(
        spec: &TokenizerSpec<'t>,
        tokens: &[&str],
        scores: Option<&[f64]>,
        merges: &[(u32, u32)],
    ) -> Read<'t, Self> {
        let elsewhere = Elsewhere { tokens, scores, merges };
        Self::open(spec, elsewhere, |_| formatted(format_args!("{}", Json(spec))))
    }

    /// The description of the tokenizer.
    ///
    /// # Errors
    ///
    /// None: what is described has been read before.
    pub fn spec(&self) -> Read<'_, TokenizerSpec<'_>> {
        describe::read(self.settings.as_bytes(), 0, Layout::Apart)
    }

    /// The `tokenizer.json` with numbers in place of the vocabulary and the merges.
    #[must_use]
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// The arguments of [`from_parts`](Self::from_parts).
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

    /// That of a whole text, whose description is `changed` first.
    fn whole<'t>(text: &'t str, changed: impl FnOnce(&mut TokenizerSpec<'t>)) -> Read<'t, Self> {
        let mut spec = TokenizerSpec::default();
        describe::read_into(text.as_bytes(), 0, Layout::Whole, &mut spec)?;
        changed(&mut spec);
        Self::open(&spec, Elsewhere::NONE, |opened| {
            without(text, &model::large(&spec.model, opened)?, opened.count)
        })
    }

    /// The same of a text that is apart from the tokens.
    fn apart<'t>(
        settings: &'t str,
        elsewhere: Elsewhere<'_>,
        changed: impl FnOnce(&mut TokenizerSpec<'t>),
    ) -> Read<'t, Self> {
        let mut spec = TokenizerSpec::default();
        describe::read_into(settings.as_bytes(), 0, Layout::Apart, &mut spec)?;
        changed(&mut spec);
        Self::open(&spec, elsewhere, |_| copied(settings))
    }

    /// The tokenizer that is described; what is apart from the description is in `elsewhere`.
    fn open<'t>(
        spec: &TokenizerSpec<'t>,
        elsewhere: Elsewhere<'_>,
        settings: impl FnOnce(&OpenedModel) -> Result<String>,
    ) -> Read<'t, Self> {
        let normalizer = Normalizer::from_spec(&spec.normalizer)?;
        let opened = model::open(&spec.model, elsewhere)?;
        let find = |token: &str| opened.model.find(&opened.tokens, token);
        let added = AddedVocabulary::new(&spec.added, &normalizer, opened.count, find)?;
        let settings = settings(&opened).map_err(Fault::from_error)?;
        let OpenedModel { model, tokens, .. } = opened;
        let post = &spec.post_processor;
        let pre_tokenizer = spec.pre_tokenizer.iter().map(|step| step.does.try_map(owned));
        let decoder = spec.decoder.as_ref().map(|steps| {
            let steps = steps.iter().map(|step| step.does.try_map(owned));
            each(steps)
        });
        let pipeline = Self {
            tokens,
            added,
            normalizer,
            pre_tokenizer: each(pre_tokenizer).map_err(Fault::from_error)?,
            model,
            single: IdTemplate::new(post, &post.single),
            pair: IdTemplate::new(post, &post.pair),
            decoder: decoder.transpose().map_err(Fault::from_error)?,
            settings,
            truncation: spec.truncation,
        };
        let bad = |name, only| Err(spec.place.fault(&[name], ErrorKind::BadMetadata, only));
        let ids = || pipeline.single.ids().chain(pipeline.pair.ids());
        if ids().any(|id| id >= pipeline.count()) {
            return bad("post_processor", "its ids are beyond the vocabulary");
        }
        if pipeline.added.tokens().iter().any(|token| pipeline.contradicts(token)) {
            return bad("added_tokens", "one would get the id of another token");
        }
        Ok(pipeline)
    }

    /// Returns true if an added token has the id of another one, as where the ids of a vocabulary
    /// have gaps.
    fn contradicts(&self, added: &added::Added) -> bool {
        self.tokens.get(added.id).is_some_and(|own| own != added.content)
    }
}

/// All values, unless one is an error.
fn each<T>(values: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for value in values {
        push(&mut all, value?)?;
    }
    Ok(all)
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

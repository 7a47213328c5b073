//! A model of a description.

use alloc::vec::Vec;
use core::ops::Range;

use super::vocabulary::Vocabulary;
use super::{Bpe, Elsewhere, Model, Unigram, WordPiece, Words, merges};
use crate::error::{ErrorKind, Result};
use crate::leaf::Part;
use crate::limit::push;
use crate::owned::pipeline::tokens::TokenStrings;
use crate::text::json::{Read, Value};
use crate::token::spec::{self, MergesSpec, ModelKind};

/// A model and its tokens.
pub(in crate::owned::pipeline) struct OpenedModel {
    pub(in crate::owned::pipeline) model: Model,
    pub(in crate::owned::pipeline) tokens: TokenStrings,
    /// How many tokens `tokenizers` counts, which numbers those that are added.
    pub(in crate::owned::pipeline) count: usize,
}

/// Where a text has the vocabulary and the merges, in this order, and how many ids and merges these
/// are.
pub(in crate::owned::pipeline) fn large(
    spec: &spec::Model<'_>,
    opened: &OpenedModel,
) -> Result<Vec<(Range<u64>, usize)>> {
    let mut large = Vec::new();
    if let spec::VocabularySpec::Ids(value) | spec::VocabularySpec::Scores(value) = spec.vocabulary
    {
        push(&mut large, (range(value), opened.tokens.len()))?;
    }
    if let (ModelKind::Bpe(settings), Model::Bpe(model)) = (&spec.kind, &opened.model)
        && let MergesSpec::Listed(list) = settings.merges
    {
        push(&mut large, (range(list), model.merges.len()))?;
    }
    Ok(large)
}

fn range(value: Value<'_>) -> Range<u64> {
    value.offset()..value.offset().saturating_add(value.spelling().len() as u64)
}

/// Makes the model that is described; what is apart from the description is in `elsewhere`.
pub(in crate::owned::pipeline) fn open<'t>(
    spec: &spec::Model<'t>,
    elsewhere: Elsewhere<'_>,
) -> Read<'t, OpenedModel> {
    let mut vocabulary = Vocabulary::new(spec, elsewhere)?;
    let model = match &spec.kind {
        ModelKind::WordPiece(settings) => word_piece(settings, &vocabulary)?,
        ModelKind::Bpe(settings) => bpe(spec, settings, &vocabulary, elsewhere)?,
        ModelKind::Unigram(settings) => unigram(spec, settings, &mut vocabulary)?,
        ModelKind::Words(settings) => {
            let words = Words::new(&vocabulary.tokens, settings);
            Model::Words(Part::new(settings.part, words.map_err(|error| vocabulary.met(error))?))
        }
    };
    let Vocabulary { tokens, count, .. } = vocabulary;
    Ok(OpenedModel { model, tokens, count })
}

fn word_piece<'t>(
    settings: &spec::WordPieceSpec<'t>,
    vocabulary: &Vocabulary<'t>,
) -> Read<'t, Model> {
    let model = WordPiece::new(&vocabulary.tokens, settings).map_err(|it| vocabulary.met(it))?;
    vocabulary.refuse_twins(|token| model.trie.find(token))?;
    Ok(Model::WordPiece(model))
}

fn unigram<'t>(
    spec: &spec::Model<'t>,
    settings: &spec::UnigramSpec,
    vocabulary: &mut Vocabulary<'t>,
) -> Read<'t, Model> {
    let count = vocabulary.tokens.len();
    let bad = |name, only| spec.place.fault(&[name], ErrorKind::BadMetadata, only);
    if vocabulary.scores.len() != count {
        return Err(bad("vocab", "tokens with their scores are needed"));
    }
    let unknown = match settings.unknown {
        None => None,
        Some(id) => {
            let id = u32::try_from(id).ok().filter(|id| (*id as usize) < count);
            Some(id.ok_or_else(|| bad("unk_id", "an id of the vocabulary is needed"))?)
        }
    };
    let scores = core::mem::take(&mut vocabulary.scores);
    let model = Unigram::new(&vocabulary.tokens, scores, unknown, settings.byte_fallback);
    model.map(Model::Unigram).map_err(|error| vocabulary.met(error))
}

fn bpe<'t>(
    spec: &spec::Model<'t>,
    settings: &spec::BpeSpec<'t>,
    vocabulary: &Vocabulary<'t>,
    elsewhere: Elsewhere<'_>,
) -> Read<'t, Model> {
    let tokens = &vocabulary.tokens;
    let model = Bpe::over(tokens, settings).map_err(|error| vocabulary.met(error))?;
    vocabulary.refuse_twins(|token| model.find(tokens, token))?;
    let is_apart = matches!(spec.vocabulary, spec::VocabularySpec::Apart { .. });
    let list = match settings.merges {
        MergesSpec::Listed(list) if !is_apart => Some(list),
        _ => None,
    };
    let pairs;
    let merges = match list {
        Some(list) => {
            pairs = merges::listed(list, |token| model.find(tokens, token))?;
            &pairs
        }
        None => elsewhere.merges,
    };
    let model = model.merging(tokens, merges).map_err(|(rank, error)| match list {
        Some(list) => merges::bad_rank(list, rank, error.kind()),
        None => spec.place.fault(&["merges"], error.kind(), ""),
    })?;
    Ok(Model::Bpe(model))
}

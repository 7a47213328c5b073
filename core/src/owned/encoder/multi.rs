//! Texts to a vector for each token, for late interaction.

use alloc::string::String;
use alloc::vec::Vec;

use super::Encoder;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel;
use crate::limit::{append, collected, filled, push, reserve};
use crate::model::{
    Batch, DenseActivation, DenseModule, DenseSettings, HeadLayer, HeadModule, MultiHead,
    MultiSpec, Parallel, Weights,
};
use crate::owned::folder::{
    Described, FolderModel, LateExpansion, LateSideTokens, LateTokens, MULTI_LAYER,
};
use crate::owned::{Pipeline, Session, TextSession};

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);
/// A token that the tokenizer does not have.
const UNKNOWN: Error = Error::without_offset(ErrorKind::BadVocabulary);

/// A head that makes a vector for each token.
#[derive(Clone, Debug)]
pub(super) struct MultiPart {
    head: MultiHead<Vec<HeadLayer>>,
    floats: Vec<f32>,
    tokens: TokenRule,
}

/// The tokens that a text becomes, and those whose vectors count.
#[derive(Clone, Debug)]
enum TokenRule {
    /// As for a dense vector; all vectors but the first count.
    AllButFirst,
    /// As the model's files state for each side.
    Late { query: Side, document: Side },
}

/// The tokens of queries, or of documents.
#[derive(Clone, Debug)]
struct Side {
    /// The token after the first one.
    prefix: Option<u32>,
    /// The largest number of tokens that are used, if the model's files state one.
    most: Option<usize>,
    /// The token that a text is filled up with.
    filler: Option<Filler>,
    /// Tokens whose vectors do not count, in ascending order.
    skipped: Vec<u32>,
}

/// A token that a text is filled up with.
#[derive(Clone, Copy, Debug)]
struct Filler {
    id: u32,
    /// The number of tokens that a text has then.
    length: usize,
    /// True if it is attended to.
    is_attended: bool,
}

/// The tokens of a text for late interaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MultiTokens {
    /// The ids, special tokens included.
    pub ids: Vec<u32>,
    /// The number of first tokens that are attended to.
    pub attended: usize,
    /// True for each token whose vector counts.
    pub kept: Vec<bool>,
    /// True if the text has more tokens.
    pub truncated: bool,
}

/// The side of late interaction that a text is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateSide {
    /// It asks.
    Query,
    /// It answers.
    Document,
}

impl Side {
    fn new(pipeline: &Pipeline, tokens: &LateSideTokens, skipped: &[u32]) -> Result<Self> {
        let prefix = match &*tokens.prefix {
            "" => None,
            prefix => Some(pipeline.id(prefix).ok_or(UNKNOWN)?),
        };
        let skipped = collected(skipped.iter().copied().filter(|_| tokens.skips))?;
        Ok(Self { prefix, most: tokens.length, filler: None, skipped })
    }

    /// Returns true if the vector of a token counts.
    fn keeps(&self, id: u32) -> bool {
        self.skipped.binary_search(&id).is_err()
    }

    /// The tokens of a text of which `encode` makes so many at most.
    fn tokens(
        &self,
        limit: usize,
        encode: &mut dyn FnMut(usize) -> Result<(Vec<u32>, bool)>,
    ) -> Result<MultiTokens> {
        let limit = self.most.map_or(limit, |most| most.min(limit));
        let (mut ids, truncated) = encode(limit.saturating_sub(self.prefix.iter().count()))?;
        reserve(&mut ids, 1)?;
        if let Some(prefix) = self.prefix {
            ids.insert(ids.len().min(1), prefix);
        }
        let mut attended = ids.len();
        if let Some(Filler { id, length, is_attended }) = self.filler {
            for _ in attended..length.min(limit) {
                push(&mut ids, id)?;
            }
            if is_attended {
                attended = ids.len();
            }
        }
        let kept = collected(ids.iter().map(|id| self.keeps(*id)))?;
        Ok(MultiTokens { ids, attended, kept, truncated })
    }
}

impl TokenRule {
    fn from_late(late: &LateTokens, pipeline: &Pipeline) -> Result<Self> {
        // Words that are no tokens cannot be found among tokens.
        let mut skipped = collected(late.skipped.iter().filter_map(|word| pipeline.id(word)))?;
        skipped.sort_unstable();
        let mut query = Side::new(pipeline, &late.query, &skipped)?;
        let document = Side::new(pipeline, &late.document, &skipped)?;
        if let Some(expansion) = &late.expansion {
            let LateExpansion { length, is_attended, .. } = *expansion;
            let id = expansion.id(pipeline).ok_or(UNKNOWN)?;
            query.filler = Some(Filler { id, length, is_attended });
        }
        Ok(Self::Late { query, document })
    }

    /// The tokens of this side; `None` if both have those of a dense vector.
    const fn side(&self, side: LateSide) -> Option<&Side> {
        match (self, side) {
            (Self::Late { query, .. }, LateSide::Query) => Some(query),
            (Self::Late { document, .. }, LateSide::Document) => Some(document),
            (Self::AllButFirst, _) => None,
        }
    }
}

impl MultiPart {
    /// The head of the model that `described` describes; `None` if it has none.
    pub(super) fn open(
        described: &FolderModel,
        weights: &impl Weights,
        pipeline: &Pipeline,
    ) -> Result<Option<Self>> {
        let Described::Transformer(family) = &described.described else { return Ok(None) };
        let width = family.config.hidden;
        let (tokens, head) = if let Some(late) = &described.late_tokens {
            let modules = described.modules.iter().flat_map(|modules| &modules.head);
            let head = collected(modules.map(|module| module.map_folder(String::as_str)))?;
            (TokenRule::from_late(late, pipeline)?, head)
        } else if described.layers_beside().contains(&MULTI_LAYER)
            && let Some(weight) = weights.matrix("colbert_linear/linear.weight")?
        {
            (TokenRule::AllButFirst, collected([beside(width, weight.rows)])?)
        } else {
            return Ok(None);
        };
        let spec = MultiSpec { width, head: &head };
        let needs = spec.needs(weights)?;
        let layers = filled(needs.head, HeadLayer::EMPTY)?;
        let (mut floats, mut tile) = (filled(needs.floats, 0.0)?, filled(needs.tile, 0)?);
        let memory = (layers, &mut floats[..]);
        let head = spec.open(weights, weights, &kernel::detect(), memory, &mut tile)?;
        Ok(Some(Self { head, floats, tokens }))
    }
}

/// The layer of a model that has it beside its modules.
const fn beside(inputs: usize, outputs: usize) -> HeadModule<&'static str> {
    let activation = DenseActivation::Identity;
    let settings = DenseSettings { inputs, outputs, bias: true, activation, gives_scores: false };
    HeadModule::Dense(DenseModule { folder: MULTI_LAYER, settings })
}

impl<W: Weights + Sync> Encoder<W> {
    /// Elements of the vector of a token; 0 if the model does not make one for each.
    #[must_use]
    pub fn multi_dimensions(&self) -> usize {
        self.multi.as_ref().map_or(0, |part| part.head.dimensions())
    }

    /// Returns true if queries and documents become different tokens.
    #[must_use]
    pub const fn tells_sides(&self) -> bool {
        match &self.multi {
            Some(part) => matches!(part.tokens, TokenRule::Late { .. }),
            None => false,
        }
    }

    /// The largest number of tokens of a text on this side of late interaction; `None` if the model's
    /// files state none.
    #[must_use]
    pub fn multi_limit(&self, side: LateSide) -> Option<usize> {
        self.multi.as_ref()?.tokens.side(side)?.most
    }

    /// The tokens of a text on a side of late interaction, at most `limit`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model makes no vector for each token; as
    /// [`encode`](Self::encode).
    pub fn encode_multi(
        &self,
        text: &str,
        side: LateSide,
        limit: usize,
        session: &mut TextSession,
    ) -> Result<MultiTokens> {
        let part = self.multi.as_ref().ok_or(OTHER_MODEL)?;
        let mut encode = |limit| self.encode_start(text, limit, session);
        if let Some(side) = part.tokens.side(side) {
            return side.tokens(limit, &mut encode);
        }
        let (ids, truncated) = encode(limit)?;
        let mut kept = filled(ids.len(), true)?;
        kept.iter_mut().take(1).for_each(|first| *first = false);
        Ok(MultiTokens { attended: ids.len(), ids, kept, truncated })
    }

    /// The vectors of the tokens of texts, `[tokens that are kept, multi_dimensions]` for each text,
    /// every one of length 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] if the model makes no vector for each token;
    /// [`ErrorKind::NoMemory`]; as [`TokenEncoder::states`](crate::owned::TokenEncoder::states).
    pub fn embed_multi<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        texts: &[MultiTokens],
    ) -> Result<Vec<Vec<f32>>> {
        let MultiPart { head, floats, .. } = self.multi.as_ref().ok_or(OTHER_MODEL)?;
        let mut vectors = filled(texts.len(), Vec::new())?;
        let mut slots = vectors.iter_mut().zip(texts).filter(|(_, text)| !text.ids.is_empty());
        let some = || texts.iter().filter(|text| !text.ids.is_empty());
        let lengths = collected(some().map(|text| text.ids.len()))?;
        let attended = collected(some().map(|text| text.attended))?;
        let ids = collected(some().flat_map(|text| text.ids.iter().copied()))?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut scratch = filled(head.scratch(longest), 0.0)?;
        let mut each = |_, states: &[f32]| {
            let invalid = Error::without_offset(ErrorKind::InvalidArgument);
            let (slot, text) = slots.next().ok_or(invalid)?;
            let rows = head.vectors(self.network.kernels(), floats, states, &mut scratch)?;
            let rows = rows.chunks_exact(head.dimensions().max(1)).zip(&text.kept);
            for (row, _) in rows.filter(|(_, is_kept)| **is_kept) {
                append(slot, row)?;
            }
            Ok(())
        };
        if !lengths.is_empty() {
            let weights = self.requantizing.over(&self.weights);
            let texts = Batch { attended: &attended, ..Batch::new(&ids, &lengths) };
            self.network.states(&weights, session, parallel, &texts, &mut each, &|_| {})?;
        }
        Ok(vectors)
    }
}

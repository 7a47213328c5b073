//! Tokenizers as a `tokenizer.json` of Hugging Face `tokenizers` describes them, with the ids of
//! that library.
//!
//! 1. `added`: tokens that the text spells are taken out of it;
//! 2. `normalizer`: the steps that make another text of what is between them;
//! 3. `pre_tokenizer`: the steps that cut it into pieces;
//! 4. `model`: WordPiece, BPE or Unigram, which makes ids of each piece;
//! 5. templates: the tokens around the ids;
//! 6. `decoder`: the steps that make text of tokens again.
//!
//! A step or a setting that is not known is refused by name, for leaving it out would give other
//! ids.

mod added;
mod automaton;
mod decoder;
mod model;
mod normalizer;
mod parts;
mod pre_tokenizer;
mod text;
mod tokens;
mod trie;

use alloc::string::String;
use alloc::vec::Vec;

use super::{Tokenized, TokenizedPair};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::write;
use crate::limit::{append, copied, grow, push, reserved};
use crate::token::SpecialTokens;
use crate::token::added_parts::Part;
use crate::token::longest_first::longest_first;
use crate::token::spec::{IdPart, IdTemplate};
use crate::token::unicode::{Form, write_form};
use added::AddedVocabulary;
use decoder::Decoder;
use model::{Model, ModelScratch};
use normalizer::{Marks, Normalizer};
pub use parts::PipelineParts;
use pre_tokenizer::{Piece, Pieces, PreTokenizer};
use text::{Allowance, Text};
use tokens::TokenStrings;

/// Writes `text` in Unicode's form NFC after `out`.
pub(super) fn compose(text: &str, out: &mut String) -> Result<()> {
    let mut written = Text::default();
    written.clear(usize::MAX);
    let mut held = Marks::default();
    write_form(Form::NFC, text, &mut held, &mut written, |_| true);
    held.check()?;
    written.check()?;
    write(out, written.as_str())
}

/// The text of BERT's `tokens`, by the decoder that its `tokenizer.json` has.
pub(super) fn join_word_pieces<'t>(tokens: impl Iterator<Item = &'t str>) -> Result<String> {
    let joins = Decoder::WordPiece { prefix: copied("##")?, cleans: true };
    decoder::decode(Some(&[joins]), tokens)
}

/// A tokenizer.
///
/// ```
/// use nanoembed_core::owned::{Pipeline, PipelineSession};
/// use nanoembed_core::token::SpecialTokens;
///
/// let tokenizer = Pipeline::read(
///     r###"{
///         "version": "1.0",
///         "added_tokens": [],
///         "normalizer": {"type": "Lowercase"},
///         "model": {
///             "type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##",
///             "max_input_chars_per_word": 100, "vocab": {"?": 0, "snow": 1, "##flake": 2}
///         }
///     }"###,
/// )?;
/// let mut session = PipelineSession::default();
/// let tokens = tokenizer.encode("Snowflake", 8, SpecialTokens::AsTokens, &mut session)
///     .expect("room for all of them");
/// assert_eq!(tokens.ids, [1, 2]);
/// # Ok::<(), nanoembed_core::text::json::Fault<'static>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The model's own tokens, then those that were added to them.
    tokens: TokenStrings,
    added: AddedVocabulary,
    normalizer: Vec<Normalizer>,
    pre_tokenizer: Vec<PreTokenizer>,
    model: Model,
    /// The tokens around one text, and around and between two.
    single: IdTemplate,
    pair: IdTemplate,
    decoder: Option<Vec<Decoder>>,
    /// The JSON without the vocabulary.
    settings: String,
    truncation: Option<u64>,
}

/// The memory of one thread.
#[derive(Debug, Default)]
pub struct PipelineSession {
    text: Text,
    next_text: Text,
    held: Marks,
    pieces: Pieces,
    model: ModelScratch,
    ids: Vec<u32>,
    second: Vec<u32>,
}

impl Pipeline {
    /// Makes texts lower case before all other steps, if none of those does: `do_lower_case` of
    /// sentence-transformers. Special tokens are found before that, and a letter's case does not
    /// depend on its place: a final sigma is `σ`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] if nothing is left of an added token;
    /// [`ErrorKind::NoMemory`].
    pub fn with_lower_case(mut self) -> Result<Self> {
        if !self.normalizer.iter().any(|step| matches!(step, Normalizer::Lowercase)) {
            let mut steps = reserved(self.normalizer.len().saturating_add(1))?;
            steps.push(Normalizer::Lowercase);
            steps.append(&mut self.normalizer);
            self.normalizer = steps;
            self.added.renormalize(&self.normalizer)?;
        }
        Ok(self)
    }

    /// One more than the highest id.
    #[must_use]
    pub fn count(&self) -> u32 {
        let last = self.added.tokens().last().map_or(0, |token| token.id + 1);
        last.max(self.tokens.len() as u32)
    }

    /// The token of an id, as the file spells it.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        let own = self.tokens.get(id);
        own.or_else(|| self.added.content(id)).map(str::as_bytes)
    }

    /// The id of a token.
    #[must_use]
    pub fn id(&self, token: &str) -> Option<u32> {
        self.added.find(token).or_else(|| self.model.find(&self.tokens, token))
    }

    /// How many tokens the file cuts texts to (`truncation`), if it does. Nothing here does so
    /// unasked: most programs that use such a file say themselves how many they want.
    #[must_use]
    pub const fn truncation(&self) -> Option<u64> {
        self.truncation
    }

    /// The id of the model's unknown token.
    #[must_use]
    pub const fn unknown(&self) -> Option<u32> {
        self.model.unknown()
    }

    /// The ids of `text` with what the post-processor puts around them, of which the last ones are
    /// left out so that there are at most `max_tokens`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `max_tokens` leaves no room for the special tokens;
    /// [`ErrorKind::BadVocabulary`] if the text has something unknown and the model no token for
    /// that; [`ErrorKind::OverLimit`] if the normaliser makes far more of the text than it was.
    pub fn encode(
        &self,
        text: &str,
        max_tokens: usize,
        special: SpecialTokens,
        session: &mut PipelineSession,
    ) -> Result<Tokenized> {
        let around = self.single.added();
        let room = max_tokens.checked_sub(around);
        let room = room.ok_or(Error::without_offset(ErrorKind::InvalidArgument))?;
        let mut found = core::mem::take(&mut session.ids);
        found.clear();
        let encoded = self.encode_into(text, special, session, &mut found);
        let total = found.len() + around;
        let kept = found.len().min(room);
        let put_around = encoded.and_then(|()| {
            let mut ids = reserved(kept + around)?;
            for item in self.single.items() {
                match item.part {
                    IdPart::First => append(&mut ids, &found[..kept])?,
                    IdPart::Special(id) => push(&mut ids, id)?,
                    IdPart::Second => {}
                }
            }
            Ok(ids)
        });
        let truncated = kept < found.len();
        session.ids = found;
        put_around.map(|ids| Tokenized { ids, total, truncated })
    }

    /// Writes the ids of `text` alone after `ids`.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_alone(
        &self,
        text: &str,
        special: SpecialTokens,
        session: &mut PipelineSession,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        self.encode_into(text, special, session, ids)
    }

    /// The ids and types of two texts with what the post-processor puts around and between them.
    /// If there are more than `max_tokens`, the longer text is shortened first, as strategy
    /// `longest_first` of `tokenizers` does it.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        max_tokens: usize,
        session: &mut PipelineSession,
    ) -> Result<TokenizedPair> {
        let around = self.pair.added();
        let room = max_tokens.checked_sub(around);
        let room = room.ok_or(Error::without_offset(ErrorKind::InvalidArgument))?;
        let mut texts = (core::mem::take(&mut session.ids), core::mem::take(&mut session.second));
        texts.0.clear();
        texts.1.clear();
        let special = SpecialTokens::AsTokens;
        let encoded = self
            .encode_into(first, special, session, &mut texts.0)
            .and_then(|()| self.encode_into(second, special, session, &mut texts.1));
        let put_around = encoded.and_then(|()| {
            let kept = longest_first(texts.0.len(), texts.1.len(), room);
            let mut pair = TokenizedPair {
                ids: reserved(kept.0 + kept.1 + around)?,
                types: reserved(kept.0 + kept.1 + around)?,
                truncated: kept != (texts.0.len(), texts.1.len()),
                shared: 0,
            };
            for item in self.pair.items() {
                let ids = match &item.part {
                    IdPart::First => &texts.0[..kept.0],
                    IdPart::Second => &texts.1[..kept.1],
                    IdPart::Special(id) => core::slice::from_ref(id),
                };
                append(&mut pair.ids, ids)?;
                grow(&mut pair.types, pair.ids.len(), item.kind)?;
            }
            Ok(pair)
        });
        (session.ids, session.second) = texts;
        put_around
    }

    /// The text of `ids`; of those without a token nothing. Special tokens are left out if
    /// `skip_special`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] if a decoder makes far more of the tokens than they were.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        let own = |id: u32| self.tokens.get(id).map(|token| (token, false));
        let token = |id: &u32| self.added.for_decoder(*id).or_else(|| own(*id));
        let tokens = ids.iter().filter_map(token);
        let tokens = tokens.filter(|(_, is_special)| !(skip_special && *is_special));
        decoder::decode(self.decoder.as_deref(), tokens.map(|(token, _)| token))
    }

    /// Writes the ids of `text` after `ids`.
    fn encode_into(
        &self,
        text: &str,
        special: SpecialTokens,
        session: &mut PipelineSession,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let mut allowance = Allowance::for_text(text);
        let added = &self.added;
        added.parts(&added.written, text, special, &mut |part| match part {
            Part::Added { id, .. } => push(ids, id),
            Part::Plain(place) => {
                session.text.set(&text[place.clone()], place.start, allowance.left())?;
                self.encode_part(special, session, &mut allowance, ids)
            }
        })
    }

    /// The same of the text in `session`, in which no tokens are found as they are written. What
    /// becomes of it is taken from `allowance`.
    fn encode_part(
        &self,
        special: SpecialTokens,
        session: &mut PipelineSession,
        allowance: &mut Allowance,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let PipelineSession { text, next_text, held, pieces, model, .. } = session;
        let normalized = normalizer::run(&self.normalizer, text, next_text, held)?;
        let text = &*text;
        let mut left = *allowance;
        let mut encode = |place: core::ops::Range<usize>, ids: &mut Vec<u32>| {
            let piece = Piece { start: place.start, end: place.end };
            left.take(pieces.cut(&self.pre_tokenizer, text, piece, left.left())?)?;
            for piece in pieces.iter(text) {
                self.model.encode(&self.tokens, piece, model, ids)?;
            }
            Ok(())
        };
        let added = &self.added;
        added.parts(&added.normalized, text.as_str(), special, &mut |part| match part {
            Part::Added { id, .. } => push(ids, id),
            Part::Plain(place) => encode(place, ids),
        })?;
        allowance.take(normalized.max(allowance.left() - left.left()))
    }
}

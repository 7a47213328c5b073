//! SentencePiece with memory of its own.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{ErrorKind, Result};
use crate::limit::{filled, grow, reserved};
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::sentencepiece::{
    CachedWord, Piece, PieceDecoder, PieceIndex, PieceNeeds, PiecePart, PieceScratch,
    SentencePiece, Slot, Spec, Step,
};
use crate::token::{AddedIndex, AddedRules, AddedTable, AddedToken, SpecialTokens};

/// A tokenizer by a serialized `ModelProto` whose bytes `B` holds: a slice, a `Vec`, a mapped file.
#[derive(Clone, Debug)]
pub struct SentencePieceModel<B> {
    model: B,
    pieces: Vec<Piece>,
    slots: Vec<Slot>,
    index: PieceIndex,
    /// Added pieces, sorted by spelling.
    added: Vec<AddedToken>,
    added_index: AddedIndex,
}

/// Scratch memory of one thread for a [`SentencePieceModel`], which grows with the longest text.
#[derive(Debug, Default)]
pub struct PieceSession {
    text: Vec<u8>,
    symbols: Vec<Symbol<PiecePart>>,
    heap: Vec<Candidate<PiecePart>>,
    steps: Vec<Step>,
    splits: Vec<u16>,
    cache: Vec<CachedWord>,
}

/// Words whose ids are remembered: 200 KB.
const REMEMBERED_WORDS: usize = 4096;

/// Room for the words of most texts, in bytes.
const USUAL_WORD: usize = 1024;

impl PieceSession {
    fn grow(&mut self, needs: &PieceNeeds) -> Result<()> {
        grow(&mut self.text, needs.text, 0)?;
        grow(&mut self.symbols, needs.symbols, Symbol::default())?;
        grow(&mut self.heap, needs.heap, Candidate::default())?;
        grow(&mut self.steps, needs.steps, Step::default())?;
        grow(&mut self.splits, needs.splits, 0)?;
        // Words are remembered where they are merged.
        let words = if needs.symbols > 0 { REMEMBERED_WORDS } else { 0 };
        grow(&mut self.cache, words, CachedWord::default())
    }

    fn scratch(&mut self) -> PieceScratch<'_> {
        let Self { text, symbols, heap, steps, splits, cache } = self;
        PieceScratch { cache, ..PieceScratch::new(text, symbols, heap, steps, splits) }
    }
}

impl<B: AsRef<[u8]>> SentencePieceModel<B> {
    /// Opens a serialized model that lies at the absolute `offset` of a file.
    ///
    /// # Errors
    ///
    /// As [`SentencePiece::build`].
    pub fn open(model: B, offset: u64) -> Result<Self> {
        let spec = Spec::read(model.as_ref(), offset)?;
        let mut pieces = filled(spec.pieces() as usize, Piece::default())?;
        let mut slots = filled(spec.slots_needed()?, Slot::default())?;
        let built = SentencePiece::build(model.as_ref(), offset, &mut pieces, &mut slots)?;
        let index = built.index();
        let (added, added_index) = (Vec::new(), AddedIndex::default());
        Ok(Self { model, pieces, slots, index, added, added_index })
    }

    /// The same, but the pieces with the ids `added` are taken out of texts before anything else
    /// happens to them.
    ///
    /// # Errors
    ///
    /// As [`SentencePiece::added_token`] and [`AddedIndex::build`].
    pub fn with_added(self, added: &[u32]) -> Result<Self> {
        self.with_added_by(added, |_| AddedRules::default())
    }

    /// The same by the `rules` of each.
    ///
    /// # Errors
    ///
    /// As [`with_added`](Self::with_added).
    pub fn with_added_by(self, added: &[u32], rules: impl Fn(u32) -> AddedRules) -> Result<Self> {
        let mut tokens = reserved(added.len())?;
        for id in added {
            tokens.push(self.tokenizer().added_token_with(*id, rules(*id))?);
        }
        let added_index = AddedIndex::build(self.model(), &mut tokens)?;
        Ok(Self { added: tokens, added_index, ..self })
    }

    /// An added piece that is not found by its spelling alone.
    #[must_use]
    pub fn ruled(&self) -> Option<u32> {
        let is_ruled = |token: &&AddedToken| token.rules() != AddedRules::default();
        self.added.iter().find(is_ruled).map(AddedToken::id)
    }

    fn added(&self) -> AddedTable<'_> {
        AddedTable::resume(self.model(), &self.added, self.added_index)
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> SentencePiece<'_> {
        SentencePiece::resume(self.model.as_ref(), &self.pieces, &self.slots, self.index)
    }

    /// The serialized model.
    pub fn model(&self) -> &[u8] {
        self.model.as_ref()
    }

    /// The ids of `text`, after those that `ids` holds: see [`SentencePiece::encode`]. `special`
    /// says what added pieces become that the text spells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OverLimit`] if the model's rules make more of the text than
    /// [`Limit::EXPANSION`](crate::limit::Limit::EXPANSION) allows; [`ErrorKind::NoMemory`].
    pub fn encode(
        &self,
        text: &str,
        special: SpecialTokens,
        session: &mut PieceSession,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let added = match special {
            SpecialTokens::AsText => AddedTable::EMPTY,
            SpecialTokens::AsTokens => self.added(),
        };
        let tokenizer = self.tokenizer();
        let most = text.len().saturating_mul(3).saturating_add(6);
        let word = most.min(USUAL_WORD);
        // What most texts need costs no look at the text.
        session.grow(&PieceNeeds { text: most, ..tokenizer.needs_for(word) })?;
        let start = ids.len();
        let (mut room, mut grown) = (text.len().saturating_add(2), false);
        loop {
            grow(ids, start.saturating_add(room), 0)?;
            let places = ids.get_mut(start..).unwrap_or_default();
            match tokenizer.encode(text, &added, places, &mut session.scratch()) {
                Ok(found) if found.tokens == found.total => {
                    ids.truncate(start.saturating_add(found.tokens));
                    return Ok(());
                }
                Ok(found) => room = found.total,
                Err(error) if error.kind() == ErrorKind::BufferTooSmall && !grown => {
                    session.grow(&tokenizer.needs(text)?)?;
                    grown = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The text of `ids`: see [`PieceDecoder::token`].
    ///
    /// # Errors
    ///
    /// As [`PieceDecoder::token`].
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        let (tokenizer, mut decoder, mut text) =
            (self.tokenizer(), PieceDecoder::new(), String::new());
        let mut add = |piece: &str| {
            text.push_str(piece);
            Ok(())
        };
        ids.iter().try_for_each(|id| decoder.token(&tokenizer, *id, &mut add))?;
        decoder.finish(&mut add)?;
        Ok(text)
    }
}

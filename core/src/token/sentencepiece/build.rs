//! A model ready for use: its pieces in a table and a trie, in lent memory.

use super::cache::hash;
use super::normalize::{Normalizer, SPACE, Symbols};
use super::pieces::{Piece, PieceKind, byte_of};
use super::proto::Fields;
use super::rules::Rules;
use super::spec::{Algorithm, BEGIN, END, PADDING, Place, Spec, UNKNOWN_SURFACE};
use super::trie::{self, Builder, Hit, Kind, Slot, Trie};
use crate::error::{Error, ErrorKind, Result};
use crate::token::byte_set::ByteSet;
use crate::token::{AddedRules, AddedToken};

/// Stands for a byte that has no piece.
const NO_PIECE: u32 = u32::MAX;

/// A model without its bytes and the memory that was lent for it.
#[derive(Clone, Copy, Debug)]
pub struct PieceIndex {
    spec: Spec,
    /// Of the trie.
    longest_probe: usize,
    pub(super) unknown: Option<u32>,
    begin: Option<u32>,
    end: Option<u32>,
    padding: Option<u32>,
    /// The pieces of the 256 bytes.
    bytes: [u32; 256],
    /// The first bytes of symbols that the user defined.
    symbols: ByteSet,
    /// The first bytes of symbols and of keys of the rules, and the space.
    special: ByteSet,
    pub(super) crossings: Crossings,
    pub(super) has_unused: bool,
    pub(super) least_score: f32,
    /// A hash of the model.
    pub(super) fingerprint: u64,
}

/// Between which characters pieces go on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crossings {
    /// A space after another character.
    pub(super) into_space: bool,
    /// Another character after a space.
    pub(super) out_of_space: bool,
    /// A space after a space.
    pub(super) within_spaces: bool,
}

impl Crossings {
    fn see(&mut self, piece: &[u8]) {
        let mut rest = piece;
        let mut before: Option<bool> = None;
        while !rest.is_empty() {
            let (is_space, length) = match rest.starts_with(SPACE) {
                true => (true, SPACE.len()),
                false => (false, 1),
            };
            if let Some(before) = before {
                self.into_space |= !before && is_space;
                self.out_of_space |= before && !is_space;
                self.within_spaces |= before && is_space;
            }
            before = Some(is_space);
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Returns true if no piece goes on where a character ends, which is a space or not, and
    /// another begins.
    pub(super) const fn cut(self, space_before: bool, space_after: bool) -> bool {
        match (space_before, space_after) {
            (false, true) => !self.into_space,
            (true, false) => !self.out_of_space,
            (true, true) => !self.within_spaces,
            (false, false) => false,
        }
    }
}

/// A SentencePiece tokenizer over a serialized model.
#[derive(Clone, Debug)]
pub struct SentencePiece<'a> {
    model: &'a [u8],
    pub(super) pieces: &'a [Piece],
    slots: &'a [Slot],
    pub(super) index: PieceIndex,
}

impl Spec {
    /// How many slots [`SentencePiece::build`] needs beside an entry for each of the
    /// [`pieces`](Self::pieces).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeOverflow`] for models whose pieces have more than some 13 million bytes
    /// together.
    pub fn slots_needed(&self) -> Result<usize> {
        Self::slots_needed_for(self.piece_bytes())
    }

    /// The same for pieces of so many bytes together.
    ///
    /// # Errors
    ///
    /// As [`slots_needed`](Self::slots_needed).
    pub fn slots_needed_for(piece_bytes: u64) -> Result<usize> {
        let large = Error::without_offset(ErrorKind::SizeOverflow);
        trie::slots_needed(piece_bytes).ok_or(large)
    }
}

impl<'a> SentencePiece<'a> {
    /// A tokenizer by the serialized `model`, which lies at the absolute `offset` of a file, with a
    /// table of its pieces and a trie over them in lent memory.
    ///
    /// # Errors
    ///
    /// As [`Spec::read`], and what is wrong with a piece or with the rules of normalisation, where
    /// it lies; [`ErrorKind::BadVocabulary`] if a piece is there twice, or the unknown piece or
    /// pieces for bytes are missing; [`ErrorKind::BufferTooSmall`] if there is less memory than
    /// [`Spec::pieces`] and [`Spec::slots_needed`] say.
    #[inline(never)] // so that it has its stack to itself
    pub fn build(
        model: &'a [u8],
        offset: u64,
        pieces: &'a mut [Piece],
        slots: &'a mut [Slot],
    ) -> Result<Self> {
        let spec = Spec::read(model, offset)?;
        let small = Error::without_offset(ErrorKind::BufferTooSmall);
        let pieces = pieces.get_mut(..spec.pieces() as usize).ok_or(small)?;
        let slots = slots.get_mut(..spec.slots_needed()?).ok_or(small)?;
        let mut building = Building {
            index: PieceIndex::new(spec),
            trie: Builder::new(slots, usize::MAX),
            names: [
                spec.begin.map_or(BEGIN, |it| it.bytes_in(model)),
                spec.end.map_or(END, |it| it.bytes_in(model)),
                spec.padding.map_or(PADDING, |it| it.bytes_in(model)),
            ],
        };
        let messages =
            Fields::new((model, offset)).filter(|it| it.as_ref().is_ok_and(|it| it.number == 1));
        for ((id, place), field) in (0..).zip(pieces.iter_mut()).zip(messages) {
            let message = field?.bytes()?;
            *place = Piece::read(message, offset)?;
            let at_piece = |error: Error| Error::new(message.1, error.kind());
            building.add(id, place, place.spelling(model)).map_err(at_piece)?;
        }
        let mut index = building.finish(offset)?;
        index.fingerprint = hash(model);
        let rules_offset = offset.saturating_add(spec.rules.start.into());
        if let Some(rules) = Rules::parse(spec.rules.bytes_in(model), rules_offset)? {
            (0..=u8::MAX).filter(|it| rules.begins(*it)).for_each(|it| index.special.insert(it));
        }
        Ok(Self { model, pieces, slots, index })
    }

    /// Takes up again what [`build`](Self::build) left in `pieces` and `slots`, for a host that
    /// keeps the memory and the [`index`](Self::index) but not the borrow. With others ids are
    /// wrong, nothing worse; what is more than was asked for is left alone here as there.
    #[must_use]
    pub fn resume(
        model: &'a [u8],
        pieces: &'a [Piece],
        slots: &'a [Slot],
        index: PieceIndex,
    ) -> Self {
        let pieces = pieces.get(..index.spec.pieces() as usize).unwrap_or(pieces);
        let needed = index.spec.slots_needed().unwrap_or(usize::MAX);
        Self { model, pieces, slots: slots.get(..needed).unwrap_or(slots), index }
    }

    /// The last argument of [`resume`](Self::resume).
    #[must_use]
    pub const fn index(&self) -> PieceIndex {
        self.index
    }

    /// The settings of the model.
    #[must_use]
    pub const fn spec(&self) -> &Spec {
        &self.index.spec
    }

    /// The spelling of a piece, spaces as `▁`, and its kind; `None` if there is no such id.
    #[must_use]
    pub fn piece(&self, id: u32) -> Option<(&'a str, PieceKind)> {
        let piece = self.pieces.get(id as usize)?;
        Some((core::str::from_utf8(piece.spelling(self.model)).ok()?, piece.kind))
    }

    /// A piece as it is found in a text before anything else happens to it.
    ///
    /// # Errors
    ///
    /// As [`added_token_with`](Self::added_token_with).
    pub fn added_token(&self, id: u32) -> Result<AddedToken> {
        self.added_token_with(id, AddedRules::default())
    }

    /// The same by rules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such piece; as [`AddedToken::within`].
    pub fn added_token_with(&self, id: u32, rules: AddedRules) -> Result<AddedToken> {
        let missing = Error::without_offset(ErrorKind::BadVocabulary);
        let piece = self.pieces.get(id as usize).ok_or(missing)?;
        AddedToken::within(self.model, piece.spelling(self.model), id, rules)
    }

    /// How likely a piece is: the logarithm of its probability, or what merges it earlier than
    /// others.
    #[must_use]
    pub fn score(&self, id: u32) -> Option<f32> {
        self.pieces.get(id as usize).map(|piece| piece.score)
    }

    /// The control piece that begins a text, `<s>`.
    #[must_use]
    pub const fn begin(&self) -> Option<u32> {
        self.index.begin
    }

    /// The control piece that ends a text, `</s>`.
    #[must_use]
    pub const fn end(&self) -> Option<u32> {
        self.index.end
    }

    /// The control piece that fills texts up, `<pad>`.
    #[must_use]
    pub const fn padding(&self) -> Option<u32> {
        self.index.padding
    }

    /// The piece for what has none, `<unk>`.
    #[must_use]
    pub const fn unknown(&self) -> Option<u32> {
        self.index.unknown
    }

    /// The text of the unknown piece.
    pub(super) fn unknown_surface(&self) -> &'a str {
        let said =
            |place: Place| core::str::from_utf8(place.bytes_in(self.model)).unwrap_or_default();
        self.spec().unknown_surface.map_or(UNKNOWN_SURFACE, said)
    }

    /// The piece of a byte.
    pub(super) fn byte(&self, byte: u8) -> Option<u32> {
        self.index.bytes.get(usize::from(byte)).copied().filter(|id| *id != NO_PIECE)
    }

    pub(super) const fn trie(&self) -> Trie<'a> {
        Trie::resume(self.slots, self.index.longest_probe)
    }

    pub(super) const fn symbols(&self) -> Symbols<'a> {
        Symbols { trie: self.trie(), first: self.index.symbols }
    }

    pub(super) fn normalizer(&self) -> Normalizer<'_> {
        Normalizer {
            spec: &self.index.spec,
            rules: Rules::resume(self.index.spec.rules.bytes_in(self.model)),
            symbols: self.symbols(),
            special: self.index.special,
        }
    }
}

impl PieceIndex {
    fn new(spec: Spec) -> Self {
        let mut special = ByteSet::default();
        special.insert(b' ');
        Self {
            spec,
            longest_probe: 0,
            unknown: None,
            begin: None,
            end: None,
            padding: None,
            bytes: [NO_PIECE; 256],
            symbols: ByteSet::default(),
            special,
            crossings: Crossings::default(),
            has_unused: false,
            least_score: f32::MAX,
            fingerprint: 0,
        }
    }
}

/// A model whose pieces are being read.
struct Building<'m, 's> {
    index: PieceIndex,
    trie: Builder<'s>,
    /// The names of the pieces that begin, end and fill up texts.
    names: [&'m [u8]; 3],
}

impl Building<'_, '_> {
    /// Takes a piece; errors are without offset.
    fn add(&mut self, id: u32, piece: &mut Piece, spelling: &[u8]) -> Result<()> {
        let bad = Error::without_offset(ErrorKind::BadVocabulary);
        if spelling == b"\0" && (self.index.spec.byte_fallback || piece.kind == PieceKind::Unused) {
            // Some converters write the byte twice, in its own way and as it is.
            piece.kind = PieceKind::Unused;
            return Ok(());
        }
        if spelling.contains(&0) {
            return Err(bad);
        }
        match piece.kind {
            PieceKind::Normal => {
                self.index.least_score = self.index.least_score.min(piece.score);
                self.index_piece(id, Kind::Normal, spelling)
            }
            PieceKind::UserDefined => {
                if let Some(first) = spelling.first() {
                    self.index.symbols.insert(*first);
                    self.index.special.insert(*first);
                }
                self.index_piece(id, Kind::UserDefined, spelling)
            }
            PieceKind::Unused => {
                self.index.has_unused = true;
                self.index_piece(id, Kind::Unused, spelling)
            }
            PieceKind::Unknown => match self.index.unknown.replace(id) {
                None => Ok(()),
                Some(_) => Err(bad),
            },
            PieceKind::Byte => {
                let byte =
                    byte_of(spelling).filter(|_| self.index.spec.byte_fallback).ok_or(bad)?;
                let place = self.index.bytes.get_mut(usize::from(byte)).ok_or(bad)?;
                *place = id;
                Ok(())
            }
            PieceKind::Control => {
                let [begin, end, padding] = self.names;
                let index = &mut self.index;
                for (name, role) in [
                    (begin, &mut index.begin),
                    (end, &mut index.end),
                    (padding, &mut index.padding),
                ] {
                    if name == spelling {
                        *role = Some(id);
                    }
                }
                Ok(())
            }
        }
    }

    fn index_piece(&mut self, id: u32, kind: Kind, spelling: &[u8]) -> Result<()> {
        self.index.crossings.see(spelling);
        self.trie.insert(spelling, Hit { id, kind })
    }

    /// Checks that nothing is missing in the model at `offset`.
    fn finish(mut self, offset: u64) -> Result<PieceIndex> {
        let fallback = self.index.spec.byte_fallback;
        let whole = match fallback {
            true => !self.index.bytes.contains(&NO_PIECE),
            false => self.index.unknown.is_some(),
        };
        let empty =
            self.index.spec.algorithm == Algorithm::Unigram && self.index.least_score == f32::MAX;
        if !whole || empty {
            return Err(Error::new(offset, ErrorKind::BadVocabulary));
        }
        self.index.longest_probe = self.trie.longest_probe();
        Ok(self.index)
    }
}

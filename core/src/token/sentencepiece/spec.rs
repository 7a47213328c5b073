//! The settings of a serialized `ModelProto`.
//!
//! | message | number | field |
//! |---|---|---|
//! | ModelProto | 1, 2, 3, 5 | pieces (each of them), trainer, normalizer, denormalizer |
//! | SentencePiece | 1, 2, 3 | piece, score, type |
//! | TrainerSpec | 3, 24, 35 | model type, white space as suffix, byte fallback |
//! | | 44, 45, 46, 47, 48 | surface of the unknown piece; unknown, begin, end, padding |
//! | NormalizerSpec | 2, 3, 4, 5 | compiled rules, dummy prefix, remove extra white space, escape white space |
//!
//! All others are for training.
//! <https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto>

use super::proto::{Field, Fields};
use crate::error::{Error, ErrorKind, Result};

/// How pieces are found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The most likely segmentation.
    Unigram,
    /// Neighbours are merged, the best pair first.
    Bpe,
}

/// Where bytes of the model lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u32,
    pub(super) bytes: u32,
}

impl Place {
    pub(super) fn bytes_in(self, model: &[u8]) -> &[u8] {
        let start = self.start as usize;
        model.get(start..start.saturating_add(self.bytes as usize)).unwrap_or_default()
    }
}

/// The settings of a model, and how much memory it takes.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// How pieces are found.
    pub algorithm: Algorithm,
    /// True if characters that have no piece become bytes.
    pub byte_fallback: bool,
    /// True if the space added to a text stands at its end.
    pub whitespace_as_suffix: bool,
    /// True if a space is added to every text.
    pub add_dummy_prefix: bool,
    /// True if spaces at both ends are removed and others made one.
    pub remove_extra_whitespaces: bool,
    /// True if spaces become `▁`.
    pub escape_whitespaces: bool,
    /// True if the model has rules to be applied to decoded text.
    pub denormalizes: bool,
    pub(super) unknown_surface: Option<Place>,
    pub(super) begin: Option<Place>,
    pub(super) end: Option<Place>,
    pub(super) padding: Option<Place>,
    pub(super) rules: Place,
    pieces: u32,
    piece_bytes: u64,
}

/// The names of pieces where a model does not say them.
pub(super) const BEGIN: &[u8] = b"<s>";
pub(super) const END: &[u8] = b"</s>";
pub(super) const PADDING: &[u8] = b"<pad>";

/// The text of an unknown piece.
pub(super) const UNKNOWN_SURFACE: &str = " \u{2047} ";

impl Spec {
    /// Reads the serialized model `bytes`, which lie at the absolute `offset` of a file. Pieces are
    /// only counted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnexpectedEnd`] or [`ErrorKind::BadField`] if it is not a well-formed message;
    /// [`ErrorKind::UnsupportedTokenizer`] for models of whole words or of characters.
    pub fn read(bytes: &[u8], offset: u64) -> Result<Self> {
        let mut spec = Self {
            algorithm: Algorithm::Unigram,
            byte_fallback: false,
            whitespace_as_suffix: false,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            denormalizes: false,
            unknown_surface: None,
            begin: None,
            end: None,
            padding: None,
            rules: Place::default(),
            pieces: 0,
            piece_bytes: 0,
        };
        for field in Fields::new((bytes, offset)) {
            let field = field?;
            match field.number {
                1 => spec.count(field.bytes()?)?,
                2 => spec.trainer(field.bytes()?, offset)?,
                3 => spec.normalizer(field.bytes()?, offset)?,
                5 => spec.denormalizer(field.bytes()?)?,
                _ => {}
            }
        }
        Ok(spec)
    }

    /// The number of pieces; ids are below it.
    #[must_use]
    pub const fn pieces(&self) -> u32 {
        self.pieces
    }

    /// Returns true if the model has rules by which texts are normalised.
    #[must_use]
    pub const fn normalizes(&self) -> bool {
        self.rules.bytes > 0
    }

    /// Bytes of all pieces together.
    pub(super) const fn piece_bytes(&self) -> u64 {
        self.piece_bytes
    }

    fn count(&mut self, piece: (&[u8], u64)) -> Result<()> {
        let too_many = Error::new(piece.1, ErrorKind::SizeOverflow);
        self.pieces = self.pieces.checked_add(1).ok_or(too_many)?;
        for field in Fields::new(piece) {
            let field = field?;
            if field.number == 1 {
                let bytes = field.bytes()?.0.len() as u64;
                self.piece_bytes = self.piece_bytes.saturating_add(bytes);
            }
        }
        Ok(())
    }

    fn trainer(&mut self, message: (&[u8], u64), base: u64) -> Result<()> {
        for field in Fields::new(message) {
            let field = field?;
            match field.number {
                3 => {
                    self.algorithm = match field.integer()? {
                        1 => Algorithm::Unigram,
                        2 => Algorithm::Bpe,
                        3 | 4 => {
                            return Err(Error::new(field.offset, ErrorKind::UnsupportedTokenizer));
                        }
                        _ => return Err(Error::new(field.offset, ErrorKind::BadField)),
                    }
                }
                24 => self.whitespace_as_suffix = field.truth()?,
                35 => self.byte_fallback = field.truth()?,
                44 => self.unknown_surface = Some(place(&field, base)?),
                46 => self.begin = Some(place(&field, base)?),
                47 => self.end = Some(place(&field, base)?),
                48 => self.padding = Some(place(&field, base)?),
                _ => {}
            }
        }
        Ok(())
    }

    fn normalizer(&mut self, message: (&[u8], u64), base: u64) -> Result<()> {
        for field in Fields::new(message) {
            let field = field?;
            match field.number {
                2 => self.rules = place(&field, base)?,
                3 => self.add_dummy_prefix = field.truth()?,
                4 => self.remove_extra_whitespaces = field.truth()?,
                5 => self.escape_whitespaces = field.truth()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn denormalizer(&mut self, message: (&[u8], u64)) -> Result<()> {
        for field in Fields::new(message) {
            let field = field?;
            if field.number == 2 {
                self.denormalizes = !field.bytes()?.0.is_empty();
            }
        }
        Ok(())
    }
}

/// Where the bytes of a field lie in the model, which lies at `base`.
pub(super) fn place(field: &Field<'_>, base: u64) -> Result<Place> {
    let (bytes, at) = field.bytes()?;
    let large = |_| Error::new(field.offset, ErrorKind::SizeOverflow);
    let start = u32::try_from(at.saturating_sub(base)).map_err(large)?;
    Ok(Place { start, bytes: u32::try_from(bytes.len()).map_err(large)? })
}

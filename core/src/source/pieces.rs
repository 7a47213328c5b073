//! The SentencePiece model of a file, used where it lies, in memory that the caller lends.
//!
//! GGUF has the model as arrays: it is serialized into that memory.

use super::amb::{amb_ids, amb_text_ends};
use super::embd::embd_text_ends;
use super::memory::{TokenizerMemory, TokenizerNeeds};
use super::spellings::listed_ids;
use crate::describe::gguf::{GgufPieces, gguf_text_ends};
use crate::error::{Error, ErrorKind, Result};
use crate::format::amb::{Amb, AmbTokenizerKind};
use crate::format::embd::{Embd, SENTENCEPIECE};
use crate::format::gguf::Gguf;
use crate::token::sentencepiece::{Output, PieceScratch, Spec, TokenCount};
use crate::token::{AddedTable, SentencePiece, SpecialTokens, TextEnds};

const MISSING: Error = Error::without_offset(ErrorKind::MissingVocabulary);
const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// A SentencePiece tokenizer as its file describes it.
#[derive(Clone, Copy, Debug)]
pub struct SentencePieceSource<'a> {
    model: Model<'a>,
    ends: TextEnds,
    added: Added<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Model<'a> {
    /// Serialized, at an absolute offset of the file.
    Serialized(&'a [u8], u64),
    Gguf(Gguf<'a>),
}

/// The ids of the pieces that are found in a text as they are.
#[derive(Clone, Copy, Debug)]
enum Added<'a> {
    /// None, and the piece that ends texts is the model's own.
    OfModel,
    Amb(Amb<'a>),
    Listed(&'a str),
    Gguf(Gguf<'a>),
}

impl<'a> SentencePieceSource<'a> {
    /// The tokenizer of an `.amb` file, whose configuration has `added_tokens`, `add_bos`,
    /// `add_eos` and `end_tokens`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedTokenizer`] if
    /// it is another one; as [`amb_text_ends`].
    pub fn amb(file: &Amb<'a>) -> Result<Self> {
        let tokenizer = file.tokenizer().ok_or(MISSING)?;
        if tokenizer.kind() != AmbTokenizerKind::SentencePiece {
            return Err(Error::without_offset(ErrorKind::UnsupportedTokenizer));
        }
        let ends = amb_text_ends(file, &tokenizer)?;
        let model = Model::Serialized(tokenizer.payload(), tokenizer.payload_offset());
        Ok(Self { model, ends, added: Added::Amb(*file) })
    }

    /// The tokenizer of a `.weights` file, in the tensor [`SENTENCEPIECE`]; its metadata has
    /// `added_tokens`, `add_bos`, `add_eos`, `bos_token_id`, `eos_token_id` and `end_tokens`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without such a tensor; as [`embd_text_ends`].
    pub fn embd(file: &Embd<'a>) -> Result<Self> {
        let model = file.tensor(SENTENCEPIECE).ok_or(MISSING)?;
        let added = file.metadata_value("added_tokens").unwrap_or_default();
        let ends = embd_text_ends(file)?;
        let model = Model::Serialized(model.data(), model.header().offset);
        Ok(Self { model, ends, added: Added::Listed(added) })
    }

    /// The tokenizer of a GGUF file, whose `tokenizer.ggml.model` is `llama`.
    ///
    /// # Errors
    ///
    /// As [`gguf_text_ends`].
    pub fn gguf(file: &Gguf<'a>) -> Result<Self> {
        let ends = gguf_text_ends(file)?;
        Ok(Self { model: Model::Gguf(*file), ends, added: Added::Gguf(*file) })
    }

    /// A serialized model alone: nothing is put around texts, and nothing found in them before the
    /// model's own rules.
    #[must_use]
    pub fn model(bytes: &'a [u8]) -> Self {
        let model = Model::Serialized(bytes, 0);
        Self { model, ends: TextEnds::default(), added: Added::OfModel }
    }

    /// The pieces around texts, as the file says them.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Where the model lies in the file; 0 if it has to be serialized.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        match &self.model {
            Model::Serialized(_, offset) => *offset,
            Model::Gguf(_) => 0,
        }
    }

    /// Writes the serialized model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if arrays of GGUF do not make a model.
    pub fn write_model(&self, out: &mut Output<'_>) -> Result<()> {
        match &self.model {
            Model::Serialized(bytes, _) => {
                out(bytes);
                Ok(())
            }
            Model::Gguf(file) => GgufPieces::read(file)?.write(out),
        }
    }

    /// The memory that an index over it takes.
    ///
    /// # Errors
    ///
    /// As [`Spec::read`] and [`Spec::slots_needed`]; [`ErrorKind::BadVocabulary`] if arrays of GGUF
    /// do not make a model.
    pub fn needs(&self) -> Result<TokenizerNeeds> {
        let mut needs = match &self.model {
            Model::Serialized(bytes, offset) => {
                let spec = Spec::read(bytes, *offset)?;
                let (pieces, piece_slots) = (spec.pieces() as usize, spec.slots_needed()?);
                TokenizerNeeds { pieces, piece_slots, ..TokenizerNeeds::default() }
            }
            Model::Gguf(file) => {
                let pieces = GgufPieces::read(file)?;
                TokenizerNeeds {
                    text: pieces.model_bytes()?,
                    pieces: pieces.count(),
                    piece_slots: Spec::slots_needed_for(pieces.piece_bytes()?)?,
                    ..TokenizerNeeds::default()
                }
            }
        };
        self.each_added(|_| {
            needs.added = needs.added.saturating_add(1);
            Ok(())
        })?;
        Ok(needs)
    }

    /// Makes the index in lent memory.
    ///
    /// # Errors
    ///
    /// As [`SentencePiece::build`], [`SentencePiece::added_token`] and [`AddedTable::build`].
    pub fn open(&self, memory: TokenizerMemory<'a>) -> Result<FilePieces<'a>> {
        let TokenizerMemory { text: room, pieces, piece_slots: slots, added: places, .. } = memory;
        let (bytes, offset) = match &self.model {
            Model::Serialized(bytes, offset) => {
                let _ = room;
                (*bytes, *offset)
            }
            Model::Gguf(file) => (GgufPieces::read(file)?.serialize(room)?, 0),
        };
        let model = SentencePiece::build(bytes, offset, pieces, slots)?;
        let mut used = 0_usize;
        self.each_added(|id| {
            *places.get_mut(used).ok_or(TOO_SMALL)? = model.added_token(id)?;
            used = used.saturating_add(1);
            Ok(())
        })?;
        let added = AddedTable::build(bytes, places.get_mut(..used).unwrap_or_default())?;
        let mut ends = self.ends;
        if matches!(self.added, Added::OfModel) {
            model.end().map_or(Ok(()), |id| ends.end.push(id))?;
        }
        Ok(FilePieces { model, added, ends })
    }

    /// Calls `added` with the ids of the pieces that are found in a text as they are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file has something else in their place; what `added`
    /// returns.
    pub fn each_added(&self, mut added: impl FnMut(u32) -> Result<()>) -> Result<()> {
        match &self.added {
            Added::Amb(file) => amb_ids(file, "added_tokens")?.try_for_each(|id| added(id?)),
            Added::Listed(ids) => listed_ids(ids).try_for_each(|id| added(id?)),
            Added::Gguf(file) => GgufPieces::read(file)?.controls().try_for_each(added),
            Added::OfModel => Ok(()),
        }
    }
}

/// A SentencePiece tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct FilePieces<'a> {
    model: SentencePiece<'a>,
    added: AddedTable<'a>,
    ends: TextEnds,
}

impl<'a> FilePieces<'a> {
    /// The model.
    #[must_use]
    pub const fn model(&self) -> &SentencePiece<'a> {
        &self.model
    }

    /// The pieces around texts.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// The ids of `text`, as many as `ids` holds, between the pieces that are put around every text
    /// if there are any. `special` says what control pieces become that the text spells.
    ///
    /// # Errors
    ///
    /// As [`SentencePiece::encode`].
    pub fn encode(
        &self,
        text: &str,
        special: SpecialTokens,
        ids: &mut [u32],
        scratch: &mut PieceScratch<'_>,
    ) -> Result<TokenCount> {
        let added = match special {
            SpecialTokens::AsText => &AddedTable::EMPTY,
            SpecialTokens::AsTokens => &self.added,
        };
        self.ends.around(ids, |ids| self.model.encode(text, added, ids, scratch))
    }
}

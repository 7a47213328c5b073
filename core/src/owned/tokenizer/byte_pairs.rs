//! Byte-level BPE over a file: tokens stay where they are stored; the indices over tokens and merges
//! are in memory.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::leaf;
use crate::limit::{collected, exactly, filled, push, write};
use crate::owned::pipeline::compose;
use crate::owned::tokenizer_room::TokenizerRoom;
use crate::source::{byte_pairs::BpeIndex, byte_pairs::BpeSource, byte_pairs::FileBpe};
use crate::token::SpecialTokens;
use crate::token::added_parts::Part;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::bpe::{Merge, MergeScratch};

/// A byte-level BPE tokenizer whose tokens are in the bytes of a file `B`.
#[derive(Clone, Debug)]
pub struct BytePairs<B> {
    file: B,
    index: BpeIndex,
    /// Its `added_ids` are in the order of the file.
    room: TokenizerRoom,
}

/// Merges and tokens.
type Borrowed<'b> = (Vec<(&'b str, &'b str)>, Vec<&'b [u8]>);

/// Room for the words of most texts, in bytes.
const USUAL_WORD: usize = 1024;

const BAD: Error = Error::without_offset(ErrorKind::BadVocabulary);

impl BytePairs<()> {
    /// Makes the index over the tokenizer that `source` found, without the file.
    ///
    /// # Errors
    ///
    /// As [`BpeSource::index`].
    pub fn new(source: &BpeSource<'_>) -> Result<Self> {
        let mut room = TokenizerRoom::new(&source.needs())?;
        let index = source.index(&mut room.lend())?;
        source.each_added(|id| push(&mut room.added_ids, id))?;
        Ok(Self { file: (), index, room })
    }

    /// The tokenizer whose tokens are in `file`.
    #[must_use]
    pub fn over<B>(self, file: B) -> BytePairs<B> {
        let Self { index, room, .. } = self;
        BytePairs { file, index, room }
    }
}

impl<'f> BytePairs<Cow<'f, [u8]>> {
    /// The tokenizer with the tokens as far as the file is needed for them: the file itself no longer
    /// is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file has changed; [`ErrorKind::NoMemory`].
    pub fn detached(self) -> Result<BytePairs<Cow<'static, [u8]>>> {
        let start = self.file.as_ptr().addr();
        let last = match self.index.count.checked_sub(1) {
            Some(last) => self.token(last)?.as_ptr_range().end.addr(),
            None => start,
        };
        let head = self.file.get(..last.saturating_sub(start)).ok_or(BAD)?;
        let file = Cow::Owned(exactly(head.iter().copied())?);
        let Self { index, room, .. } = self;
        Ok(BytePairs { file, index, room })
    }
}

impl<B: AsRef<[u8]>> BytePairs<B> {
    /// The bytes of the file.
    pub fn file(&self) -> &[u8] {
        self.file.as_ref()
    }

    /// The tokenizer without its memory.
    #[must_use]
    pub const fn index(&self) -> &BpeIndex {
        &self.index
    }

    /// The merges, the first one first.
    #[must_use]
    pub fn merges(&self) -> &[Merge] {
        &self.room.merges
    }

    /// The ids of the added tokens.
    #[must_use]
    pub fn added(&self) -> &[u32] {
        &self.room.added_ids
    }

    /// How a token is spelled in GPT-2's alphabet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such token, or the file has changed.
    pub fn token(&self, id: u32) -> Result<&[u8]> {
        self.index.token(self.file(), &self.room.samples, id)
    }

    /// Merges, as two spellings each, and tokens, as a file that is written borrows them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn borrowed(&self) -> Result<Borrowed<'_>> {
        // Merges and ids were looked up when the index was made.
        let bytes = |id| self.token(id).unwrap_or_default();
        let spelling = |id| core::str::from_utf8(bytes(id)).unwrap_or_default();
        let merges = self.merges().iter().map(|it| (spelling(it.left), spelling(it.right)));
        Ok((exactly(merges)?, collected((0..self.index.count).map(bytes))?))
    }

    /// The ids of `text`, between the tokens that are put around every text if there are any.
    /// `special` says what control tokens become that the text spells.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file has changed; [`ErrorKind::UnsupportedTokenizer`] if
    /// the text has to be brought into the form NFC and the build has no tables for it.
    pub fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        let TokenizerRoom { samples, slots, merges, merge_slots, added, .. } = &self.room;
        let added = match special {
            SpecialTokens::AsText => &[],
            SpecialTokens::AsTokens => &added[..],
        };
        let (tokens, merges) = ((&samples[..], &slots[..]), (&merges[..], &merge_slots[..]));
        let bpe = FileBpe::resume(self.file(), &self.index, tokens, merges, added)?;
        let text = match bpe.must_compose(text) {
            true => composed(&bpe, text)?,
            false => Cow::Borrowed(text),
        };
        let mut ids = filled(text.len().saturating_add(2), 0)?;
        let mut encode = |word: usize| {
            let mut symbols = filled(word, Symbol::default())?;
            let mut heap = filled(MergeScratch::heap_needed(word), Candidate::default())?;
            bpe.encode_composed(&text, &mut ids, &mut MergeScratch::new(&mut symbols, &mut heap))
        };
        let found = match encode(text.len().min(USUAL_WORD)) {
            // A word is never longer than its text.
            Err(error) if error.kind() == ErrorKind::BufferTooSmall => encode(text.len())?,
            found => found?,
        };
        ids.truncate(found.tokens);
        Ok(ids)
    }
}

/// `text` in the form NFC, but for what added tokens spell.
fn composed<'t>(bpe: &FileBpe<'_>, text: &'t str) -> Result<Cow<'t, str>> {
    leaf::Pipeline::built_in()?;
    let mut whole = alloc::string::String::new();
    bpe.added().parts(text, &mut |part| match part {
        Part::Plain(place) => compose(text.get(place).unwrap_or_default(), &mut whole),
        Part::Added { place, .. } => write(&mut whole, text.get(place).unwrap_or_default()),
    })?;
    Ok(Cow::Owned(whole))
}

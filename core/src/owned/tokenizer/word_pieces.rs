//! WordPiece, over the tokens of a file.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::event::SpecialRole;
use crate::limit::{append, collected, filled, push};
use crate::owned::pipeline::join_word_pieces;
use crate::owned::tokenized::Tokenized;
use crate::owned::tokenizer_room::TokenizerRoom;
use crate::source::{WordPieceIndex, WordPieceSource, WordPieceTables};
use crate::token::{
    Entries, HashVocabulary, SpecialIds, SpecialTokens, TextEnds, Vocabulary as _, WordPiece,
};

/// A WordPiece tokenizer.
#[derive(Clone, Debug)]
pub struct WordPieces {
    index: WordPieceIndex,
    /// The tokens as the file has them; empty if the room has them.
    tokens: Vec<u8>,
    room: TokenizerRoom,
}

impl WordPieces {
    /// The tokenizer that `source` found in `file`.
    ///
    /// # Errors
    ///
    /// As [`WordPieceSource::index`].
    pub fn new(file: &[u8], source: &WordPieceSource<'_>) -> Result<Self> {
        let mut room = TokenizerRoom::new(&source.needs())?;
        let index = source.index(&mut room.lend())?;
        let mut tokens = Vec::new();
        append(&mut tokens, index.stored_tokens(file, &room.samples)?)?;
        Ok(Self { index, tokens, room })
    }

    /// The ids of the special tokens.
    #[must_use]
    pub const fn special(&self) -> &SpecialIds {
        self.index.special()
    }

    fn tokenizer(&self) -> Result<WordPiece<HashVocabulary<'_, Entries<'_>>>> {
        let Self { index, tokens, room } = self;
        let TokenizerRoom { text, samples, slots, added, .. } = room;
        index.resume_over(tokens, WordPieceTables { text, samples, slots, added })
    }

    pub(in crate::owned) fn count(&self) -> u32 {
        self.tokenizer().map_or(0, |tokenizer| tokenizer.vocabulary().count())
    }

    pub(super) fn ends(&self) -> Result<TextEnds> {
        let special = *self.tokenizer()?.special();
        let (begin, append) = (Some(special.classify), Some(special.separate));
        let mut ends = TextEnds { begin, append, ..TextEnds::default() };
        ends.end.push(special.separate)?;
        Ok(ends)
    }

    /// Returns true if there is a token of this id.
    pub(in crate::owned) fn has_token(&self, id: u32) -> bool {
        let tokenizer = self.tokenizer();
        tokenizer.is_ok_and(|tokenizer| tokenizer.vocabulary().token(id, &mut []).is_ok())
    }

    /// A token as the vocabulary spells it.
    pub(in crate::owned) fn token(&self, id: u32) -> Option<Vec<u8>> {
        let tokenizer = self.tokenizer().ok()?;
        let length = tokenizer.vocabulary().token(id, &mut []).ok()?;
        let mut token = filled(length, 0).ok()?;
        tokenizer.vocabulary().token(id, &mut token).ok()?;
        Some(token)
    }

    /// The text of `ids` without special tokens, as `tokenizers` decodes those of BERT.
    pub(super) fn decode(&self, ids: &[u32]) -> Result<String> {
        let tokenizer = self.tokenizer()?;
        let special = SpecialRole::ALL.map(|role| tokenizer.special().get(role));
        let mut tokens = Vec::new();
        for id in ids.iter().filter(|id| !special.contains(&Some(**id))) {
            let mut token = filled(tokenizer.vocabulary().token(*id, &mut [])?, 0)?;
            tokenizer.vocabulary().token(*id, &mut token)?;
            push(&mut tokens, token)?;
        }
        let tokens = collected(tokens.iter().map(|token| String::from_utf8_lossy(token)))?;
        join_word_pieces(tokens.iter().map(|token| &**token))
    }

    /// The ids of `text` between the two special tokens.
    pub(super) fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        let mut tokenizer = self.tokenizer()?;
        if special == SpecialTokens::AsText {
            let vocabulary = tokenizer.vocabulary().clone().with_added(<_>::default());
            tokenizer = tokenizer.without_spellings(vocabulary);
        }
        first(&tokenizer, text, usize::MAX).map(|found| found.ids)
    }

    /// The first `most` tokens of `text`, special tokens included.
    pub(in crate::owned) fn encode_first(&self, text: &str, most: usize) -> Result<Tokenized> {
        let tokenizer = self.tokenizer()?;
        if most < 2 {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        first(&tokenizer, text, most)
    }

    /// The first `limit` tokens of `text`, special tokens included, and whether it has more.
    pub(in crate::owned) fn encode_start(
        &self,
        text: &str,
        limit: usize,
    ) -> Result<(Vec<u32>, bool)> {
        let mut ids = filled(limit, 0)?;
        let encoded = self.tokenizer()?.encode_start(text, &mut ids)?;
        ids.truncate(encoded.tokens);
        Ok((ids, encoded.truncated))
    }
}

/// The first `most` tokens of `text`, special tokens included.
fn first(
    tokenizer: &WordPiece<HashVocabulary<'_, Entries<'_>>>,
    text: &str,
    most: usize,
) -> Result<Tokenized> {
    // A character gives at most one token, and the few that give more are tried again.
    let mut ids = filled(most.min(text.len().saturating_add(2)), 0)?;
    let mut encoded = tokenizer.encode(text, &mut ids)?;
    if encoded.truncated && ids.len() < most {
        ids = filled(most.min(encoded.total), 0)?;
        encoded = tokenizer.encode(text, &mut ids)?;
    }
    ids.truncate(encoded.tokens);
    Ok(Tokenized { ids, total: encoded.total, truncated: encoded.truncated })
}

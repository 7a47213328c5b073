//! BPE over characters, as `tokenizer.json` has a SentencePiece model that merges (Gemma's): made
//! such a model again.
//!
//! SentencePiece merges any two tokens that make a piece, the piece of the highest score first;
//! `tokenizers` merges the listed pairs, the first one first. Both give the same result if each
//! piece's pairs are listed next to each other, and none is missing; other lists are refused.

use std::collections::HashMap;

use nanoembed_core::owned::{ModelProto, ModelSettings};
use nanoembed_core::token::sentencepiece::{Algorithm, PieceKind, byte_of};
use nanoembed_core::token::spec::{BpeSpec, Decoder, Pattern, Replace, SpelledStep};
use nanoembed_core::{ErrorKind, limit};

use super::{Described, names};
use crate::causal::ends::FolderEnds;
use crate::causal::tokenizer::{AddedTokens, Around, Tokenizer, from_hugging_face};
use crate::error::{Error, Result};
use crate::hashed;
use crate::numbered::Numbered;

/// The longest piece, in bytes: the longest of Gemma have less than 100.
const LONGEST: usize = 512;

/// The character that replaces a space.
const SPACE: &str = "▁";

impl Described<'_> {
    /// True if the tokenizer replaces spaces as SentencePiece does.
    pub(super) fn escapes_spaces(&self) -> bool {
        self.spec.space_mark("").is_ok_and(|mark| SPACE.starts_with(mark))
    }

    /// The tokenizer as SentencePiece.
    pub(super) fn sentence_pieces(&self, ends: &FolderEnds) -> Result<Tokenizer<'static>> {
        self.check_piece_model()?;
        self.check_piece_steps()?;
        let tokens = self.tokens()?;
        let ranks = self.ranks()?;
        let unknown = self.bpe.unknown.map(|unknown| unknown.to_string());
        let id_of = |token: Option<u32>| {
            token.and_then(|id| tokens.get(usize::try_from(id).ok()?)).map(|token| &**token)
        };
        let around = self.around(ends)?;
        let begin = around.begin.or(ends.begin);
        let mut model = ModelProto::new(&ModelSettings {
            algorithm: Algorithm::Bpe,
            byte_fallback: true,
            whitespace_as_suffix: false,
            add_dummy_prefix: false,
            remove_extra_whitespaces: false,
            names: [id_of(begin), id_of(ends.end.first()), None],
            rules: &[],
        });
        let lowest = ranks.len();
        for token in &tokens {
            let spelled = str::from_utf8(token).unwrap_or_default();
            let (rank, kind) = match ranks.get(spelled) {
                _ if Some(spelled) == unknown.as_deref() => (lowest, PieceKind::Unknown),
                Some(rank) => (*rank, PieceKind::Normal),
                None if byte_of(token).is_some() => (lowest, PieceKind::Byte),
                None if spelled.chars().count() == 1 => (lowest, PieceKind::Normal),
                // No merge makes it: texts have it only where it is an added token.
                None => (lowest, PieceKind::Control),
            };
            #[expect(clippy::cast_precision_loss, reason = "there are less than 2²⁴ tokens")]
            let score = -(rank as f32);
            model.piece(token, score, kind);
        }
        let token =
            |usual, put: Option<u32>| Around { usual, is_put: put.is_some(), spelled: None };
        let added = AddedTokens {
            tokens: self.added_copy()?,
            rules: Numbered::default(),
            begin: token(begin, around.begin),
            append: token(around.append, around.append),
            end: around.end,
        };
        let made = model.finish().and_then(|model| from_hugging_face(model, added));
        made.map_err(|error| self.failed(error))
    }

    /// Refuses settings of BPE that are not SentencePiece's.
    fn check_piece_model(&self) -> Result<()> {
        let BpeSpec { byte_fallback, ignores_merges, prefix, suffix, unknown, .. } = self.bpe;
        if !byte_fallback || ignores_merges || !prefix.is_empty() || !suffix.is_empty() {
            let message = "its model's `byte_fallback`, `ignore_merges`, `continuing_subword_prefix` or `end_of_word_suffix` are not SentencePiece's";
            return Err(self.unsupported(message));
        }
        // Nothing is unknown where all bytes have tokens.
        let bytes = self.parts.tokens.iter().filter_map(|token| byte_of(token.as_bytes()));
        let bytes = hashed::set(bytes).map_err(|error| self.failed(error))?;
        match bytes.len() == 256 && unknown.is_some() {
            true => Ok(()),
            false => Err(self.unsupported("it has no tokens for all bytes and for the unknown")),
        }
    }

    /// Refuses steps beside the model's that would give other texts.
    fn check_piece_steps(&self) -> Result<()> {
        if self.spec.check_cuts_at_spaces("").is_err() {
            let named = names(&self.spec.pre_tokenizer);
            return Err(self.unsupported(format!("it cuts texts by {named}")));
        }
        match self.spec.decoder.as_deref() {
            Some(
                [
                    SpelledStep { does: Decoder::Replace(replace), .. },
                    SpelledStep { does: Decoder::ByteFallback, .. },
                    SpelledStep { does: Decoder::Fuse, .. },
                ],
            ) if replaces(replace, SPACE, " ") => {}
            _ => return Err(self.unsupported("its decoder is not SentencePiece's")),
        }
        // Those would be looked for where spaces are replaced.
        match self.spec.added.iter().flatten().find(|token| token.normalized) {
            Some(token) => {
                let message = format!("the added token {:?} has `normalized`", token.content);
                Err(self.unsupported(message))
            }
            None => Ok(()),
        }
    }

    fn added_copy(&self) -> Result<Numbered<String>> {
        let copies = self.added.iter().map(|(id, token)| Ok((id, limit::copied(token)?)));
        limit::gathered(copies).and_then(Numbered::new).map_err(|error| self.failed(error))
    }

    /// The place of every piece that is merged among them, as SentencePiece's scores have it.
    fn ranks(&self) -> Result<HashMap<String, usize>> {
        let merges = self.merges()?;
        let mut ranks: HashMap<String, usize> = HashMap::new();
        let mut pieces: Vec<String> = Vec::new();
        let failed = |error| self.failed(error);
        for (left, right) in &merges {
            let piece = limit::joined(&[left, right]).map_err(failed)?;
            if piece.len() > LONGEST {
                let message = format!("a piece has {} bytes, more than {LONGEST}", piece.len());
                return Err(Error::input(ErrorKind::OverLimit, message).at(self.path.display()));
            }
            if pieces.last() == Some(&piece) {
                continue;
            }
            let (copy, rank) = (limit::copied(&piece).map_err(failed)?, ranks.len());
            hashed::insert(&mut ranks, copy, rank).map_err(failed)?;
            if ranks.len() == rank {
                let message = format!("merges that make {piece:?} do not follow each other");
                return Err(self.unsupported(message));
            }
            limit::push(&mut pieces, piece).map_err(failed)?;
        }
        let listed = hashed::set(merges.iter().copied()).map_err(failed)?;
        let vocabulary = hashed::set(self.parts.tokens.iter().copied()).map_err(failed)?;
        let is_piece = |part: &str| {
            let is_character = || vocabulary.contains(part);
            ranks.contains_key(part) || part.chars().count() == 1 && is_character()
        };
        for piece in &pieces {
            let splits =
                piece.char_indices().skip(1).filter_map(|(at, _)| piece.split_at_checked(at));
            let mut missing = splits
                .filter(|pair| !listed.contains(pair))
                .filter(|(left, right)| is_piece(left) && is_piece(right));
            if let Some((left, right)) = missing.next() {
                let message =
                    format!("{left:?} and {right:?} are not merged, though {piece:?} is a token");
                return Err(self.unsupported(message));
            }
        }
        Ok(ranks)
    }
}

fn replaces(replace: &Replace<'_>, from: &str, to: &str) -> bool {
    matches!(replace.pattern, Pattern::Text(text) if text.is(from)) && replace.content.is(to)
}

//! Pieces of a tokenizer: their text, and which of them always stay.

use std::collections::{HashMap, HashSet};

use nanoembed_core::owned::{Pipeline, PipelineParts};
use nanoembed_core::text::json::Value;
use nanoembed_core::token::spec::{ModelKind, Normalizer, PreTokenizer, SpelledText};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::ids;
use super::scripts::Scripts;
use crate::error::{Error, Result};
use crate::hashed;

/// The pieces of a tokenizer.
pub(super) struct Vocabulary<'p> {
    pipeline: &'p Pipeline,
    parts: PipelineParts<'p>,
    by_token: HashMap<&'p str, u32>,
    /// Marks before and after the characters of pieces.
    marks: Marks,
    /// True if texts are split into bytes, each spelled as a letter.
    is_of_bytes: bool,
    named: HashSet<u32>,
}

/// Marks that tell where in a word a piece stands.
struct Marks {
    continuing: String,
    end: String,
}

/// The character that replaces a space in pieces.
const SPACE: char = '\u{2581}';

impl<'p> Vocabulary<'p> {
    pub(super) fn from_pipeline(pipeline: &'p Pipeline) -> Result<Self> {
        let failed = |error| Error::in_file("tokenizer.json", error);
        let parts = pipeline.parts().map_err(failed)?;
        let settings = Value::parse(parts.settings, 0).map_err(failed)?;
        let by_token = (0..).zip(&parts.tokens).filter(|(_, token)| !token.is_empty());
        let by_token = hashed::map(by_token.map(|(id, token)| (*token, id))).map_err(failed)?;
        let spec = pipeline.spec();
        let spec = spec.map_err(|fault| Error::in_file("tokenizer.json", fault.error))?;
        let (continuing, end) = match spec.model.kind {
            ModelKind::WordPiece(model) => (model.prefix, SpelledText::default()),
            ModelKind::Bpe(model) => (model.prefix, model.suffix),
            ModelKind::Unigram(_) => <_>::default(),
            ModelKind::Words(_) => {
                let message = "a model of whole words keeps its vocabulary in a file of its own, which is not pruned";
                return Err(Error::input(ErrorKind::UnsupportedTokenizer, message));
            }
        };
        let spelled = |text| limit::formatted(format_args!("{text}")).map_err(failed);
        let marks = Marks { continuing: spelled(continuing)?, end: spelled(end)? };
        let mut normalizer = spec.normalizer.iter();
        let mut pre_tokenizer = spec.pre_tokenizer.iter();
        let is_of_bytes = normalizer.any(|step| matches!(step.does, Normalizer::ByteLevel))
            || pre_tokenizer.any(|step| matches!(step.does, PreTokenizer::ByteLevel { .. }));
        let named = ids::in_tokenizer(settings, &|token| pipeline.id(token)).map_err(failed)?;
        let named = named.into_iter().map(|place| place.id).chain(pipeline.unknown());
        let named = hashed::set(named).map_err(failed)?;
        Ok(Self { pipeline, parts, by_token, marks, is_of_bytes, named })
    }

    /// The number of ids that have a token.
    pub(super) fn pieces(&self) -> usize {
        (0..self.pipeline.count()).filter(|id| self.pipeline.token(*id).is_some()).count()
    }

    /// The ids that the tokenizer's settings name, added tokens among them.
    pub(super) const fn named_ids(&self) -> &HashSet<u32> {
        &self.named
    }

    /// The piece of an id if it is a part of texts.
    pub(super) fn text(&self, id: u32) -> &'p str {
        match self.named.contains(&id) {
            true => "",
            false => self.token(id).unwrap_or_default(),
        }
    }

    fn token(&self, id: u32) -> Option<&'p str> {
        self.parts.tokens.get(usize::try_from(id).ok()?).copied()
    }

    /// The id of a piece of the model's own.
    pub(super) fn find(&self, token: &str) -> Option<u32> {
        self.by_token.get(token).copied()
    }

    /// The id that an added token counts as.
    pub(super) fn id_of(&self, token: &str) -> Option<u32> {
        self.pipeline.id(token)
    }

    /// The pieces that are single characters of the texts' scripts, or bytes.
    pub(super) fn characters(&self, scripts: &Scripts) -> impl Iterator<Item = u32> {
        (0..).zip(&self.parts.tokens).filter_map(move |(id, token)| {
            let is_kept = is_byte(token)
                || self.character(token).is_some_and(|c| self.is_of_bytes || scripts.contain(c));
            is_kept.then_some(id)
        })
    }

    /// The only character of a piece, marks aside.
    fn character(&self, token: &str) -> Option<char> {
        let Marks { continuing, end } = &self.marks;
        let only = |text: &str| {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none())
        };
        let inner = token.strip_prefix(SPACE).filter(|inner| !inner.is_empty()).unwrap_or(token);
        let inner = inner.strip_prefix(&**continuing).unwrap_or(inner);
        only(token).or_else(|| only(inner.strip_suffix(&**end).unwrap_or(inner)))
    }

    /// Adds the pieces that the `kept` ones need.
    pub(super) fn close(&self, kept: &mut [bool]) -> Result<(), CoreError> {
        if let Some(kept) = self.least_likely().and_then(|id| kept.get_mut(id)) {
            *kept = true;
        }
        let mut made_of: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        for &(left, right) in &self.parts.merges {
            let Some(merged) = self.merged((left, right))? else { continue };
            match made_of.get_mut(&merged) {
                Some(pairs) => limit::push(pairs, (left, right))?,
                None => hashed::insert(&mut made_of, merged, limit::collected([(left, right)])?)?,
            }
        }
        let open = (0..).zip(&*kept).filter(|(_, it)| **it).map(|(id, _)| id);
        let mut open: Vec<u32> = limit::collected(open)?;
        while let Some(id) = open.pop() {
            let parts = made_of.get(&id).into_iter().flatten();
            for part in parts.flat_map(|(left, right)| [*left, *right]) {
                let Some(kept) = usize::try_from(part).ok().and_then(|part| kept.get_mut(part))
                else {
                    continue;
                };
                if !std::mem::replace(kept, true) {
                    limit::push(&mut open, part)?;
                }
            }
        }
        Ok(())
    }

    /// The token that a pair of BPE merges into.
    pub(super) fn merged(&self, (left, right): (u32, u32)) -> Result<Option<u32>, CoreError> {
        let right = self.token(right).and_then(|it| it.get(self.marks.continuing.len()..));
        let Some((left, right)) = self.token(left).zip(right) else { return Ok(None) };
        Ok(self.find(&limit::joined(&[left, right])?))
    }

    /// The piece of Unigram that all others are at least as likely as.
    fn least_likely(&self) -> Option<usize> {
        let scores = self.parts.scores.as_ref()?;
        let least = scores.iter().enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map(|(id, _)| id)
    }
}

/// True if a piece stands for a byte that no other piece has, such as `<0x0A>`.
fn is_byte(token: &str) -> bool {
    let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|it| it.len() == 2 && it.bytes().all(|c| c.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::is_byte;

    #[test]
    fn pieces_of_bytes_are_told_by_their_spelling() {
        assert!(is_byte("<0x0A>") && is_byte("<0xff>"));
        assert!(!is_byte("<0x0>") && !is_byte("0x0A") && !is_byte("<0xGG>") && !is_byte("<0x+1>"));
    }
}

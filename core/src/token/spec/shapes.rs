//! Descriptions of tokenizers of common shapes, which files and programs without a general tokenizer
//! know: byte-level BPE, and spaces that become a mark.

use super::{
    Behavior, Form, Normalizer, PRE_TOKENIZER, Pattern, PreTokenizer, SpelledStep, SplitAt,
    TokenizerSpec,
};
use crate::text::json::Read;
use crate::token::bpe;

impl<'a> TokenizerSpec<'a> {
    /// Returns true if texts are brought into Unicode's form NFC, and false if they stay as they are.
    ///
    /// # Errors
    ///
    /// The first other step of the normaliser; `only` says what is supported.
    pub fn composes(&self, only: &'static str) -> Read<'a, bool> {
        let other = |step: &&SpelledStep<'_, _>| !matches!(step.does, Normalizer::Form(Form::Nfc));
        match self.normalizer.iter().find(other) {
            Some(step) => Err(step.unsupported(only)),
            None => Ok(!self.normalizer.is_empty()),
        }
    }

    /// The words of byte-level BPE, if texts are cut by a known pattern and then become bytes.
    ///
    /// # Errors
    ///
    /// The first other step or setting; `only` says what is supported.
    pub fn byte_level_words(&self, only: &'static str) -> Read<'a, bpe::Pattern> {
        let (mut pattern, mut is_bytes) = (None, false);
        for step in &self.pre_tokenizer {
            match step.does {
                PreTokenizer::Split { .. } if pattern.is_none() && !is_bytes => {
                    pattern = Some(step.words(only)?);
                }
                PreTokenizer::ByteLevel { adds_space: true, .. } if !is_bytes => {
                    return Err(step.place.unsupported(&["add_prefix_space"], only));
                }
                PreTokenizer::ByteLevel { splits, .. } if !is_bytes => {
                    is_bytes = true;
                    match (splits, pattern) {
                        (true, None) => pattern = Some(bpe::Pattern::Gpt2),
                        (false, Some(_)) => {}
                        _ => return Err(step.place.unsupported(&["use_regex"], only)),
                    }
                }
                _ => return Err(step.unsupported(only)),
            }
        }
        let none = self.place.unsupported(&[PRE_TOKENIZER], only);
        pattern.filter(|_| is_bytes).ok_or(none)
    }

    /// The character that spaces become, if that is the only step of the normaliser.
    ///
    /// # Errors
    ///
    /// As [`byte_level_words`](Self::byte_level_words).
    pub fn space_mark(&self, only: &'static str) -> Read<'a, char> {
        let mut mark = None;
        for step in &self.normalizer {
            let Normalizer::Replace(replace) = step.does else {
                return Err(step.unsupported(only));
            };
            if mark.is_some() {
                return Err(step.unsupported(only));
            }
            if !replace.pattern.is_space() {
                return Err(step.place.unsupported(&["pattern", "String"], only));
            }
            let content = replace.content.character();
            mark = Some(content.ok_or(step.place.unsupported(&["content"], only))?);
        }
        let none = self.place.unsupported(&["normalizer"], only);
        mark.filter(|mark| *mark != ' ').ok_or(none)
    }

    /// Checks that texts are cut at spaces alone, which changes nothing where none are left.
    ///
    /// # Errors
    ///
    /// As [`byte_level_words`](Self::byte_level_words).
    pub fn check_cuts_at_spaces(&self, only: &'static str) -> Read<'a, ()> {
        for step in &self.pre_tokenizer {
            let PreTokenizer::Split { at, inverted, .. } = step.does else {
                return Err(step.unsupported(only));
            };
            if !matches!(at, SplitAt::Pattern(pattern) if pattern.is_space()) {
                return Err(step.place.unsupported(&["pattern", "String"], only));
            }
            if inverted {
                return Err(step.place.unsupported(&["invert"], only));
            }
        }
        Ok(())
    }
}

impl<'a> SpelledStep<'a, PreTokenizer<'a>> {
    /// The words of a step `Split`, whose expression every character is part of.
    fn words(&self, only: &'static str) -> Read<'a, bpe::Pattern> {
        match self.does {
            PreTokenizer::Split { behavior, .. } if behavior != Behavior::Isolated => {
                Err(self.place.unsupported(&["behavior"], only))
            }
            PreTokenizer::Split { inverted: true, .. } => {
                Err(self.place.unsupported(&["invert"], only))
            }
            PreTokenizer::Split { at: SplitAt::Words(words), .. } => Ok(words),
            _ => {
                let only = "no such expression is known";
                Err(self.place.unsupported(&["pattern", "Regex"], only))
            }
        }
    }
}

impl Pattern<'_> {
    /// Returns true if this is a space.
    fn is_space(self) -> bool {
        matches!(self, Self::Text(text) if text.is(" "))
    }
}

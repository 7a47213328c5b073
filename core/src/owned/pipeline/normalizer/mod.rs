//! Normalisers: steps that make another text of a text.

mod bert;
mod charsmap;
mod marks;
mod replace;
mod steps;

use alloc::string::String;

use super::text::Text;
use crate::error::Result;
use crate::token::bpe::alphabet;
use crate::token::unicode::{Form, Output, Properties, write_form};
use bert::Bert;
use charsmap::Charsmap;
pub(super) use marks::Marks;
use replace::Replace;

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Normalizer {
    Bert(Bert),
    Form(Form),
    /// Canonical decomposition without non-spacing marks, as BERT strips accents.
    WithoutAccents,
    Lowercase,
    StripAccents,
    Strip {
        left: bool,
        right: bool,
    },
    Replace(Replace),
    Prepend(String),
    Precompiled(Charsmap),
    Nmt,
    ByteLevel,
}

/// Lets all `steps` make what they do of `text`; `next` and `held` are memory for that. Answers how
/// many bytes there were at most.
///
/// # Errors
///
/// As [`Text::check`].
pub(super) fn run(
    steps: &[Normalizer],
    text: &mut Text,
    next: &mut Text,
    held: &mut Marks,
) -> Result<usize> {
    let mut longest = text.len();
    for step in steps {
        if step.leaves(text.as_str()) {
            continue;
        }
        next.clear(text.most());
        step.run(text, next, held)?;
        core::mem::swap(text, next);
        longest = longest.max(text.len());
    }
    Ok(longest)
}

impl Output for Text {
    #[cfg_attr(target_family = "wasm", inline)]
    fn character(&mut self, c: char) {
        self.push(c);
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl Normalizer {
    /// Returns true if a quick look at `text` shows that it would stay as it is.
    fn leaves(&self, text: &str) -> bool {
        match self {
            Self::Form(form) => form.has(text),
            Self::WithoutAccents | Self::StripAccents => text.is_ascii(),
            _ => false,
        }
    }

    /// Writes what becomes of `text` into `out`, which is empty.
    ///
    /// # Errors
    ///
    /// As [`Text::check`].
    fn run(&self, text: &Text, out: &mut Text, held: &mut Marks) -> Result<()> {
        match self {
            Self::Bert(bert) => bert.run(text, out),
            Self::Form(form) => write_in(*form, text, out, held, |_| true)?,
            Self::WithoutAccents => {
                write_in(Form::NFD, text, out, held, |c| {
                    !Properties::from_char(c).is_non_spacing()
                })?;
            }
            Self::Lowercase => lowercase(text, out),
            Self::StripAccents => map(text, out, |c| {
                Some(c).filter(|c| c.is_ascii() || !Properties::from_char(*c).is_mark())
            }),
            Self::Strip { left, right } => strip(text, out, *left, *right),
            Self::Replace(replace) => replace.run(text, out)?,
            Self::Prepend(prefix) => prepend(text, out, prefix),
            Self::Precompiled(charsmap) => charsmap.run(text, out)?,
            Self::Nmt => map(text, out, nmt),
            Self::ByteLevel => byte_level(text, out),
        }
        out.check()
    }
}

/// Writes a normalisation form without the characters that `keep` is false of.
fn write_in(
    form: Form,
    text: &Text,
    out: &mut Text,
    held: &mut Marks,
    keep: impl Fn(char) -> bool + Copy,
) -> Result<()> {
    held.clear();
    let mut first = 0;
    if text.first > 0 {
        write_form(form, text.as_str().get(..text.first).unwrap_or_default(), held, out, keep);
        first = out.len();
        out.clear(out.most());
    }
    write_form(form, text.as_str(), held, out, keep);
    out.first = first;
    held.check()
}

/// Writes what becomes of every character, each of which becomes one or nothing.
fn map(text: &Text, out: &mut Text, becomes: impl Fn(char) -> Option<char>) {
    for (at, c) in text.as_str().char_indices() {
        becomes(c).into_iter().for_each(|c| out.push(c));
        out.comes_from(text, at);
    }
}

fn lowercase(text: &Text, out: &mut Text) {
    if text.as_str().is_ascii() {
        out.push_str(text.as_str());
        out.make_ascii_lowercase();
        out.first = text.first;
        return;
    }
    for (at, c) in text.as_str().char_indices() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else {
            c.to_lowercase().for_each(|c| out.push(c));
        }
        out.comes_from(text, at);
    }
}

fn strip(text: &Text, out: &mut Text, left: bool, right: bool) {
    let all = text.as_str();
    let kept = if left { all.trim_start() } else { all };
    out.first = text.first.saturating_sub(all.len() - kept.len());
    let kept = if right { kept.trim_end() } else { kept };
    out.push_str(kept);
    out.first = out.first.min(kept.len());
}

fn prepend(text: &Text, out: &mut Text, prefix: &str) {
    if !text.as_str().is_empty() {
        out.push_str(prefix);
    }
    out.push_str(text.as_str());
    out.first = if text.first > 0 { text.first + prefix.len() } else { 0 };
}

/// Applies SentencePiece's `nmt` rules to a character.
fn nmt(c: char) -> Option<char> {
    match c {
        '\u{1}'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{8f}' | '\u{9f}' => None,
        '\t'
        | '\n'
        | '\u{c}'
        | '\r'
        | '\u{1680}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2581}'
        | '\u{feff}'
        | '\u{fffd}' => Some(' '),
        c => Some(c),
    }
}

fn byte_level(text: &Text, out: &mut Text) {
    for (at, byte) in text.as_str().bytes().enumerate() {
        out.push(alphabet::character(byte));
        out.comes_from(text, at);
    }
}

//! Decoders: steps that make text of tokens.

use alloc::string::String;
use alloc::vec::Vec;

use super::text::{Allowance, Text};
use crate::error::Result;
use crate::limit::{Growing, append, push};
use crate::token::bpe::alphabet;
use crate::token::spec::{DecoderOf, Prepends};

/// A step.
pub(super) type Decoder = DecoderOf<String>;

/// The text of `tokens`. Without a decoder there are spaces between them.
///
/// # Errors
///
/// [`ErrorKind::OverLimit`](crate::ErrorKind::OverLimit) if the steps make far more of the tokens
/// than they were; [`ErrorKind::NoMemory`](crate::ErrorKind::NoMemory).
pub(super) fn decode<'t>(
    decoder: Option<&[Decoder]>,
    tokens: impl Iterator<Item = &'t str>,
) -> Result<String> {
    let mut from = Strings::default();
    from.clear(usize::MAX);
    for (index, token) in tokens.enumerate() {
        if decoder.is_none() && index > 0 {
            from.text.push(' ');
        }
        from.text.push_str(token);
        from.end();
    }
    from.check()?;
    let most = Allowance::for_text(from.text.as_str()).left();
    let mut to = Strings::default();
    for step in decoder.unwrap_or_default() {
        to.clear(most);
        step.run(&from, &mut to)?;
        to.check()?;
        core::mem::swap(&mut from, &mut to);
    }
    Ok(from.text.into_string())
}

/// Tokens, one after the other.
#[derive(Debug, Default)]
struct Strings {
    text: Text,
    ends: Growing<usize>,
}

impl Strings {
    fn clear(&mut self, most: usize) {
        self.text.clear(most);
        self.ends.clear();
    }

    /// Ends a token, which began where the last one ended.
    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |end| &self.text.as_str()[core::mem::replace(&mut start, *end)..*end])
    }

    fn check(&self) -> Result<()> {
        self.text.check()?;
        self.ends.check()
    }
}

impl Decoder {
    /// Writes the result for the tokens `from` into `to`, which is empty.
    fn run(&self, from: &Strings, to: &mut Strings) -> Result<()> {
        match self {
            Self::ByteLevel => byte_level(from, to)?,
            Self::ByteFallback => byte_fallback(from, to)?,
            Self::Fuse => {
                to.text.push_str(from.text.as_str());
                to.end();
            }
            _ => {
                for (index, token) in from.iter().enumerate() {
                    let is_last = index + 1 == from.ends.len();
                    self.write(token, index == 0, is_last, &mut to.text)?;
                    to.end();
                }
            }
        }
        Ok(())
    }

    /// Writes the result for one token.
    fn write(&self, token: &str, is_first: bool, is_last: bool, to: &mut Text) -> Result<()> {
        match self {
            Self::WordPiece { prefix, cleans } => {
                let parts = match token.strip_prefix(prefix.as_str()) {
                    _ if is_first => ["", token],
                    Some(rest) => ["", rest],
                    None => [" ", token],
                };
                if *cleans {
                    return clean(parts, to);
                }
                parts.iter().for_each(|part| to.push_str(part));
            }
            Self::Metaspace(metaspace) => {
                let drops = is_first && metaspace.prepends != Prepends::Never;
                let kept = token.chars().filter(|c| !(drops && *c == metaspace.replacement));
                kept.for_each(|c| to.push(if c == metaspace.replacement { ' ' } else { c }));
            }
            Self::Replace(replace) => replace.apply(token, to),
            Self::Strip { content, start, stop } => {
                to.push_str(strip(token, *content, *start, *stop));
            }
            Self::Bpe { suffix } => {
                replace_all(token, suffix, if is_last { "" } else { " " }, to);
            }
            // These take all tokens together.
            Self::ByteLevel | Self::ByteFallback | Self::Fuse => {}
        }
        Ok(())
    }
}

/// Writes `text` with `by` in place of every `wanted`.
fn replace_all(text: &str, wanted: &str, by: &str, to: &mut Text) {
    let mut from = 0;
    for (at, found) in text.match_indices(wanted) {
        to.push_str(&text[from..at]);
        to.push_str(by);
        from = at + found.len();
    }
    to.push_str(&text[from..]);
}

/// Writes English without spaces where there are none.
fn clean(parts: [&str; 2], to: &mut Text) -> Result<()> {
    const SPACED: [(&str, &str); 11] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    let (mut text, mut next) = (Text::default(), Text::default());
    text.clear(usize::MAX);
    parts.iter().for_each(|part| text.push_str(part));
    for (spaced, plain) in SPACED {
        if text.as_str().contains(spaced) {
            next.clear(usize::MAX);
            replace_all(text.as_str(), spaced, plain, &mut next);
            core::mem::swap(&mut text, &mut next);
        }
        text.check()?;
    }
    to.push_str(text.as_str());
    Ok(())
}

/// Writes the bytes that tokens in GPT-2's alphabet stand for. A token with other characters stands
/// for itself.
fn byte_level(from: &Strings, to: &mut Strings) -> Result<()> {
    let mut bytes = Vec::new();
    for token in from.iter() {
        let before = bytes.len();
        for c in token.chars() {
            let Some(byte) = alphabet::byte(c) else {
                bytes.truncate(before);
                append(&mut bytes, token.as_bytes())?;
                break;
            };
            push(&mut bytes, byte)?;
        }
    }
    for chunk in bytes.utf8_chunks() {
        to.text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            to.text.push('\u{FFFD}');
        }
    }
    to.end();
    Ok(())
}

/// Makes text of tokens such as `<0xE2>`, as many as are in a row; one U+FFFD for each if they are
/// none.
fn byte_fallback(from: &Strings, to: &mut Strings) -> Result<()> {
    let mut bytes = Vec::new();
    let give = |bytes: &mut Vec<u8>, to: &mut Strings| {
        match core::str::from_utf8(bytes) {
            Ok(text) if !bytes.is_empty() => {
                to.text.push_str(text);
                to.end();
            }
            Ok(_) => {}
            Err(_) => bytes.iter().for_each(|_| {
                to.text.push('\u{FFFD}');
                to.end();
            }),
        }
        bytes.clear();
    };
    for token in from.iter() {
        let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
        let byte = digits.filter(|digits| digits.len() == 2);
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => push(&mut bytes, byte)?,
            None => {
                give(&mut bytes, to);
                to.text.push_str(token);
                to.end();
            }
        }
    }
    give(&mut bytes, to);
    Ok(())
}

/// A token without up to so many characters at its ends that are `content`.
fn strip(token: &str, content: char, start: u64, stop: u64) -> &str {
    let [start, stop] = [start, stop].map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    let first = token.chars().take(start).take_while(|c| *c == content).count();
    let last = token.chars().rev().take(stop).take_while(|c| *c == content).count();
    let bytes = content.len_utf8();
    token.get(first * bytes..token.len() - last * bytes).unwrap_or_default()
}

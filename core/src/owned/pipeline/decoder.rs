//! Decoders: steps that make text of tokens.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::normalizer::{Replace, read_replace};
use super::pre_tokenizer::{Metaspace, Prepends};
use super::settings::{character, each_step, kind, refused, string, truth};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;
use crate::text::json::{Object, Read, Value};
use crate::token::bpe::alphabet;

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Decoder {
    WordPiece { prefix: String, cleans: bool },
    Metaspace(Metaspace),
    ByteLevel,
    ByteFallback,
    Fuse,
    Replace(Replace),
    Strip { content: char, start: usize, stop: usize },
    Bpe { suffix: String },
}

/// The text of `tokens`. Without a decoder there are spaces between them.
///
/// # Errors
///
/// [`ErrorKind::OverLimit`] if a step makes far more of the tokens than they were.
pub(super) fn decode(decoder: Option<&[Decoder]>, mut tokens: Vec<String>) -> Result<String> {
    let Some(steps) = decoder else { return Ok(tokens.join(" ")) };
    let length = |tokens: &[String]| tokens.iter().map(String::len).fold(0, usize::saturating_add);
    let most = length(&tokens).saturating_mul(Limit::EXPANSION.most).saturating_add(1024);
    for step in steps {
        tokens = step.run(tokens);
        if length(&tokens) > most {
            return Err(Error::without_offset(ErrorKind::OverLimit));
        }
    }
    Ok(tokens.concat())
}

impl Decoder {
    fn run(&self, tokens: Vec<String>) -> Vec<String> {
        let each = |write: &dyn Fn(usize, &str) -> String| {
            tokens.iter().enumerate().map(|(index, token)| write(index, token)).collect()
        };
        match self {
            Self::WordPiece { prefix, cleans } => each(&|index, token| {
                let joined = match token.strip_prefix(prefix.as_str()) {
                    _ if index == 0 => String::from(token),
                    Some(rest) => String::from(rest),
                    None => [" ", token].concat(),
                };
                if *cleans { clean(joined) } else { joined }
            }),
            Self::Metaspace(metaspace) => each(&|index, token| {
                let drops = index == 0 && metaspace.prepends != Prepends::Never;
                let space = |c| if c == metaspace.replacement { ' ' } else { c };
                let kept = token.chars().filter(|c| !(drops && *c == metaspace.replacement));
                kept.map(space).collect()
            }),
            Self::ByteLevel => vec![byte_level(&tokens)],
            Self::ByteFallback => byte_fallback(tokens),
            Self::Fuse => vec![tokens.concat()],
            Self::Replace(replace) => each(&|_, token| {
                let mut replaced = String::new();
                replace.apply(token, &mut replaced);
                replaced
            }),
            Self::Strip { content, start, stop } => {
                each(&|_, token| strip(token, *content, *start, *stop))
            }
            Self::Bpe { suffix } => each(&|index, token| {
                let is_last = index + 1 == tokens.len();
                token.replace(suffix.as_str(), if is_last { "" } else { " " })
            }),
        }
    }
}

/// English without spaces where there are none.
fn clean(text: String) -> String {
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
    SPACED.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// The bytes that tokens in GPT-2's alphabet stand for. A token with other characters stands for
/// itself.
fn byte_level(tokens: &[String]) -> String {
    let mut bytes = Vec::new();
    for token in tokens {
        let before = bytes.len();
        for c in token.chars() {
            let Some(byte) = alphabet::byte(c) else {
                bytes.truncate(before);
                bytes.extend_from_slice(token.as_bytes());
                break;
            };
            bytes.push(byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes text of tokens such as `<0xE2>`, as many as are in a row; one U+FFFD for each if they are
/// none.
fn byte_fallback(tokens: Vec<String>) -> Vec<String> {
    let (mut out, mut bytes) = (Vec::new(), Vec::new());
    let give = |bytes: &mut Vec<u8>, out: &mut Vec<String>| {
        match core::str::from_utf8(bytes) {
            Ok(text) if !bytes.is_empty() => out.push(text.into()),
            Ok(_) => {}
            Err(_) => out.extend(bytes.iter().map(|_| String::from("\u{FFFD}"))),
        }
        bytes.clear();
    };
    for token in tokens {
        let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
        let byte = digits.filter(|digits| digits.len() == 2);
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => {
                give(&mut bytes, &mut out);
                out.push(token);
            }
        }
    }
    give(&mut bytes, &mut out);
    out
}

/// A token without up to so many characters at its ends that are `content`.
fn strip(token: &str, content: char, start: usize, stop: usize) -> String {
    let first = token.chars().take(start).take_while(|c| *c == content).count();
    let last = token.chars().rev().take(stop).take_while(|c| *c == content).count();
    let kept = token.chars().count().saturating_sub(last);
    token.chars().take(kept).skip(first).collect()
}

/// Reads the member `decoder`.
pub(super) fn read(value: Option<Value<'_>>) -> Read<'_, Option<Vec<Decoder>>> {
    if value.is_none() {
        return Ok(None);
    }
    let mut steps = Vec::new();
    each_step(value, "decoders", &mut |step| {
        steps.push(one(step)?);
        Ok(())
    })?;
    Ok(Some(steps))
}

fn one(value: Value<'_>) -> Read<'_, Decoder> {
    let step = Object::new(value)?;
    let size = |name| {
        let size = step.needed(name, step.integer(name)?)?;
        Ok(usize::try_from(size).unwrap_or(usize::MAX))
    };
    let read = match kind(&step)? {
        "WordPiece" => Decoder::WordPiece {
            prefix: step.needed("prefix", string(&step, "prefix")?)?,
            cleans: truth(&step, "cleanup")?,
        },
        "Metaspace" => return Ok(Decoder::Metaspace(Metaspace::read(&step)?)),
        "ByteLevel" => {
            step.finish(&["add_prefix_space", "trim_offsets", "use_regex"])?;
            return Ok(Decoder::ByteLevel);
        }
        "ByteFallback" => Decoder::ByteFallback,
        "Fuse" => Decoder::Fuse,
        "Replace" => Decoder::Replace(read_replace(&step)?),
        "Strip" => Decoder::Strip {
            content: character(&step, "content")?,
            start: size("start")?,
            stop: size("stop")?,
        },
        "BPEDecoder" => Decoder::Bpe { suffix: step.needed("suffix", string(&step, "suffix")?)? },
        _ => return Err(refused(value, "no such decoder is known")),
    };
    step.finish(&[])?;
    Ok(read)
}

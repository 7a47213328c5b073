//! The forms that word vectors come in.

use std::path::Path;

use clap::ValueEnum;
use nanoembed_core::format::finalfusion;

use crate::input::BYTE_ORDER_MARK;

/// fastText's magic number.
pub(crate) const FASTTEXT_MAGIC: [u8; 4] = 793_712_314_u32.to_le_bytes();

/// How many of a file's first bytes tell its form.
pub(crate) const HEAD_BYTES: usize = 1 << 16;

/// A form of word vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A finalfusion `.fifu` file
    Finalfusion,
    /// word2vec's binary form
    Word2vec,
    /// Lines of text, a word and its numbers each; GloVe's form
    #[value(alias = "glove")]
    Text,
    /// The same behind a line with the numbers of words and columns; word2vec's and fastText's text form
    Textdims,
    /// A fastText model, `.bin` or quantised `.ftz`
    Fasttext,
    /// floret's text form
    Floret,
}

impl Form {
    /// The form's name, as `convert --from` takes it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Finalfusion => "finalfusion",
            Self::Word2vec => "word2vec",
            Self::Text => "text",
            Self::Textdims => "textdims",
            Self::Fasttext => "fasttext",
            Self::Floret => "floret",
        }
    }

    /// The form of a file that starts with `head`, which is `at_end` if that is all of it.
    pub(crate) fn sniff(head: &[u8], at_end: bool) -> Option<Self> {
        if head.starts_with(finalfusion::MAGIC) {
            return Some(Self::Finalfusion);
        }
        if head.starts_with(&FASTTEXT_MAGIC) {
            return Some(Self::Fasttext);
        }
        let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
        let mut lines = text.split(|&byte| byte == b'\n');
        let first: Vec<&str> = fields(lines.next()?)?;
        let second = lines.next().filter(|line| at_end || line.len() + 1 < text.len());
        let is_count = |field: &&str| field.parse::<u64>().is_ok();
        match first[..] {
            [words, cols] if is_count(&words) && is_count(&cols) => {
                // A line of text, or a word and then four bytes a number.
                let is_text = second.and_then(fields).is_some_and(|fields| {
                    let numbers = fields.iter().rev().take_while(|field| is_number(field)).count();
                    cols.parse().is_ok_and(|cols: usize| numbers >= cols && fields.len() > cols)
                });
                let is_empty = words == "0";
                Some(if is_text || is_empty { Self::Textdims } else { Self::Word2vec })
            }
            [ref counts @ .., _, _] if counts.len() == 6 && counts.iter().all(is_count) => {
                Some(Self::Floret)
            }
            [_, ref numbers @ ..]
                if !numbers.is_empty() && is_number(numbers[numbers.len() - 1]) =>
            {
                Some(Self::Text)
            }
            _ => None,
        }
    }

    /// The form that a file's name stands for.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "fifu" => Self::Finalfusion,
            "w2v" | "word2vec" => Self::Word2vec,
            "txt" | "glove" => Self::Text,
            "vec" | "dims" | "textdims" => Self::Textdims,
            "ftz" => Self::Fasttext,
            "floret" => Self::Floret,
            _ => return None,
        })
    }
}

/// The fields of a line of text.
fn fields(line: &[u8]) -> Option<Vec<&str>> {
    let line = str::from_utf8(line).ok()?;
    Some(line.split_ascii_whitespace().collect())
}

fn is_number(field: &str) -> bool {
    field.parse::<f32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_known_by_its_first_bytes() {
        let cases: &[(&[u8], Option<Form>)] = &[
            (b"FiFu\0\0\0\0", Some(Form::Finalfusion)),
            (b"\xba\x16\x4f\x2f\x0c\0\0\0", Some(Form::Fasttext)),
            (b"2 2\na 1 2\nb 3 4\n", Some(Form::Textdims)),
            (b"2 2\n1 1 2\n", Some(Form::Textdims)),
            (b"0 0\n", Some(Form::Textdims)),
            (b"2 2\na \0\0\x80\x3f\0\0\0\0\nb ", Some(Form::Word2vec)),
            (b"the 0.1 -0.2e-3\nof 1 2\n", Some(Form::Text)),
            (b". . 0.1 0.2\n", Some(Form::Text)),
            (b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n", Some(Form::Textdims)),
            (b"10 3 2 3 2 2166136261 < >\n0 1 2 3\n", Some(Form::Floret)),
            (b"some text\n", None),
            (b"", None),
            (b"\xff\xfe", None),
        ];
        for (head, form) in cases {
            assert_eq!(Form::sniff(head, true), *form, "{:?}", String::from_utf8_lossy(head));
        }
    }
}

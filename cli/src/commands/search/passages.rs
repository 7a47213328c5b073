//! The passages of files: lines, paragraphs, or the texts of JSON lines.

use std::path::PathBuf;
use std::sync::Arc;

use super::Passage;
use crate::error::Result;
use crate::input::{Item, LeftOut, Lines, Reader};

/// The passages of files, one file after the other.
pub(super) struct Passages {
    files: std::vec::IntoIter<PathBuf>,
    current: Option<(Lines, Arc<str>)>,
    reader: Reader,
    by: Passage,
    lossy: bool,
    left_out: LeftOut,
}

impl Passages {
    pub(super) fn new(files: Vec<PathBuf>, reader: Reader, by: Passage, lossy: bool) -> Self {
        let files = files.into_iter();
        Self { files, current: None, reader, by, lossy, left_out: LeftOut::default() }
    }

    /// The next passages, at most `count`; none at the end.
    pub(super) fn next_chunk(&mut self, count: usize) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        while items.len() < count {
            match &mut self.current {
                None => match self.files.next() {
                    None => break,
                    Some(file) => {
                        let lines = Lines::open(&file, Some(self.lossy))?;
                        let name = lines.name().into();
                        self.current = Some((lines, name));
                    }
                },
                Some((lines, name)) => {
                    let next =
                        next_passage((lines, name), &self.reader, self.by, &mut self.left_out);
                    match next? {
                        Some(item) => items.push(item),
                        None => self.current = None,
                    }
                }
            }
        }
        Ok(items)
    }

    /// Says how many lines could not be used.
    pub(super) fn warn(&self) {
        self.left_out.warn(false);
    }
}

fn next_passage(
    (lines, file): (&mut Lines, &Arc<str>),
    reader: &Reader,
    by: Passage,
    left_out: &mut LeftOut,
) -> Result<Option<Item>> {
    let mut passage: Option<Item> = None;
    while let Some(mut item) = reader.next(lines, file)? {
        if let Some(error) = &item.error {
            left_out.count(error);
        }
        let Some(text) = item.text.take() else { continue };
        match (&mut passage, text.trim().is_empty()) {
            (None, true) => {}
            (Some(_), true) => break,
            (Some(passage), false) => {
                passage.bytes += item.bytes;
                if let Some(whole) = &mut passage.text {
                    whole.push('\n');
                    whole.push_str(text.trim_end());
                }
            }
            (None, false) => {
                passage = Some(Item { text: Some(text.trim_end().to_owned()), ..item });
            }
        }
        if by == Passage::Line && passage.is_some() {
            break;
        }
    }
    Ok(passage)
}

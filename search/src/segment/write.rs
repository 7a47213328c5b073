//! Writing a segment: from files of an older one, and from new files.

use std::collections::HashMap;

use nanoembed::digest::digest;
use nanoembed_ranking::{Letters, counts, postings};
use rayon::prelude::*;

use super::layout::{Identity, Sizes, header};
use super::view::Segment;
use crate::passage::Passage;

/// A file for a new segment.
#[derive(Debug)]
pub(crate) struct FileDraft<'d> {
    pub(crate) path: Vec<u8>,
    pub(crate) size: u64,
    pub(crate) changed: u64,
    pub(crate) content: Content<'d>,
}

/// The passages of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'d> {
    /// Those of this file of the older segment.
    Kept(u32),
    /// Passages, each with its extra text.
    New(&'d [(Passage, String)]),
}

/// The vector of a text: codes × scale, and the length that it had.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vector {
    pub(crate) codes: Vec<u8>,
    pub(crate) scale: f32,
    pub(crate) length: f32,
}

/// The sections as they grow.
#[derive(Default)]
struct Tables {
    sizes: Sizes,
    files: Vec<u8>,
    passages: Vec<u8>,
    parts: Vec<u8>,
    terms: Vec<u8>,
    paths: Vec<u8>,
    names: Vec<u8>,
    postings: Vec<u8>,
    rows: Vec<u8>,
    texts: Vec<u8>,
}

/// A count or a size as a field has it; `None` if it is too large.
fn fitting(number: usize) -> Option<u32> {
    u32::try_from(number).ok()
}

/// The bytes of a segment of `files`, which are sorted by their paths. `vectors` has those of new parts
/// by the digests of their texts; a part without one is similar to nothing. `None` if there are more
/// passages than a segment holds.
pub(crate) fn write(
    identity: &Identity,
    files: &[FileDraft<'_>],
    old: Option<&Segment>,
    vectors: &HashMap<u128, Vector>,
) -> Option<Vec<u8>> {
    let mut tables = Tables::default();
    // The new numbers of old passages.
    let mut moved = vec![u32::MAX; old.map_or(0, |old| old.passages() as usize)];
    let mut new = Vec::new();
    for file in files {
        tables.file(file)?;
        match file.content {
            Content::Kept(at) => {
                let old = old?;
                for passage in old.file(at).passages {
                    *moved.get_mut(passage as usize)? = tables.sizes.passages;
                    tables.kept(identity, old, passage)?;
                }
            }
            Content::New(passages) => {
                for (passage, extra) in passages {
                    new.push((tables.sizes.passages, passage));
                    tables.new_passage(identity, passage, extra, vectors)?;
                }
            }
        }
    }
    tables.words(old, &moved, &new)?;
    Some(tables.bytes(identity))
}

impl Tables {
    fn file(&mut self, file: &FileDraft<'_>) -> Option<()> {
        self.files.extend((self.paths.len() as u64).to_le_bytes());
        self.files.extend(fitting(file.path.len())?.to_le_bytes());
        self.files.extend(self.sizes.passages.to_le_bytes());
        self.files.extend(file.size.to_le_bytes());
        self.files.extend(file.changed.to_le_bytes());
        self.paths.extend(&file.path);
        self.sizes.files = self.sizes.files.checked_add(1)?;
        Some(())
    }

    /// A passage of the older segment.
    fn kept(&mut self, identity: &Identity, old: &Segment, passage: u32) -> Option<()> {
        let (texts, lengths) = old.texts_of(passage);
        let (key, terms, latin, letters) = old.numbers(passage);
        self.passage(lengths, [terms, latin, letters], key)?;
        self.texts.extend(texts);
        for part in old.parts_of(passage) {
            let (record, row) = (old.part(part), old.row(part));
            let numbers = [
                fitting(record.range.start)?,
                fitting(record.range.len())?,
                record.line,
                record.end_line,
                record.heading,
            ];
            self.part(numbers, record.digest)?;
            self.row(identity, (row.codes, row.scale, row.length));
        }
        Some(())
    }

    fn new_passage(
        &mut self,
        identity: &Identity,
        passage: &Passage,
        extra: &str,
        vectors: &HashMap<u128, Vector>,
    ) -> Option<()> {
        let Passage { text, heading, parts } = passage;
        let inside = parts.get(1).map_or("", |part| &part.heading);
        let texts = [heading, inside, text, extra];
        let mut lengths = [0; 4];
        for (length, text) in lengths.iter_mut().zip(texts) {
            *length = fitting(text.len())?;
        }
        let letters = Letters::from_text(text);
        let numbers = [0, letters.latin(), letters.all()];
        self.passage(lengths, numbers, key(passage))?;
        texts.iter().for_each(|text| self.texts.extend(text.bytes()));
        for part in parts {
            let heading = match &part.heading {
                none if none.is_empty() => 0,
                own if own == heading => 1,
                _ => 2,
            };
            let numbers = [
                fitting(part.range.start)?,
                fitting(part.range.len())?,
                u32::try_from(part.line).ok()?,
                u32::try_from(part.end_line).ok()?,
                heading,
            ];
            let of = digest(passage.read_of(part).as_bytes());
            self.part(numbers, of)?;
            let row = vectors.get(&of).map(|it| (&it.codes[..], it.scale, it.length));
            self.row(identity, row.unwrap_or((&[], f32::NAN, f32::NAN)));
        }
        Some(())
    }

    fn passage(&mut self, lengths: [u32; 4], numbers: [u32; 3], key: u64) -> Option<()> {
        self.passages.extend((self.texts.len() as u64).to_le_bytes());
        self.passages.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
        self.passages.extend(self.sizes.parts.to_le_bytes());
        self.passages.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        self.passages.extend(key.to_le_bytes());
        self.sizes.passages = self.sizes.passages.checked_add(1)?;
        Some(())
    }

    fn part(&mut self, numbers: [u32; 5], digest: u128) -> Option<()> {
        self.parts.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        // Scale and length come with the row.
        self.parts.extend([0; 12]);
        self.parts.extend(digest.to_le_bytes());
        self.sizes.parts = self.sizes.parts.checked_add(1)?;
        Some(())
    }

    /// The row of the part that was added last.
    fn row(&mut self, identity: &Identity, (codes, scale, length): (&[u8], f32, f32)) {
        let end = self.rows.len() + identity.dimensions as usize;
        self.rows.extend(codes.iter().take(identity.dimensions as usize));
        self.rows.resize(end, 0);
        let numbers = self.parts.len().checked_sub(28).and_then(|at| self.parts.get_mut(at..));
        if let Some(numbers) = numbers.and_then(|it| it.first_chunk_mut::<8>()) {
            *numbers =
                (u64::from(scale.to_bits()) | u64::from(length.to_bits()) << 32).to_le_bytes();
        }
    }

    /// The terms of all passages.
    fn words(
        &mut self,
        old: Option<&Segment>,
        moved: &[u32],
        new: &[(u32, &Passage)],
    ) -> Option<()> {
        let mut terms: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        for passages in new.chunks(4096) {
            let counted: Vec<_> =
                passages.par_iter().map(|(_, passage)| counts(&passage.with_heading())).collect();
            for ((at, _), (length, counts)) in passages.iter().zip(counted) {
                let record = (*at as usize).checked_mul(super::layout::PASSAGE)?.checked_add(28)?;
                let field = self.passages.get_mut(record..)?.first_chunk_mut::<4>()?;
                *field = length.to_le_bytes();
                for (term, count) in counts {
                    terms.entry(term).or_default().push((*at, count));
                }
            }
        }
        let mut terms: Vec<(String, Vec<(u32, u32)>)> = terms.into_iter().collect();
        terms.par_sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut new = terms.into_iter().peekable();
        for at in 0..old.map_or(0, Segment::terms) {
            let (name, bytes) = old?.term(at);
            while let Some((own, added)) = new.next_if(|(own, _)| own.as_bytes() < name) {
                self.term(own.as_bytes(), added)?;
            }
            let kept = postings::read(bytes).filter_map(|(passage, count)| {
                let moved = *moved.get(passage as usize)?;
                (moved != u32::MAX).then_some((moved, count))
            });
            let mut all: Vec<(u32, u32)> = kept.collect();
            if let Some((_, added)) = new.next_if(|(own, _)| own.as_bytes() == name) {
                all.extend(added);
                all.sort_unstable();
            }
            if !all.is_empty() {
                self.term(name, all)?;
            }
        }
        new.try_for_each(|(own, added)| self.term(own.as_bytes(), added))
    }

    fn term(&mut self, name: &[u8], postings: Vec<(u32, u32)>) -> Option<()> {
        let start = self.postings.len();
        postings::write(&mut self.postings, postings);
        self.terms.extend(fitting(self.names.len())?.to_le_bytes());
        self.terms.extend(fitting(name.len())?.to_le_bytes());
        self.terms.extend((start as u64).to_le_bytes());
        self.terms.extend(fitting(self.postings.len() - start)?.to_le_bytes());
        self.terms.extend([0; 4]);
        self.names.extend(name);
        self.sizes.terms = self.sizes.terms.checked_add(1)?;
        Some(())
    }

    fn bytes(mut self, identity: &Identity) -> Vec<u8> {
        self.sizes.paths = self.paths.len() as u64;
        self.sizes.names = self.names.len() as u64;
        self.sizes.postings = self.postings.len() as u64;
        self.sizes.texts = self.texts.len() as u64;
        let sections = [
            self.files,
            self.passages,
            self.parts,
            self.terms,
            self.paths,
            self.names,
            self.postings,
            self.rows,
            self.texts,
        ];
        let mut bytes = vec![0; super::layout::HEADER];
        bytes.reserve_exact(sections.iter().map(Vec::len).sum());
        sections.into_iter().for_each(|section| bytes.extend(section));
        let (head, body) = bytes.split_at_mut(super::layout::HEADER);
        head.copy_from_slice(&header(identity, &self.sizes, body));
        bytes
    }
}

/// A digest of what makes passages equal.
fn key(passage: &Passage) -> u64 {
    let mut bytes = passage.heading.as_bytes().to_vec();
    bytes.push(0xff);
    bytes.extend(passage.text.bytes());
    let digest = digest(&bytes);
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let half = digest as u64;
    half
}

//! Segments of files: read, cut and embedded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nanoembed::digest::digest;
use nanoembed::{Encoder, Error, Observer, Progress, Result, Role, name_of};
use rayon::prelude::*;

use super::options::TreeOptions;
use crate::content::Content as Cut;
use crate::cutting::Reader;
use crate::live::Named;
use crate::meaning::in_bytes;
use crate::passage::{Form, Passage, passages};
use crate::segment::{Content, FileDraft, Identity, Segment, Vector, write};
use crate::store::Journal;
use crate::walk::Found;

/// Files that are read at a time.
const AT_ONCE: usize = 256;

/// Texts that are embedded between two writes to the journal: what a killed process loses.
const A_BATCH: usize = 512;

/// Passages, each with its extra text.
pub(super) type Passages = Vec<(Passage, String)>;

/// The making of segments: what they are made with, and what came of it so far.
pub(super) struct Making<'m> {
    pub(super) options: &'m TreeOptions,
    pub(super) encoder: &'m Encoder,
    reader: &'m dyn Reader,
    pub(super) observer: &'m dyn Observer,
    pub(super) dimensions: usize,
    pub(super) warnings: Vec<String>,
    pub(super) left_out: Vec<String>,
    pub(super) embedded: u64,
    pub(super) tokens: u64,
    pub(super) files_read: u64,
    pub(super) files_removed: u64,
}

impl<'m> Making<'m> {
    pub(super) fn new(
        options: &'m TreeOptions,
        encoder: &'m Encoder,
        reader: &'m dyn Reader,
        observer: &'m dyn Observer,
        has_rows: bool,
    ) -> Result<Self> {
        let dimensions = if has_rows { encoder.dimensions() } else { 0 };
        let (warnings, left_out) = (Vec::new(), Vec::new());
        Ok(Self {
            options,
            encoder,
            reader,
            observer,
            dimensions,
            warnings,
            left_out,
            embedded: 0,
            tokens: 0,
            files_read: 0,
            files_removed: 0,
        })
    }

    /// The segment of these files, which is in memory alone.
    pub(super) fn in_memory(&mut self, found: &[Found]) -> Result<Named> {
        let contents = self.read(found)?;
        let (mut drafts, mut names) = (Vec::new(), Vec::new());
        for (found, passages) in found.iter().zip(&contents) {
            let Some(passages) = passages else { continue };
            names.push(Some(name_of(&found.path).into()));
            drafts.push(draft(found, Vec::new(), Content::New(passages)));
        }
        let segment = self.segment_in_memory(&drafts)?;
        Ok(Named { segment, names })
    }

    /// The segment of texts that come from no file, each with the name to show for it.
    pub(super) fn add_texts(&mut self, texts: &[(&str, &str)]) -> Result<Named> {
        let names = texts.iter().map(|(name, _)| Some(Arc::from(*name))).collect();
        let encoder = self.encoder;
        let cut = |(_, text): &(&str, &str)| -> Passages {
            let passages = passages(Form::Whole, text, encoder).into_iter();
            passages.map(|passage| (passage, String::new())).collect()
        };
        let mut all: Vec<Passages> = Vec::with_capacity(texts.len());
        for texts in texts.chunks(AT_ONCE) {
            self.check()?;
            all.par_extend(texts.par_iter().map(cut));
        }
        let drafts: Vec<FileDraft<'_>> = all
            .iter()
            .map(|own| FileDraft {
                path: Vec::new(),
                size: 0,
                changed: 0,
                content: Content::New(own),
            })
            .collect();
        Ok(Named { segment: self.segment_in_memory(&drafts)?, names })
    }

    /// Fails if the observer cancels.
    fn check(&self) -> Result<()> {
        match self.observer.is_cancelled() {
            true => Err(Error::cancelled()),
            false => Ok(()),
        }
    }

    fn segment_in_memory(&mut self, drafts: &[FileDraft<'_>]) -> Result<Segment> {
        let identity = Identity {
            dimensions: u32::try_from(self.dimensions).unwrap_or(u32::MAX),
            ..Identity::default()
        };
        let vectors = self.vectors(drafts, HashMap::new(), &mut None)?;
        let bytes = write(&identity, drafts, None, &vectors).ok_or_else(too_many)?;
        Segment::parse(bytes.into(), &identity).ok_or_else(too_many)
    }

    /// The passages of files, in their order; `None` for those that cannot be read, which is an error
    /// for a file that was given.
    pub(super) fn read(&mut self, found: &[Found]) -> Result<Vec<Option<Passages>>> {
        self.files_read += found.len() as u64;
        let mut all = Vec::with_capacity(found.len());
        for found in found.chunks(AT_ONCE) {
            self.check()?;
            let cutting = &self.options.cutting;
            let read = |found| cutting.content(found, self.encoder, self.reader);
            let contents: Vec<Result<Cut>> = found.par_iter().map(read).collect();
            for (found, content) in found.iter().zip(contents) {
                match content {
                    Ok(Cut { passages, mut left_out }) => {
                        self.left_out.append(&mut left_out);
                        all.push(Some(passages));
                    }
                    Err(error) if found.is_given => return Err(error),
                    Err(error) => {
                        self.warnings.push(error.to_string());
                        all.push(None);
                    }
                }
            }
        }
        Ok(all)
    }

    /// The vectors of all new parts by the digests of their texts. Those that `known` lacks are made,
    /// and written to the journal.
    pub(super) fn vectors(
        &mut self,
        drafts: &[FileDraft<'_>],
        mut known: HashMap<u128, Vector>,
        journal: &mut Option<Journal>,
    ) -> Result<HashMap<u128, Vector>> {
        if self.dimensions == 0 {
            return Ok(known);
        }
        let mut seen = HashSet::new();
        let mut texts = Vec::new();
        for draft in drafts {
            let Content::New(passages) = draft.content else { continue };
            for (passage, _) in passages {
                for part in &passage.parts {
                    let text = passage.read_of(part);
                    let of = digest(text.as_bytes());
                    if !known.contains_key(&of) && seen.insert(of) {
                        texts.push((of, text));
                    }
                }
            }
        }
        if texts.is_empty() {
            return Ok(known);
        }
        let progress = Progress::texts(self.observer, "embedding", Some(texts.len() as u64));
        for batch in texts.chunks(A_BATCH) {
            let own: Vec<&str> = batch.iter().map(|(_, text)| &**text).collect();
            let mut rows = vec![0.0; own.len() * self.dimensions];
            let part = progress.part();
            let lengths = self.encoder.embed_into(Role::Document, &own, &mut rows, &part)?;
            let made: Vec<Vector> = rows.chunks_exact(self.dimensions).map(in_bytes).collect();
            self.embedded += batch.len() as u64;
            self.tokens += lengths.iter().map(|length| length.tokens as u64).sum::<u64>();
            let named = || batch.iter().map(|(of, _)| *of);
            if let Some(Err(error)) =
                journal.as_mut().map(|journal| journal.add(named().zip(&made)))
            {
                self.warnings.push(format!("the index's journal cannot be written: {error}"));
                *journal = None;
            }
            known.extend(named().zip(made));
        }
        drop(progress);
        Ok(known)
    }
}

/// The draft of a file that was found.
pub(super) fn draft<'d>(found: &Found, path: Vec<u8>, content: Content<'d>) -> FileDraft<'d> {
    FileDraft { path, size: found.size, changed: found.changed, content }
}

pub(super) fn too_many() -> Error {
    Error::bad_input("more text than a search can hold")
}

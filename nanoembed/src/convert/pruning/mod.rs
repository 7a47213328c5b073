//! A model's vocabulary cut to the pieces that texts need, and its tables with it.
//!
//! A multilingual model has pieces of every language that it knows: four fifths of the weights of
//! multilingual-e5-small are the vectors of 250,002 pieces. These stay:
//!
//! * the pieces that the texts consist of, alone and after each of the model's prompts;
//! * special and added tokens, and whatever the model's files name by its id;
//! * pieces of bytes, and of single characters in the scripts of the texts, so that other words of
//!   their languages are still cut into pieces;
//! * of BPE all that those are merged from; of Unigram the least likely piece, by which characters
//!   without a piece are judged.
//!
//! Ids are renumbered, in the same order and without gaps. The texts, and all others that consist
//! of the pieces that stayed, keep their pieces, and the model computes the same bits from them:
//! WordPiece takes the longest piece, Unigram the likeliest and BPE the pair of the lowest rank,
//! and removing candidates that were not chosen changes none of these choices.
//!
//! | file | role |
//! |---|---|
//! | `vocabulary` | the pieces of a tokenizer, and which of them always stay |
//! | `scripts` | the scripts of the texts |
//! | `numbering` | the ids that stay, and their new numbers |
//! | `ids` | where ids stand in a folder's files |
//! | `edits` | values of a JSON text replaced, all else left as it is |
//! | `texts` | the files with other ids |
//! | `tables` | the tensors with fewer rows |
//! | `files` | the files of a folder and their treatment |

mod edits;
mod files;
mod ids;
mod numbering;
mod scripts;
mod tables;
mod texts;
mod vocabulary;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use nanoembed_core::owned::Pipeline;
use nanoembed_core::owned::folder::Described;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use rayon::prelude::*;

use crate::error::{Error, Result, name_of, name_of_output};
use crate::files::hub_cache;
use crate::files::new_file::folder::{NewFolder, check_absent};
use crate::open::folder::files::EncoderFolder;
use crate::progress::{Observer, Progress};
use crate::stored::folder_weights::safetensors_in;
use crate::tokenizer::Tokenizer;
use files::Files;
use numbering::Numbering;
use scripts::Scripts;
use tables::Tables;
use vocabulary::Vocabulary;

/// The vocabulary of a model in a folder, to be cut to what texts need.
///
/// ```no_run
/// use nanoembed::Silent;
/// use nanoembed::convert::Pruning;
///
/// let mut pruning = Pruning::open("multilingual-e5-small")?;
/// pruning.read(&["Wie setze ich mein Passwort zurück?", "How do I reset my password?"])?;
/// let pruned = pruning.write("e5-de-en", &Silent)?;
/// println!("{} of {} pieces", pruned.pieces, pruned.pieces_before);
/// # Ok::<(), nanoembed::Error>(())
/// ```
pub struct Pruning {
    folder: EncoderFolder,
    pipeline: Pipeline,
    tokenizer: Tokenizer,
    /// The model's prompts.
    prompts: Vec<String>,
    /// The frequency of each piece in the texts.
    counts: Vec<AtomicU64>,
    texts: u64,
    min_count: u64,
}

/// The outcome of pruning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The number of texts that were read.
    pub texts: u64,
    /// The number of pieces that stay.
    pub pieces: usize,
    /// The number of pieces before.
    pub pieces_before: usize,
    /// The number of pieces of the texts that are rarer than asked for and do not stay: words with
    /// them are cut into other pieces.
    pub rare: usize,
    /// The bytes of all tensors.
    pub weight_bytes: u64,
    /// The bytes that they had.
    pub weight_bytes_before: u64,
    /// Files of the folder that are not in the new one.
    pub left_out: Vec<String>,
}

/// The changes to a folder.
struct Plan<'f> {
    numbering: Numbering,
    tables: Tables<'f>,
    files: Files,
    pruned: Pruned,
}

impl Pruning {
    /// The model in a folder as on Hugging Face, whose weights are safetensors: an encoder of texts,
    /// a model that compares them, or a table of vectors.
    ///
    /// # Errors
    ///
    /// Fails if it is no such folder, or if its model is invalid.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = &*hub_cache::resolved(path.as_ref());
        if !path.is_dir() {
            return Err(no_folder(path));
        }
        let folder = EncoderFolder::open(path)?;
        if folder.route().is_some() {
            let message =
                "a model with a Router has a vocabulary for each route, and one alone is not cut";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(folder.name()));
        }
        if folder.model().names_tokens() {
            let message = "a reranker with a chat template or LogitScore names tokens that its vocabulary is not to lose";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(folder.name()));
        }
        if folder.model().masked.is_some() {
            let message = "sparse vectors have a weight for each piece, and would lose those of the pieces that are cut";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(folder.name()));
        }
        if safetensors_in(folder.own_folder())?.is_none() {
            let message = "a vocabulary is cut in folders whose weights are safetensors";
            return Err(Error::input(ErrorKind::UnknownFormat, message).at(folder.name()));
        }
        // Says what is wrong with a model before texts are read.
        drop(folder.open_model()?);
        let pipeline = folder.pipeline()?;
        let tokenizer = Tokenizer::open(path)?;
        let failed = |error| Error::in_file(folder.name(), error);
        let prompts = folder.prompts()?.into_core().by_name.into_iter().map(|(_, text)| text);
        let prompts = limit::collected(prompts.filter(|prompt| !prompt.is_empty()));
        let mut prompts = prompts.map_err(failed)?;
        prompts.sort_unstable();
        prompts.dedup();
        let counts = limit::exactly((0..pipeline.count()).map(|_| AtomicU64::new(0)));
        let counts = counts.map_err(failed)?;
        Ok(Self { folder, pipeline, tokenizer, prompts, counts, texts: 0, min_count: 1 })
    }

    /// The least frequency at which a piece of the texts stays, 1 by default. With more, texts with
    /// rarer pieces are cut into others.
    #[must_use]
    pub fn min_count(self, min_count: u64) -> Self {
        Self { min_count, ..self }
    }

    /// Reads texts, on several threads; may be called again with more of them.
    ///
    /// # Errors
    ///
    /// If memory is refused, or a text has something unknown and the model no token for that.
    pub fn read<T: AsRef<str> + Sync>(&mut self, texts: &[T]) -> Result<()> {
        texts.par_iter().try_for_each(|text| self.count(text.as_ref()))?;
        self.texts += texts.len() as u64;
        Ok(())
    }

    /// Counts the pieces of `text`, and those that change after a prompt.
    fn count(&self, text: &str) -> Result<()> {
        let alone = self.tokenizer.encode(text, None)?.ids;
        self.count_ids(&alone);
        for prompt in &self.prompts {
            let prompted = limit::joined(&[prompt, text]).map_err(|error| self.failed(error))?;
            let prompted = self.tokenizer.encode(&prompted, None)?.ids;
            let ends = prompted.iter().rev().zip(alone.iter().rev());
            let same = ends.take_while(|(prompted, alone)| prompted == alone).count();
            let other = prompted.len().saturating_sub(same);
            self.count_ids(prompted.get(..other).unwrap_or_default());
        }
        Ok(())
    }

    fn count_ids(&self, ids: &[u32]) {
        let counts = ids.iter().filter_map(|id| self.counts.get(usize::try_from(*id).ok()?));
        for count in counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Refuses a folder that [`write`](Self::write) would refuse: one that is there, and not empty.
    ///
    /// # Errors
    ///
    /// The reason that it is refused.
    pub fn check_output(output: impl AsRef<Path>) -> Result<()> {
        check_absent(output.as_ref())
    }

    /// Measures the effect of [`write`](Self::write) without writing.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn measure(&self) -> Result<Pruned> {
        self.plan().map(|plan| plan.pruned)
    }

    /// Writes the model with the pieces that the texts need to the folder `output`, which appears
    /// when it is complete.
    ///
    /// # Errors
    ///
    /// Fails if there are no texts, the folder is there already, or its files cannot be read or
    /// written.
    pub fn write(&self, output: impl AsRef<Path>, observer: &dyn Observer) -> Result<Pruned> {
        let output = output.as_ref();
        let plan = self.plan()?;
        let folder = NewFolder::create(output)?;
        plan.files.write(folder.path())?;
        let weights = folder.path().join(plan.files.weights());
        let progress = Progress::bytes(observer, "writing", plan.pruned.weight_bytes);
        plan.tables.write(&weights, &progress)?;
        drop(progress);
        self.check(folder.path(), &plan.numbering).map_err(|error| match error.is_no_memory() {
            true => error,
            false => Error::new(error.kind(), error.to_string()).at(name_of_output(output)),
        })?;
        folder.commit()?;
        Ok(plan.pruned)
    }

    fn plan(&self) -> Result<Plan<'_>> {
        if self.texts == 0 {
            return Err(Error::usage("there are no texts to cut the vocabulary to"));
        }
        let files = Files::from_folder(&self.folder)?;
        let vocabulary = Vocabulary::from_pipeline(&self.pipeline)?;
        let numbering = self.numbering(&files, &vocabulary);
        let (numbering, rare) = numbering.map_err(|error| self.failed(error))?;
        let tables = Tables::new(&self.folder, &numbering)?;
        let files = files.renumbered(&vocabulary, &numbering)?;
        let (weight_bytes, weight_bytes_before) = tables.bytes();
        let left_out = files.left_out().iter().map(|path| limit::copied(path));
        let left_out = limit::gathered(left_out).map_err(|error| self.failed(error))?;
        let pruned = Pruned {
            texts: self.texts,
            pieces: numbering.len(),
            pieces_before: vocabulary.pieces(),
            rare,
            weight_bytes,
            weight_bytes_before,
            left_out,
        };
        Ok(Plan { numbering, tables, files, pruned })
    }

    /// The pieces that stay, and how many of the texts' do not.
    fn numbering(
        &self,
        files: &Files,
        vocabulary: &Vocabulary<'_>,
    ) -> Result<(Numbering, usize), CoreError> {
        let counts = limit::exactly(self.counts.iter().map(|it| it.load(Ordering::Relaxed)))?;
        let kept = counts.iter().map(|count| *count >= self.min_count.max(1));
        let mut kept = limit::exactly(kept)?;
        let mut keep = |id: u32| {
            if let Some(kept) = usize::try_from(id).ok().and_then(|id| kept.get_mut(id)) {
                *kept = true;
            }
        };
        files.named_ids()?.into_iter().for_each(&mut keep);
        vocabulary.named_ids().iter().copied().for_each(&mut keep);
        let named = files.named_tokens()?;
        named.iter().filter_map(|token| vocabulary.id_of(token)).for_each(&mut keep);
        (0..self.first_position()).for_each(&mut keep);
        let mut scripts = Scripts::default();
        for (id, count) in (0..).zip(&counts).filter(|(_, count)| **count > 0) {
            scripts.count(vocabulary.text(id), *count)?;
        }
        vocabulary.characters(&scripts).for_each(&mut keep);
        vocabulary.close(&mut kept)?;
        let rare = counts.iter().zip(&kept).filter(|(count, kept)| **count > 0 && !**kept).count();
        Ok((Numbering::new(&kept)?, rare))
    }

    fn failed(&self, error: CoreError) -> Error {
        Error::in_file(self.folder.name(), error)
    }

    /// The first position of models that count positions from the padding token's id: that token
    /// keeps its id.
    fn first_position(&self) -> u32 {
        let Described::Transformer(family) = &self.folder.model().described else { return 0 };
        let first = family.config.embedding.positions.unwrap_or(0);
        u32::try_from(first).unwrap_or(u32::MAX).min(self.pipeline.count())
    }

    /// Opens the model that was written, and compares its tokens with those that stay.
    fn check(&self, folder: &Path, numbering: &Numbering) -> Result<()> {
        let written = EncoderFolder::open(folder)?;
        drop(written.open_model()?);
        let pipeline = written.pipeline()?;
        let moved = (0..)
            .zip(numbering.kept())
            .find(|(now, then)| pipeline.token(*now) != self.pipeline.token(**then));
        match moved {
            Some((_, id)) => {
                let token = self.pipeline.token(*id).unwrap_or_default();
                let token = String::from_utf8_lossy(token);
                let message = format!(
                    "the token {token:?} would not get the number that it has to have: the ids of the added tokens do not follow those of the vocabulary"
                );
                Err(Error::input(ErrorKind::BadVocabulary, message))
            }
            None if pipeline.count() as usize != numbering.len() => {
                Err(Error::input(ErrorKind::BadVocabulary, "tokens would be left without a number"))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Pruning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { texts, min_count, .. } = self;
        f.debug_struct("Pruning")
            .field("model", &self.folder.name())
            .field("texts", texts)
            .field("min_count", min_count)
            .finish_non_exhaustive()
    }
}

/// The error that refuses `path`.
fn no_folder(path: &Path) -> Error {
    if !path.exists() {
        return Error::reading(name_of(path), &std::io::ErrorKind::NotFound.into());
    }
    Error::input(ErrorKind::UnknownFormat, "a vocabulary is cut in a folder as on Hugging Face")
        .at(name_of(path))
        .with_hint("cut the vocabulary of the folder that the file was made from; `nanoembed convert` makes a file of the result")
}

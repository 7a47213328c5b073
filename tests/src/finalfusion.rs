//! finalfusion files written anew, made up, and opened.

use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{
    BrokenUtf8, Finalfusion, Layout, Plan, Storage, StorageSpec, Writer,
};
use nanoembed_core::read::ReadAt;
use nanoembed_core::sink::Sink;
use nanoembed_core::subword::WordVocabulary;
use nanoembed_core::words::{
    Index, IndexOptions, Memory, Scored, SearchMemory, Source, Stored, TopK, Words,
};
use nanoembed_core::{Error, kernel};

/// A sink that keeps everything.
#[derive(Debug, Default)]
pub struct Written(pub Vec<u8>);

impl Sink for Written {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Words with an index in a vector, over a file in memory.
pub type IndexedWords<'a> = Words<Memory<'a>, Vec<u64>>;

/// A file written anew from what was read of it.
///
/// # Errors
///
/// What the writer returns.
pub fn write_anew(file: &Finalfusion<'_>) -> Result<Vec<u8>, Error> {
    let layout = file.layout();
    let plan = Plan {
        metadata: file.metadata(),
        vocabulary: layout.vocabulary,
        word_bytes: file.words().map(|word| word.len() as u64).sum(),
        ngram_bytes: file.ngrams().map(|(ngram, _)| ngram.len() as u64).sum(),
        storage: spec(&layout.storage),
        norms: layout.norms.is_some(),
        norms_listed: layout.norms_listed,
        broken_utf8: BrokenUtf8::Bytes,
    };
    let mut writer = Writer::new(plan, Written::default())?;
    file.words().try_for_each(|word| writer.word(word))?;
    file.ngrams().try_for_each(|(ngram, index)| writer.ngram(ngram, index))?;
    // Pieces of an odd size, as bulk data may be cut anywhere.
    for tensor in file.tensors() {
        tensor.data().chunks(13).try_for_each(|piece| writer.data(piece))?;
    }
    writer.finish().map(|Written(bytes)| bytes)
}

fn spec(storage: &Storage) -> StorageSpec {
    match *storage {
        Storage::Array(array) => StorageSpec::Array { rows: array.rows, cols: array.cols },
        Storage::Quantized(quantized) => StorageSpec::Quantized {
            rows: quantized.rows,
            cols: quantized.cols,
            codes_per_row: quantized.codes_per_row,
            centroids: quantized.centroids,
            projection: quantized.projection.is_some(),
            norms: quantized.norms.is_some(),
        },
    }
}

/// What a made-up file consists of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The metadata.
    pub metadata: Option<String>,
    /// The vocabulary's parameters; the number of words is that of `words`.
    pub vocabulary: WordVocabulary,
    /// The words.
    pub words: Vec<Vec<u8>>,
    /// The n-grams with their indices.
    pub ngrams: Vec<(Vec<u8>, u64)>,
    /// The storage.
    pub storage: StorageSpec,
    /// The storage's f32 parts, one behind the other.
    pub floats: Vec<f32>,
    /// The storage's codes.
    pub codes: Vec<u8>,
    /// The words' norms.
    pub norms: Option<Vec<f32>>,
}

impl Parts {
    /// The file.
    ///
    /// # Panics
    ///
    /// If the writer refuses it.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let words = u32::try_from(self.words.len()).expect("fewer words");
        let plan = Plan {
            metadata: self.metadata.as_deref(),
            vocabulary: WordVocabulary { words, ..self.vocabulary },
            word_bytes: self.words.iter().map(|word| word.len() as u64).sum(),
            ngram_bytes: self.ngrams.iter().map(|(ngram, _)| ngram.len() as u64).sum(),
            storage: self.storage,
            norms: self.norms.is_some(),
            norms_listed: true,
            broken_utf8: BrokenUtf8::Bytes,
        };
        let mut writer = Writer::new(plan, Written::default()).expect("a plan");
        for word in &self.words {
            writer.word(word).expect("a word");
        }
        for (ngram, index) in &self.ngrams {
            writer.ngram(ngram, *index).expect("an n-gram");
        }
        let floats = |floats: &[f32]| -> Vec<u8> {
            floats.iter().flat_map(|float| float.to_le_bytes()).collect()
        };
        writer.data(&floats(&self.floats)).expect("floats");
        writer.data(&self.codes).expect("codes");
        writer.data(&floats(self.norms.as_deref().unwrap_or_default())).expect("norms");
        writer.finish().expect("all parts").0
    }
}

/// Words of a file in memory, with an index.
///
/// # Errors
///
/// What opening and indexing return.
pub fn indexed(file: &[u8], options: IndexOptions) -> Result<IndexedWords<'_>, Error> {
    let layout = *Finalfusion::parse(file, Mode::Lenient)?.layout();
    let index = index(&Memory(file), &layout, options, &mut [])?;
    Ok(Words::with_index(Memory(file), layout, index))
}

/// Words of a file behind random access, with an index.
///
/// # Errors
///
/// What opening and indexing return.
pub fn indexed_stored<S: ReadAt + Copy>(
    storage: S,
    layout: Layout,
) -> Result<Words<Stored<S>, Vec<u64>>, Error> {
    let mut scratch = vec![0; 4096];
    let index = index(&Stored(storage), &layout, IndexOptions::default(), &mut scratch)?;
    Ok(Words::with_index(Stored(storage), layout, index))
}

/// An index in memory of exactly the size that is said to be needed.
///
/// # Errors
///
/// What indexing returns.
pub fn index(
    source: &impl Source,
    layout: &Layout,
    options: IndexOptions,
    scratch: &mut [u8],
) -> Result<Index<Vec<u64>>, Error> {
    let needed = Index::memory_needed(layout).unwrap_or(usize::MAX);
    // A hostile file's vocabulary is as large as it says by now, so this is bounded by the file.
    Index::build(source, layout, options, vec![0; needed], scratch)
}

/// The vector of a word, what was found, or nothing.
///
/// # Errors
///
/// What the lookup returns.
pub fn vector<S: Source, M: AsRef<[u64]>>(
    words: &Words<S, M>,
    word: &str,
) -> Result<Option<(Vec<f32>, nanoembed_core::words::Found)>, Error> {
    let mut vector = vec![0.0; words.cols()];
    let mut scratch = vec![0.0; words.scratch_needed()];
    Ok(words.vector(word, &mut vector, &mut scratch)?.map(|found| (vector, found)))
}

/// The `limit` best rows of each query, with the fastest kernels.
///
/// # Errors
///
/// What the search returns.
pub fn search<S: Source, M: AsRef<[u64]>>(
    words: &Words<S, M>,
    queries: &[f32],
    skip: &[u32],
    limit: usize,
    tile_bytes: usize,
) -> Result<Vec<Vec<Scored>>, Error> {
    let count = queries.len() / words.cols().max(1);
    let mut memory = vec![vec![Scored::default(); limit]; count];
    let mut tops: Vec<_> = memory.iter_mut().map(|memory| TopK::new(memory, skip)).collect();
    let mut floats = vec![0.0; words.search_memory_needed(count).unwrap_or(0)];
    let mut tile = vec![0; tile_bytes];
    let rows = 0..words.layout().vocabulary.words;
    let memory = SearchMemory { floats: &mut floats, tile: &mut tile };
    words.search(&kernel::detect(), rows, queries, &mut tops, memory)?;
    tops.into_iter().map(|top| Ok(words.ranked(top)?.to_vec())).collect()
}

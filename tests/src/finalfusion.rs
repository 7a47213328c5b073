//! Rewrites, synthesises and opens finalfusion files.

use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{
    BrokenUtf8, Finalfusion, FinalfusionLayout, FinalfusionPlan, FinalfusionWriter, Storage,
    StorageSpec,
};
use nanoembed_core::read::ReadAt;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::words::{
    Index, IndexOptions, Memory, Scored, SearchMemory, Source, Stored, TopK, Words,
};
use nanoembed_core::{Error, kernel};

/// Words with an index in a vector, over a file in memory.
pub type IndexedWords<'a> = Words<Memory<'a>, Vec<u64>>;

/// Rewrites a file from its contents.
///
/// # Errors
///
/// Any error from the writer.
pub fn rewritten(file: &Finalfusion<'_>) -> Result<Vec<u8>, Error> {
    let layout = file.layout();
    let plan = FinalfusionPlan {
        metadata: file.metadata(),
        vocabulary: layout.vocabulary,
        word_bytes: file.words().map(|word| word.len() as u64).sum(),
        ngram_bytes: file.ngrams().map(|(ngram, _)| ngram.len() as u64).sum(),
        storage: spec(&layout.storage),
        norms: layout.norms.is_some(),
        norms_listed: layout.norms_listed,
        broken_utf8: BrokenUtf8::Bytes,
    };
    let mut writer = FinalfusionWriter::new(plan, Vec::new())?;
    file.words().try_for_each(|word| writer.word(word))?;
    file.ngrams().try_for_each(|(ngram, index)| writer.ngram(ngram, index))?;
    // Pieces of an odd size, as bulk data may be cut anywhere.
    for tensor in file.tensors() {
        tensor.data().chunks(13).try_for_each(|piece| writer.data(piece))?;
    }
    writer.finish()
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

/// The contents of a synthetic file.
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
    /// The storage's f32 parts, concatenated.
    pub floats: Vec<f32>,
    /// The storage's codes.
    pub codes: Vec<u8>,
    /// The words' norms.
    pub norms: Option<Vec<f32>>,
}

impl Parts {
    /// Only words and their rows, whose values are in `floats`.
    #[must_use]
    pub const fn from_words(words: Vec<Vec<u8>>, cols: u32, floats: Vec<f32>) -> Self {
        Self {
            metadata: None,
            vocabulary: WordVocabulary {
                words: 0,
                subwords: Subwords::None,
                min_n: 0,
                max_n: 0,
                begin: Bracket::BEGIN,
                end: Bracket::END,
            },
            storage: StorageSpec::Array { rows: words.len() as u64, cols },
            words,
            ngrams: Vec::new(),
            floats,
            codes: Vec::new(),
            norms: None,
        }
    }

    /// The plan that the writer needs.
    ///
    /// # Panics
    ///
    /// If there are more words than a file can have.
    #[must_use]
    pub fn plan(&self) -> FinalfusionPlan<'_> {
        let words = u32::try_from(self.words.len()).expect("fewer words");
        FinalfusionPlan {
            metadata: self.metadata.as_deref(),
            vocabulary: WordVocabulary { words, ..self.vocabulary },
            word_bytes: self.words.iter().map(|word| word.len() as u64).sum(),
            ngram_bytes: self.ngrams.iter().map(|(ngram, _)| ngram.len() as u64).sum(),
            storage: self.storage,
            norms: self.norms.is_some(),
            norms_listed: true,
            broken_utf8: BrokenUtf8::Bytes,
        }
    }

    /// Writes the file.
    ///
    /// # Panics
    ///
    /// If the writer rejects it.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut writer = FinalfusionWriter::new(self.plan(), Vec::new()).expect("a plan");
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
        writer.finish().expect("all parts")
    }
}

/// Words of a file in memory, with an index.
///
/// # Errors
///
/// Any error of opening and indexing.
pub fn indexed(file: &[u8], options: IndexOptions) -> Result<IndexedWords<'_>, Error> {
    let layout = *Finalfusion::parse(file, Mode::Lenient)?.layout();
    let index = index(&Memory(file), &layout, options, &mut [])?;
    Ok(Words::with_index(Memory(file), layout, index))
}

/// Words of a file with random access, with an index.
///
/// # Errors
///
/// Any error of opening and indexing.
pub fn indexed_stored<S: ReadAt + Copy>(
    storage: S,
    layout: FinalfusionLayout,
) -> Result<Words<Stored<S>, Vec<u64>>, Error> {
    let mut scratch = vec![0; 4096];
    let index = index(&Stored(storage), &layout, IndexOptions::default(), &mut scratch)?;
    Ok(Words::with_index(Stored(storage), layout, index))
}

/// An index in memory of exactly the required size.
///
/// # Errors
///
/// Any error of indexing.
pub fn index(
    source: &impl Source,
    layout: &FinalfusionLayout,
    options: IndexOptions,
    scratch: &mut [u8],
) -> Result<Index<Vec<u64>>, Error> {
    let needed = Index::memory_needed(layout).unwrap_or(usize::MAX);
    // The size of the vocabulary has been checked by now, so this is bounded by the file's size.
    Index::build(source, layout, options, vec![0; needed], scratch)
}

/// The vector of a word, and the finding; `None` if there is neither.
///
/// # Errors
///
/// Any error of the lookup.
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
/// Any error of the search.
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
    words.search(kernel::detect().product_f32, rows, queries, &mut tops, memory)?;
    tops.into_iter().map(|top| Ok(words.ranked(top)?.to_vec())).collect()
}

/// Letters of many scripts, of one to four bytes each, and some that combine.
const LETTERS: &[char] = &[
    'a', 'b', 'n', 'z', 'Ä', 'ß', 'é', '\u{301}', 'я', 'щ', 'ك', 'ا', 'न', 'ि', '日', '本', '語',
    '한', 'ก', '😀', '👩', '\u{200d}', '<', '>', '-', '0',
];

/// A seeded pseudo-random number generator.
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // SplitMix64 (Steele et al. 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % end.max(1)
    }

    /// A multiple of 1/8 between −4 and 4: sums of products of a few are exact.
    pub fn float(&mut self) -> f32 {
        f32::from(i16::try_from(self.below(65)).unwrap_or(0) - 32) / 8.0
    }

    /// `count` such multiples.
    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }

    /// A word of up to `longest` letters.
    pub fn word(&mut self, longest: u64) -> String {
        let length = self.below(longest + 1);
        let letter = |numbers: &mut Self| {
            LETTERS[usize::try_from(numbers.below(LETTERS.len() as u64)).unwrap_or(0)]
        };
        (0..length).map(|_| letter(self)).collect()
    }

    /// Different strings, up to `count` of them.
    pub fn words(&mut self, count: usize, longest: u64) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for _ in 0..count {
            let word = self.word(longest);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }
}

/// The kinds of synthetic vocabularies.
pub const KINDS: std::ops::Range<u64> = 0..5;

/// A synthetic file with one of the [`KINDS`] of vocabulary, quantised or not.
#[must_use]
pub fn made_up(seed: u64, kind: u64, quantized: bool) -> Parts {
    let mut numbers = Numbers(seed);
    let count = usize::try_from(numbers.below(40)).unwrap_or(0);
    let words = if kind == 4 { vec![] } else { numbers.words(count, 6) };
    let ngrams: Vec<(Vec<u8>, u64)> = if kind == 3 {
        let mut next = 0;
        let ngrams = numbers.words(60, 3);
        ngrams
            .into_iter()
            .map(|ngram| {
                // Some share an index; new ones are the next number.
                let index = numbers.below(next + 2).min(next);
                next = next.max(index + 1);
                (ngram.into_bytes(), index)
            })
            .collect()
    } else {
        vec![]
    };
    let distinct = ngrams.iter().map(|(_, index)| index + 1).max().unwrap_or(0);
    let (subwords, rows) = match kind {
        0 => (Subwords::None, 0),
        1 => (Subwords::Buckets { exponent: 5 }, 32),
        2 => (Subwords::FastText { buckets: 37 }, 37),
        3 => (Subwords::Explicit { ngrams: u32::try_from(ngrams.len()).unwrap_or(0) }, distinct),
        _ => {
            let hashes = u32::try_from(1 + numbers.below(4)).unwrap_or(1);
            (Subwords::Floret { buckets: 29, hashes, seed: 77 }, 29)
        }
    };
    let (min_n, max_n) = match kind {
        0 => (0, 0),
        _ => {
            let min_n = u32::try_from(1 + numbers.below(4)).unwrap_or(1);
            (min_n, min_n + u32::try_from(numbers.below(4)).unwrap_or(0))
        }
    };
    let (begin, end) = if kind == 4 { ("«", "»»") } else { ("<", ">") };
    let vocabulary = WordVocabulary {
        words: 0,
        subwords,
        min_n,
        max_n,
        begin: Bracket::new(begin).unwrap_or(Bracket::BEGIN),
        end: Bracket::new(end).unwrap_or(Bracket::END),
    };
    let rows = words.len() + usize::try_from(rows).unwrap_or(0);
    let (storage, floats, codes) = made_up_storage(&mut numbers, rows, quantized);
    let norms = (numbers.below(2) == 0 && kind != 4).then(|| numbers.floats(words.len()));
    Parts {
        metadata: (numbers.below(2) == 0).then(|| "k = \"v\"\n".to_owned()),
        vocabulary,
        words: words.into_iter().map(String::into_bytes).collect(),
        ngrams,
        storage,
        floats,
        codes,
        norms,
    }
}

fn made_up_storage(
    numbers: &mut Numbers,
    rows: usize,
    quantized: bool,
) -> (StorageSpec, Vec<f32>, Vec<u8>) {
    if !quantized {
        let cols = usize::try_from(1 + numbers.below(20)).unwrap_or(1);
        let storage =
            StorageSpec::Array { rows: rows as u64, cols: u32::try_from(cols).unwrap_or(1) };
        return (storage, numbers.floats(rows * cols), vec![]);
    }
    let codes_per_row = usize::try_from(1 + numbers.below(9)).unwrap_or(1);
    let centroid_cols = usize::try_from(1 + numbers.below(4)).unwrap_or(1);
    let centroids = usize::try_from(1 + numbers.below(20)).unwrap_or(1);
    let cols = codes_per_row * centroid_cols;
    let (projection, norms) = (numbers.below(2) == 0, numbers.below(2) == 0);
    let floats = numbers.floats(
        if projection { cols * cols } else { 0 } + centroids * cols + if norms { rows } else { 0 },
    );
    let code = |numbers: &mut Numbers| u8::try_from(numbers.below(centroids as u64)).unwrap_or(0);
    let codes = (0..rows * codes_per_row).map(|_| code(numbers)).collect();
    let number = |number: usize| u32::try_from(number).unwrap_or(1);
    let storage = StorageSpec::Quantized {
        rows: rows as u64,
        cols: number(cols),
        codes_per_row: number(codes_per_row),
        centroids: number(centroids),
        projection,
        norms,
    };
    (storage, floats, codes)
}

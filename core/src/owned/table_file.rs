//! Static models in `.weights` files, with WordPiece and nothing else.

use alloc::vec::Vec;

use super::file_weights::without_names;
use super::tokenized::{MOST_TOKENS, Tokenized};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Mode;
use crate::format::embd::Embd;
use crate::kernel;
use crate::limit::{filled, push, reserved};
use crate::source::folder_tokenizer::TokenizingMemory;
use crate::source::stored::TokenPlaces;
use crate::source::{StaticModel, TableSource};
use crate::text::json::{Fault, Read};
use crate::token::vocabulary::{HashIndex, Plain};
use crate::token::{Entries, HashVocabulary, WordPiece};

/// A static model in a `.weights` file whose bytes `B` holds.
///
/// It gives the ids and vectors of [`Encoder`](super::Encoder) in a fraction of the code. It refuses
/// what needs the rest of that code: other tokenizers than BERT's, prompts, dense layers.
///
/// ```
/// use nanoembed_core::owned::TableFile;
///
/// # let path = "../ffi/tests/data/small_table.weights";
/// let file = std::fs::read(path)?;
/// let model = TableFile::open(&file).map_err(|fault| fault.error)?;
/// let ids = model.tokenize("How do I reset my password?", 512)?.ids;
/// let mut vector = vec![0.0; model.dimensions()];
/// model.embed(&ids, &[ids.len()], &mut vector)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableFile<B> {
    file: B,
    model: StaticModel,
    words: WordIndex,
}

/// The index over the tokens, which stay where they lie.
#[derive(Clone, Debug)]
struct WordIndex {
    tokens: TokenPlaces,
    samples: Vec<u32>,
    slots: Vec<u32>,
    hash: HashIndex,
    /// All of the tokenizer but the vocabulary.
    rules: WordPiece<()>,
}

impl<'f> TableFile<&'f [u8]> {
    /// The static model in a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] for models of other kinds; [`ErrorKind::UnsupportedSetting`] for a
    /// setting that is not done here; what is wrong with the file.
    pub fn open(file: &'f [u8]) -> Read<'f, Self> {
        let embd = Embd::parse(file, Mode::Lenient).map_err(Fault::from_error)?;
        if !TableSource::is_in(&embd) {
            return Err(Fault::from_error(Error::without_offset(ErrorKind::OtherModel)));
        }
        let source = TableSource::read(embd)?;
        source.check_prompts()?;
        let words = WordIndex::new(&source)?;
        Ok(Self { file, model: source.model()?, words })
    }
}

impl<B> TableFile<B> {
    /// The same model over another holder of the same bytes. With others, tokens are not found and
    /// vectors are those of other bytes, nothing worse.
    #[must_use]
    pub fn with_file<C>(self, file: C) -> TableFile<C> {
        let Self { file: _, model, words } = self;
        TableFile { file, model, words }
    }

    /// Elements of an embedding.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.model.table().dimensions()
    }

    /// How many tokens of a text the model was made for.
    #[must_use]
    pub fn usual_tokens(&self) -> usize {
        self.model.max_tokens().unwrap_or(self.positions())
    }

    /// The most tokens of a text that it can use: more than any has.
    #[must_use]
    pub const fn positions(&self) -> usize {
        MOST_TOKENS
    }
}

impl<B: AsRef<[u8]>> TableFile<B> {
    /// Those of the first `limit` tokens of `text` that count.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file has changed.
    pub fn tokenize(&self, text: &str, limit: usize) -> Result<Tokenized> {
        let tokenizer = self.words.tokenizer(self.file.as_ref())?;
        // As many as usual texts have.
        let mut ids = reserved(limit.min(text.len() / 4))?;
        let encoded = self.model.tokens(
            (&tokenizer, text, limit),
            TokenizingMemory::default(),
            &mut |id| push(&mut ids, id),
        )?;
        Ok(Tokenized { ids, total: encoded.total, truncated: encoded.truncated })
    }

    /// The embeddings of tokenised texts into `out`, [`dimensions`](Self::dimensions) elements each.
    ///
    /// # Errors
    ///
    /// As [`TokenTable::embed_texts`](crate::model::TokenTable::embed_texts).
    pub fn embed(&self, ids: &[u32], lengths: &[usize], out: &mut [f32]) -> Result<()> {
        let weights = without_names(self.file.as_ref());
        let mut row = filled(self.dimensions(), 0.0)?;
        let room = (&mut row[..], &mut [][..]);
        // Asked for here, so that the linker sees which of them are used.
        let kernels = kernel::detect();
        self.model.embed_texts(&weights, &kernels, (ids, lengths), room, out)
    }
}

impl WordIndex {
    fn new<'f>(source: &TableSource<'f>) -> Read<'f, Self> {
        let tokens = source.tokens();
        let TokenPlaces { offset, count, prefix } = tokens;
        let room = |elements| filled(elements, 0).map_err(Fault::from_error);
        let mut samples = room(Entries::samples_needed(count))?;
        let mut slots = room(HashVocabulary::<Entries<'_>>::slots_needed(count))?;
        let entries = Entries::sample(source.token_bytes(), offset, count, prefix, &mut samples);
        let vocabulary = HashVocabulary::build(entries.map_err(Fault::from_error)?, &mut slots);
        let vocabulary = vocabulary.map_err(Fault::from_error)?;
        let (hash, special) = (vocabulary.index(), source.special(&vocabulary)?);
        let tokenizer = WordPiece::new(vocabulary, special, source.normalization());
        let rules = tokenizer.map_err(Fault::from_error)?.with_vocabulary(());
        Ok(Self { tokens, samples, slots, hash, rules })
    }

    fn tokenizer<'a>(
        &'a self,
        file: &'a [u8],
    ) -> Result<WordPiece<Plain<HashVocabulary<'a, Entries<'a>>>>> {
        let TokenPlaces { offset, count, prefix } = self.tokens;
        let bytes = usize::try_from(offset).ok().and_then(|start| file.get(start..));
        let bytes = bytes.ok_or(Error::new(offset, ErrorKind::BadVocabulary))?;
        let entries = Entries::resume(bytes, offset, count, prefix, &self.samples);
        let vocabulary = HashVocabulary::resume(entries, &self.slots, self.hash);
        Ok(self.rules.with_vocabulary(Plain(vocabulary)))
    }
}

//! Texts to vectors by a static model in flash.

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::{DecoderOver, Embd, TensorRecord};
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::SliceWeights;
use nanoembed_core::source::folder_tokenizer::TokenizingMemory;
use nanoembed_core::source::stored::{StoredIds, StoredTokens};
use nanoembed_core::source::{StaticModel, TableSource};
use nanoembed_core::tensor::TensorHeader;
use nanoembed_core::token::{SortedVocabulary, WordPiece};
use nanoembed_core::{Error, ErrorKind};

/// Elements of the model's vectors: the size of static memory is known when the program is built.
pub const DIMENSIONS: usize = 48;
pub type Vector = [f32; DIMENSIONS];

/// More tensors than the file has, while it is opened.
const TENSORS: usize = 8;

type Bytes = &'static [u8];
type Tokenizer = WordPiece<SortedVocabulary<'static, StoredTokens<Bytes>, StoredIds<Bytes>>>;
type NoNames = fn(&str) -> Option<TensorHeader<'static>>;

pub struct Embedder {
    tokenizer: Tokenizer,
    model: StaticModel,
    weights: SliceWeights<'static, NoNames>,
    kernels: Kernels,
    row: Vector,
}

impl Embedder {
    /// The static model in a `.weights` file, which stays where it is.
    pub fn open(file: Bytes) -> Result<Self, Error> {
        let mut tensors = [TensorRecord::EMPTY; TENSORS];
        let embd = Embd::parse_with(DecoderOver::lent(Mode::Lenient, &mut tensors), file)?;
        let source = TableSource::read(embd).map_err(|fault| fault.error)?;
        let model = source.model().map_err(|fault| fault.error)?;
        let tokens = source.tokens();
        if model.table().dimensions() != DIMENSIONS {
            return Err(Error::new(0, ErrorKind::WrongShape));
        }
        let index = source.token_index();
        let index = index.ok_or(Error::new(tokens.offset, ErrorKind::IndexRequired))?;
        let strings = StoredTokens::new(file, tokens, index);
        let vocabulary = SortedVocabulary::new(strings, StoredIds::new(file, tokens.count, index))?;
        let special = source.special(&vocabulary).map_err(|fault| fault.error)?;
        let tokenizer = WordPiece::new(vocabulary, special, source.normalization())?;
        let weights = SliceWeights::new(file, (|_| None) as NoNames);
        Ok(Self { tokenizer, model, weights, kernels: kernel::detect(), row: [0.0; DIMENSIONS] })
    }

    /// The vector of a text.
    pub fn embed(&mut self, text: &str) -> Result<Vector, Error> {
        let mut vector = [0.0; DIMENSIONS];
        let limit = self.model.max_tokens().unwrap_or(usize::MAX);
        self.model.embed(
            (&self.tokenizer, text, limit),
            TokenizingMemory::default(),
            (&self.weights, &self.kernels),
            (&mut self.row, &mut []),
            &mut vector,
        )?;
        Ok(vector)
    }
}

/// The cosine of vectors of length 1.
pub fn cosine(a: &Vector, b: &Vector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

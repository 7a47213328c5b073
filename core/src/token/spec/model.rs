//! Models as files describe them.

use super::{JsonPlace, SpelledText};
use crate::leaf;
use crate::text::json::Value;

/// The model that makes ids of the pieces of a text.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    /// Its kind, with its settings.
    pub kind: ModelKind<'a>,
    /// Its tokens.
    pub vocabulary: VocabularySpec<'a>,
    /// Where it is spelled.
    pub place: JsonPlace<'a>,
}

/// A kind of model, with its settings.
#[derive(Clone, Copy, Debug)]
pub enum ModelKind<'a> {
    /// The longest token that a word begins with, then the longest of what is left.
    WordPiece(WordPieceSpec<'a>),
    /// Neighbours are merged, the pair of the lowest rank first.
    Bpe(BpeSpec<'a>),
    /// The likeliest segmentation.
    Unigram(UnigramSpec),
    /// Whole words; others are dropped.
    Words(Words<'a>),
}

/// Settings of WordPiece.
#[derive(Clone, Copy, Debug)]
pub struct WordPieceSpec<'a> {
    /// The token of words that cannot be spelled.
    pub unknown: SpelledText<'a>,
    /// The prefix of tokens within a word.
    pub prefix: SpelledText<'a>,
    /// Words of more characters are unknown.
    pub most_characters: u64,
}

/// Settings of BPE.
#[derive(Clone, Copy, Debug)]
pub struct BpeSpec<'a> {
    /// The token of characters without a token.
    pub unknown: Option<SpelledText<'a>>,
    /// The prefix of all characters of a piece but the first.
    pub prefix: SpelledText<'a>,
    /// The suffix of the last one.
    pub suffix: SpelledText<'a>,
    /// True if unknown characters in a row are one token.
    pub fuses_unknown: bool,
    /// True if a character without a token becomes the tokens of its bytes.
    pub byte_fallback: bool,
    /// True if a piece that is in the vocabulary is one token, whatever the merges make of it.
    pub ignores_merges: bool,
    /// The pairs that are merged.
    pub merges: MergesSpec<'a>,
}

/// Settings of Unigram.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnigramSpec {
    /// The id of the token of characters without a token.
    pub unknown: Option<u64>,
    /// True if characters without a token become the tokens of their bytes.
    pub byte_fallback: bool,
}

/// Settings of a model of whole words, as the `WhitespaceTokenizer` of sentence-transformers has
/// them.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// A list of JSON with the words that are dropped.
    pub stop_words: Value<'a>,
    /// True if texts are converted to lower case before their words are looked up.
    pub lowercases: bool,
    pub(crate) part: leaf::WordTables,
}

/// Where the tokens of a model are.
#[derive(Clone, Copy, Debug)]
pub enum VocabularySpec<'a> {
    /// Members of an object of JSON: tokens with their ids, in any order.
    Ids(Value<'a>),
    /// Items of a list of JSON: tokens with their scores, in the order of their ids.
    Scores(Value<'a>),
    /// Apart from the description.
    Apart {
        /// One more than the highest id.
        ids: u64,
        /// How many ids have a token, from which added tokens are numbered.
        count: u64,
    },
}

/// Where the pairs are that BPE merges.
#[derive(Clone, Copy, Debug)]
pub enum MergesSpec<'a> {
    /// Items of a list of JSON, in the order of their ranks: two tokens each, or a string of both
    /// with a space between them.
    Listed(Value<'a>),
    /// Apart from the description, so many.
    Apart(u64),
}

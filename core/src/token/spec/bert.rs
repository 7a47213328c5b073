//! The tokenizer of BERT and its relatives.

use super::{
    AddedTokenSpecs, Decoder, JsonPlace, Model, ModelKind, Normalizer, PostProcessor, PreTokenizer,
    SpecialToken, SpelledText, Steps, TokenizerSpec, VocabularySpec, WordPieceSpec,
};
use crate::token::MAX_WORD_CHARACTERS;

/// The prefix of tokens within a word.
const PREFIX: SpelledText<'static> = SpelledText::plain("##");

/// The settings in which BERT's tokenizers differ.
#[derive(Clone, Copy, Debug)]
pub struct BertSpec<'a> {
    /// The tokens that are found in texts as they are.
    pub added: AddedTokenSpecs<'a>,
    /// Spaces are put around ideographs.
    pub splits_ideographs: bool,
    /// Accents are stripped; as `lowercases` if it is not said.
    pub strips_accents: Option<bool>,
    /// Letters become lower case.
    pub lowercases: bool,
    /// The token before texts.
    pub begin: SpecialToken<'a>,
    /// The token after each text.
    pub end: SpecialToken<'a>,
    /// The token of words that cannot be spelled.
    pub unknown: SpelledText<'a>,
    /// How many tokens there are, which are apart from the description.
    pub tokens: usize,
}

impl<'a> From<BertSpec<'a>> for TokenizerSpec<'a> {
    fn from(bert: BertSpec<'a>) -> Self {
        let BertSpec { splits_ideographs, strips_accents, lowercases, begin, end, .. } = bert;
        let tokens = bert.tokens as u64;
        let normalizer =
            Normalizer::Bert { cleans_text: true, splits_ideographs, strips_accents, lowercases };
        Self {
            added: bert.added,
            normalizer: steps(&[normalizer]),
            pre_tokenizer: steps(&[PreTokenizer::Bert]),
            model: Model {
                kind: ModelKind::WordPiece(WordPieceSpec {
                    unknown: bert.unknown,
                    prefix: PREFIX,
                    most_characters: MAX_WORD_CHARACTERS as u64,
                }),
                vocabulary: VocabularySpec::Apart { ids: tokens, count: tokens },
                place: JsonPlace::NONE,
            },
            post_processor: PostProcessor::around(Some(begin), Some(end), true),
            decoder: Some(steps(&[Decoder::WordPiece { prefix: PREFIX, cleans: true }])),
            truncation: None,
            place: JsonPlace::NONE,
        }
    }
}

/// Steps that no file spells, of which there are no more than [`MOST_STEPS`](super::MOST_STEPS).
pub fn steps<'a, S: Copy>(all: &[S]) -> Steps<'a, S> {
    let mut steps = Steps::new();
    for step in all {
        let _ = steps.push((*step).into());
    }
    steps
}

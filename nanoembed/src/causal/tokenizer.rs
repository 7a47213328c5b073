//! A decoder's tokenizer, on its way into a file and out of a folder of Hugging Face.

use std::collections::BTreeMap;
use std::path::Path;

use nanoembed_core::Error as CoreError;
use nanoembed_core::format::amb::{Payload, TokenizerSpec};
pub use nanoembed_core::owned::{Continuation, Tokenizer};
use nanoembed_core::owned::{SentencePieceModel, Spelling};
use nanoembed_core::token::sentencepiece::Spec;
use nanoembed_core::token::{TextEnds, bpe};
use serde_json::json;

use super::model_proto;

/// What a folder of Hugging Face says beside the model.
pub struct AddedTokens {
    /// Added tokens, which a text spells literally, by id.
    pub tokens: BTreeMap<u32, String>,
    pub begin: Option<u32>,
    /// Where none ends a text, the model's own does.
    pub ends: TextEnds,
}

/// From a serialized SentencePiece model and the tokens that a folder of Hugging Face adds to it.
pub fn of_hugging_face(
    model: Vec<u8>,
    added: AddedTokens,
) -> Result<Tokenizer<'static>, CoreError> {
    let pieces_before = Spec::read(&model, 0)?.pieces();
    let model = model_proto::with_added(model, pieces_before, &added.tokens)?;
    let model = SentencePieceModel::open(model, 0)?;
    let begin = added.begin.or(model.tokenizer().begin());
    let mut ends = added.ends;
    if let Some(end) = model.tokenizer().end().filter(|_| ends.end.first().is_none()) {
        ends.end.push(end)?;
    }
    Tokenizer::from_pieces(model, added.tokens.into_keys().collect(), begin, ends)
}

/// What files that are written say of a tokenizer.
pub trait Written {
    /// What the model calls the beginning of a text, and the usual token that ends one.
    fn begin_and_end(&self) -> [Option<u32>; 2];

    /// How byte-level BPE cuts texts into words, and whether it takes whole words before merges;
    /// `None` for SentencePiece.
    fn pattern(&self) -> Option<(bpe::Pattern, bool)>;

    /// The serialized model, if it is one of SentencePiece.
    fn model(&self) -> Option<&[u8]>;

    /// The members of an AMB configuration that say how texts become ids.
    fn config(&self) -> serde_json::Map<String, serde_json::Value>;

    /// Merges and tokens as [`spec`](Self::spec) borrows them.
    fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>);

    /// How an `.amb` file has it.
    fn spec<'a>(
        &'a self,
        merges: &'a [(&'a str, &'a str)],
        tokens: &'a [&'a [u8]],
    ) -> TokenizerSpec<'a>;
}

impl Written for Tokenizer<'_> {
    fn begin_and_end(&self) -> [Option<u32>; 2] {
        [self.begin(), self.ends().end.first()]
    }

    fn pattern(&self) -> Option<(bpe::Pattern, bool)> {
        match self.spelling() {
            Spelling::BytePairs(pairs) => Some((pairs.pattern(), pairs.ignores_merges())),
            _ => None,
        }
    }

    fn model(&self) -> Option<&[u8]> {
        match self.spelling() {
            Spelling::SentencePiece(model, _) => Some(model.model()),
            _ => None,
        }
    }

    fn config(&self) -> serde_json::Map<String, serde_json::Value> {
        let ends = self.ends();
        let mut config = serde_json::Map::new();
        if let Spelling::BytePairs(pairs) = self.spelling() {
            config.insert("pre_tokenizer".into(), pairs.pattern().name().into());
            config.insert("ignore_merges".into(), pairs.ignores_merges().into());
            if pairs.composes() {
                config.insert("normalizer".into(), "nfc".into());
            }
        }
        config.insert("added_tokens".into(), json!(self.added()));
        config.insert("add_bos".into(), ends.begin.is_some().into());
        if ends.append.is_some() {
            config.insert("add_eos".into(), true.into());
        }
        if ends.end.ids().len() > 1 {
            config.insert("end_tokens".into(), json!(ends.end.ids()));
        }
        config
    }

    fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>) {
        match self.spelling() {
            Spelling::BytePairs(pairs) => pairs.borrowed(),
            _ => (Vec::new(), Vec::new()),
        }
    }

    fn spec<'a>(
        &'a self,
        merges: &'a [(&'a str, &'a str)],
        tokens: &'a [&'a [u8]],
    ) -> TokenizerSpec<'a> {
        let [begin, end] = self.begin_and_end();
        match self.spelling() {
            Spelling::SentencePiece(model, _) => {
                let tokenizer = model.tokenizer();
                let (padding, unknown) = (tokenizer.padding(), tokenizer.unknown());
                TokenizerSpec {
                    special: [begin, end, padding, unknown, None],
                    payload: Payload::SentencePiece(model.model()),
                }
            }
            _ => TokenizerSpec {
                special: [begin, end, None, None, None],
                payload: Payload::Bpe { merges, tokens },
            },
        }
    }
}

/// Whether a file is called like a SentencePiece model.
pub fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "model")
}

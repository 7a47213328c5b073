//! The description of a tokenizer, as plain data: that of a `tokenizer.json`, of a GGUF's keys or of a
//! `vocab.txt`, in the words of Hugging Face `tokenizers`. Nothing here allocates.
//!
//! | part | contents |
//! |---|---|
//! | [`AddedTokenSpecs`] | tokens that are taken out of a text before anything else happens to it |
//! | [`Normalizer`] | a step that makes another text of a text |
//! | [`PreTokenizer`] | a step that cuts a text into pieces |
//! | [`Model`] | the model that makes ids of each piece, and its vocabulary |
//! | [`PostProcessor`] | the tokens around one text, and around and between two |
//! | [`Decoder`] | a step that makes text of tokens |
//!
//! Texts are [`SpelledText`]s: borrowed from where they are spelled. A [`JsonPlace`] says where that is, for
//! the errors of those who cannot do what is described.

mod added;
mod bert;
mod id_template;
mod model;
mod place;
mod post_processor;
mod run;
mod shapes;
mod spelling;
mod steps;

pub use added::{AddedTokenSpec, AddedTokenSpecs, ReadAdded};
pub use bert::{BertSpec, steps};
pub use id_template::{IdItem, IdPart, IdTemplate};
pub use model::{
    BpeSpec, MergesSpec, Model, ModelKind, UnigramSpec, VocabularySpec, WordPieceSpec, Words,
};
pub use place::JsonPlace;
pub use post_processor::{
    MOST_ITEMS, MOST_SPECIAL, PostProcessor, SpecialToken, Template, TemplateItem, TemplatePart,
};
pub use run::{CharacterRun, RunOf};
pub use spelling::SpelledText;
pub use steps::{
    Behavior, Decoder, DecoderOf, Form, MOST_STEPS, Metaspace, Normalizer, Pattern, PatternOf,
    PreTokenizer, PreTokenizerOf, Prepends, Replace, ReplaceOf, Rules, SpelledStep, SplitAt,
    SplitAtOf, Steps,
};

/// The member of a `tokenizer.json` with the steps that cut texts.
pub const PRE_TOKENIZER: &str = crate::token::bpe::Pattern::KEY;

/// The description of a tokenizer.
#[derive(Clone, Debug)]
pub struct TokenizerSpec<'a> {
    /// The tokens that were added to the vocabulary.
    pub added: AddedTokenSpecs<'a>,
    /// The steps before a text is cut.
    pub normalizer: Steps<'a, Normalizer<'a>>,
    /// How a text is cut into pieces.
    pub pre_tokenizer: Steps<'a, PreTokenizer<'a>>,
    /// The model that makes ids of the pieces.
    pub model: Model<'a>,
    /// The tokens around texts.
    pub post_processor: PostProcessor<'a>,
    /// How tokens become text; without it there are spaces between them.
    pub decoder: Option<Steps<'a, Decoder<'a>>>,
    /// How many tokens texts are cut to, on the right. Most programs say themselves how many they
    /// want.
    pub truncation: Option<u64>,
    /// The whole description.
    pub place: JsonPlace<'a>,
}

impl Default for TokenizerSpec<'_> {
    /// A tokenizer without steps and tokens.
    fn default() -> Self {
        Self {
            added: AddedTokenSpecs::Listed(&[]),
            normalizer: Steps::new(),
            pre_tokenizer: Steps::new(),
            model: Model {
                kind: ModelKind::Unigram(UnigramSpec { unknown: None, byte_fallback: false }),
                vocabulary: VocabularySpec::Apart { ids: 0, count: 0 },
                place: JsonPlace::NONE,
            },
            post_processor: PostProcessor::default(),
            decoder: None,
            truncation: None,
            place: JsonPlace::NONE,
        }
    }
}

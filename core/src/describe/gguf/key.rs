//! The keys of GGUF files, in one table: the treatment of each in decoders, in encoders, and in
//! BERT with WordPiece.

use super::value::{number, text};
use crate::event::Value;

/// The treatment of a key.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Read, and possibly rejected, by other code. In encoders it is rejected if it is never read
    /// and not off.
    Used,
    /// A number that is read.
    Number,
    /// A text that is read.
    Word,
    /// A truth value that is read.
    Truth,
    /// The id of a token, which is read.
    Id,
    /// No effect if it is not read.
    Irrelevant,
    /// Not supported; 0, `false` and an empty list mean off.
    Off,
    /// Not supported; 1 and 0 mean off.
    One,
    /// Only some values are supported: a predicate, and the reason for rejecting others.
    Only(fn(Value<'_>) -> bool, &'static str),
    /// No such model has it.
    Unknown,
}

use Rule::{Id, Irrelevant, Number, Off, One, Only, Truth, Unknown, Used, Word};

/// A row of the table.
pub(super) struct Row {
    key: Key,
    /// The whole name, or the part after the name of the architecture and a dot.
    name: &'static str,
    pub(super) decoders: Rule,
    pub(super) encoders: Rule,
    /// BERT with WordPiece.
    pub(super) bert: Rule,
}

macro_rules! keys {
    ($($key:ident $name:literal $decoders:expr, $encoders:expr, $bert:expr;)*) => {
        /// A known key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Key {
            $(#[doc = concat!("`", $name, "`")] $key,)*
        }

        static ROWS: &[Row] = &[$(Row {
            key: Key::$key,
            name: $name,
            decoders: $decoders,
            encoders: $encoders,
            bert: $bert,
        },)*];

        /// The number of keys.
        pub(super) const KEYS: usize = [$(Key::$key),*].len();
    };
}

// BERT's column has no details of used keys: their values are checked where they are read.
keys! {
    // Of the file as a whole.
    Architecture "general.architecture" Used, Used, Used;
    Type "general.type" Irrelevant, Irrelevant, Irrelevant;
    Name "general.name" Irrelevant, Irrelevant, Irrelevant;
    License "general.license" Irrelevant, Irrelevant, Irrelevant;

    // Of the model, after the name of the architecture and a dot.
    BlockCount "block_count" Number, Used, Used;
    ContextLength "context_length" Number, Used, Used;
    EmbeddingLength "embedding_length" Number, Used, Used;
    PerLayerLength "embedding_length_per_layer_input" Unknown, Used, Unknown;
    OutputLength "embedding_length_out" Unknown, Used, Unknown;
    FeedForwardLength "feed_forward_length" Number, Used, Used;
    VocabularySize "vocab_size" Number, Irrelevant, Irrelevant;
    HeadCount "attention.head_count" Number, Used, Used;
    HeadCountKv "attention.head_count_kv" Number, Used, Used;
    KeyLength "attention.key_length" Number, Used, Unknown;
    ValueLength "attention.value_length" Number, Used, Unknown;
    LocalKeyLength "attention.key_length_swa" Unknown, Used, Unknown;
    LocalValueLength "attention.value_length_swa" Unknown, Used, Unknown;
    // If not read, it belongs to the other kind of norm.
    LayerNormEpsilon "attention.layer_norm_epsilon" Irrelevant, Irrelevant, Used;
    RmsNormEpsilon "attention.layer_norm_rms_epsilon" Number, Irrelevant, Unknown;
    AttentionScale "attention.scale" Number, Used, Unknown;
    Causal "attention.causal" Only(is_true, "only causal attention is honoured"), Used,
        Only(is_false, "");
    RelativeBuckets "attention.relative_buckets_count" Unknown, Used, Unknown;
    SlidingWindow "attention.sliding_window" Number, Used, Unknown;
    // If it is not read, texts are limited to the window.
    SlidingWindowPattern "attention.sliding_window_pattern" Used, Used, Unknown;
    HiddenActivation "hidden_activation" Used, Used, Unknown;
    PoolingType "pooling_type" Number, Used, Only(is_bert_pooling, "");
    RopeDimensions "rope.dimension_count" Number, Used, Unknown;
    LocalRopeDimensions "rope.dimension_count_swa" Unknown, Used, Unknown;
    RopeBase "rope.freq_base" Number, Used, Unknown;
    RopeLocalBase "rope.freq_base_swa" Number, Used, Unknown;
    RopeScale "rope.scale_linear" Number, Used, Unknown;
    RopeScalingType "rope.scaling.type" Word, Used, Unknown;
    RopeScalingFactor "rope.scaling.factor" Number, Used, Unknown;
    RopeOriginalLength "rope.scaling.original_context_length" Number, Irrelevant, Unknown;
    RopeAttentionFactor "rope.scaling.attn_factor" Number, Used, Unknown;
    YarnAttentionFactor "rope.scaling.yarn_attn_factor" Number, Used, Unknown;
    YarnExtrapolation "rope.scaling.yarn_ext_factor" One, Used, Unknown;
    YarnBetaFast "rope.scaling.yarn_beta_fast" Number, Used, Unknown;
    YarnBetaSlow "rope.scaling.yarn_beta_slow" Number, Used, Unknown;
    YarnLogMultiplier "rope.scaling.yarn_log_multiplier" Off, Used, Unknown;
    RopeFinetuned "rope.scaling.finetuned" Irrelevant, Irrelevant, Unknown;
    ClassifierLabels "classifier.output_labels" Irrelevant, Irrelevant, Irrelevant;
    ClassifierPooling "classifier.pooling_type" Unknown, Irrelevant, Unknown;
    Dense2Inputs "dense_2_feat_in" Unknown, Used, Unknown;
    Dense2Outputs "dense_2_feat_out" Unknown, Used, Unknown;
    Dense3Inputs "dense_3_feat_in" Unknown, Used, Unknown;
    Dense3Outputs "dense_3_feat_out" Unknown, Used, Unknown;
    ClampKqv "attention.clamp_kqv" Off, Used, Unknown;
    AlibiBias "attention.max_alibi_bias" Off, Used, Unknown;
    AttentionSoftcapping "attn_logit_softcapping" Off, Used, Unknown;
    FinalSoftcapping "final_logit_softcapping" Off, Used, Unknown;
    Experts "expert_count" Off, Used, Unknown;
    ExpertsUsed "expert_used_count" Off, Used, Unknown;
    ExpertsShared "expert_shared_count" Off, Used, Unknown;
    ExpertsEvery "moe_every_n_layers" Off, Used, Unknown;
    PredictLayers "nextn_predict_layers" Off, Used, Unknown;
    ParallelResidual "use_parallel_residual" Off, Used, Unknown;
    LogitScale "logit_scale" One, Used, Unknown;
    EmbeddingScale "embedding_scale" One, Used, Unknown;
    ResidualScale "residual_scale" One, Used, Unknown;
    DataLayout "tensor_data_layout" Only(is_pth, "only `Meta AI original pth` is honoured"), Used,
        Unknown;

    // Of the tokenizer. In BERT's column, `pre` refers to byte pairs, and WordPiece ignores spaces.
    TokenizerModel "tokenizer.ggml.model" Word, Used, Only(is_word_piece, "");
    TokenizerPre "tokenizer.ggml.pre" Word, Used, Irrelevant;
    Tokens "tokenizer.ggml.tokens" Used, Used, Used;
    TokenTypes "tokenizer.ggml.token_type" Used, Used, Used;
    Merges "tokenizer.ggml.merges" Used, Used, Irrelevant;
    Scores "tokenizer.ggml.scores" Used, Used, Irrelevant;
    BeginId "tokenizer.ggml.bos_token_id" Id, Used, Used;
    EndId "tokenizer.ggml.eos_token_id" Id, Used, Used;
    EndOfTurnId "tokenizer.ggml.eot_token_id" Id, Irrelevant, Irrelevant;
    EndOfMessageId "tokenizer.ggml.eom_token_id" Id, Irrelevant, Irrelevant;
    // Of the fill-in-the-middle tokens, three end texts in llama.cpp.
    FimPadId "tokenizer.ggml.fim_pad_token_id" Id, Used, Unknown;
    FimRepositoryId "tokenizer.ggml.fim_rep_token_id" Id, Used, Unknown;
    FimSeparatorId "tokenizer.ggml.fim_sep_token_id" Id, Used, Unknown;
    AddsBegin "tokenizer.ggml.add_bos_token" Truth, Used, Only(is_true_value, "");
    AddsEnd "tokenizer.ggml.add_eos_token" Truth, Used, Only(is_true_value, "");
    AddsSeparator "tokenizer.ggml.add_sep_token" Off, Irrelevant, Only(is_true_value, "");
    AddsSpace "tokenizer.ggml.add_space_prefix" Truth, Used, Irrelevant;
    RemovesSpaces "tokenizer.ggml.remove_extra_whitespaces" Truth, Used, Irrelevant;
    PaddingId "tokenizer.ggml.padding_token_id" Id, Used, Used;
    UnknownId "tokenizer.ggml.unknown_token_id" Irrelevant, Used, Used;
    // GGUF spells the separator's key with one `a` too few.
    SeparatorId "tokenizer.ggml.seperator_token_id" Irrelevant, Used, Used;
    SeparatorIdAsSpelled "tokenizer.ggml.separator_token_id" Irrelevant, Used, Unknown;
    MaskId "tokenizer.ggml.mask_token_id" Irrelevant, Used, Used;
    ClassifyId "tokenizer.ggml.cls_token_id" Irrelevant, Used, Used;
    PrefixId "tokenizer.ggml.prefix_token_id" Irrelevant, Used, Unknown;
    SuffixId "tokenizer.ggml.suffix_token_id" Irrelevant, Used, Unknown;
    MiddleId "tokenizer.ggml.middle_token_id" Irrelevant, Used, Unknown;
    FimPrefixId "tokenizer.ggml.fim_pre_token_id" Irrelevant, Used, Unknown;
    FimSuffixId "tokenizer.ggml.fim_suf_token_id" Irrelevant, Used, Unknown;
    FimMiddleId "tokenizer.ggml.fim_mid_token_id" Irrelevant, Used, Unknown;
    TokenTypeCount "tokenizer.ggml.token_type_count" Irrelevant, Irrelevant, Irrelevant;
    AddedTokens "tokenizer.ggml.added_tokens" Irrelevant, Irrelevant, Unknown;
    ChatTemplate "tokenizer.ggml.chat_template" Irrelevant, Irrelevant, Unknown;
    // Only models that compare texts by it read it.
    RerankTemplate "tokenizer.chat_template.rerank" Irrelevant, Irrelevant, Irrelevant;
    Charsmap "tokenizer.ggml.precompiled_charsmap" Off, Used, Unknown;
    SuppressedTokens "tokenizer.ggml.suppress_tokens" Off, Used, Unknown;
    LowerCase "tokenizer.ggml.normalizer.lowercase" Off, Used, Used;
    StripAccents "tokenizer.ggml.normalizer.strip_accents" Off, Used, Used;

    // This project's own keys, which decoders do not have.
    OwnNormalize "nanoembed.normalize" Unknown, Used, Used;
    OwnMaxTokens "nanoembed.max_tokens" Unknown, Used, Used;
    OwnIncludePrompt "nanoembed.include_prompt" Unknown, Used, Only(is_text_or_truth, "");
    OwnActivation "nanoembed.hidden_act" Unknown, Used, Only(is_gelu, "");
    OwnTokenizer "nanoembed.tokenizer" Unknown, Used, Unknown;
    OwnSplitIdeographs "nanoembed.split_ideographs" Unknown, Used, Used;
    OwnStripAccents "nanoembed.strip_accents" Unknown, Used, Used;
    OwnDimensions "nanoembed.embedding_dim" Unknown, Used, Used;
    OwnAddedTokens "nanoembed.wordpiece_added_tokens" Unknown, Used, Only(is_text, "");
    OwnDefaultPrompt "nanoembed.default_prompt_name" Unknown, Irrelevant, Only(is_text, "");
    OwnSimilarity "nanoembed.similarity_fn_name" Unknown, Irrelevant, Only(is_text, "");
}

/// The prefix of tokenizer keys.
const TOKENIZER: &str = "tokenizer.ggml.";
/// The prefix of this project's own keys.
pub(super) const OWN: &str = "nanoembed.";
/// The prefix of prompts' names.
pub(super) const PROMPTS: &str = "nanoembed.prompt.";
/// The prefix of a converted file's further metadata, for information only.
pub(super) const FURTHER: &str = "nanoembed.metadata.";
/// Copies of other keys, for other programs, and chat templates.
const COPIES: [&str; 2] = ["tokenizer.huggingface.json", "tokenizer.chat_template"];

/// The kind of a key in a file.
pub(super) enum Found {
    Known(Key),
    /// A key of the model, its tokenizer or this project that is not in the table.
    Unknown,
    /// A key that does not concern the model.
    Foreign,
}

impl Key {
    /// The whole key, or the part after the name of the architecture and a dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns true if the key is about the tokenizer.
    pub(super) fn is_of_tokenizer(self) -> bool {
        self == Self::OwnTokenizer || self.name().starts_with(TOKENIZER)
    }

    /// Returns true if the key follows the name of the architecture and a dot.
    #[must_use]
    pub fn is_of_model(self) -> bool {
        is_of_model(self.name())
    }

    pub(super) fn row(self) -> &'static Row {
        static NONE: Row = Row {
            key: Key::Architecture,
            name: "",
            decoders: Unknown,
            encoders: Unknown,
            bert: Unknown,
        };
        ROWS.get(self as usize).unwrap_or(&NONE)
    }

    /// Every key.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.key)
    }

    /// The key with this spelling in a file of this architecture.
    #[inline(never)] // there once
    pub(super) fn find(spelled: &str, architecture: &str) -> Found {
        let own = spelled.strip_prefix(architecture).and_then(|key| key.strip_prefix('.'));
        let name = own.unwrap_or(spelled);
        let is_known = |row: &&Row| row.name == name && is_of_model(name) == own.is_some();
        match ROWS.iter().find(is_known) {
            Some(row) if !name.starts_with("general.") => Found::Known(row.key),
            Some(_) => Found::Foreign,
            None if own.is_some() => Found::Unknown,
            None if [PROMPTS, FURTHER].iter().any(|it| spelled.starts_with(it)) => Found::Foreign,
            None if COPIES.iter().any(|it| spelled.starts_with(it)) => Found::Foreign,
            None if ["tokenizer.", OWN].iter().any(|it| spelled.starts_with(it)) => Found::Unknown,
            None => Found::Foreign,
        }
    }

    /// Returns true for keys that concern decoders.
    pub(super) fn is_of_decoders(spelled: &str, architecture: &str) -> bool {
        let own = spelled.strip_prefix(architecture).is_some_and(|key| key.starts_with('.'));
        own || spelled.starts_with(TOKENIZER)
    }
}

fn is_of_model(name: &str) -> bool {
    !["general.", "tokenizer.", OWN].iter().any(|prefix| name.starts_with(prefix))
}

fn is_true(value: Value<'_>) -> bool {
    is_true_value(value) || value == Value::Text("true")
}

fn is_true_value(value: Value<'_>) -> bool {
    value == Value::Bool(true)
}

fn is_false(value: Value<'_>) -> bool {
    value == Value::Bool(false)
}

const fn is_bert_pooling(value: Value<'_>) -> bool {
    matches!(value, Value::Unsigned(0..=2))
}

fn is_pth(value: Value<'_>) -> bool {
    value == Value::Text("Meta AI original pth")
}

fn is_word_piece(value: Value<'_>) -> bool {
    value == Value::Text("bert")
}

fn is_gelu(value: Value<'_>) -> bool {
    value == Value::Text("gelu")
}

const fn is_text(value: Value<'_>) -> bool {
    text(value).is_some()
}

const fn is_text_or_truth(value: Value<'_>) -> bool {
    matches!(value, Value::Text(_) | Value::Bool(_))
}

impl Rule {
    /// The reason for rejecting a value, if the rule determines it, as in decoders.
    pub(super) fn fault(self, value: Value<'_>) -> Option<&'static str> {
        use super::value::{is_off, unsigned};
        const NOT_DONE: &str = "nothing is done with it here";
        let (is_fine, reason) = match self {
            Number if matches!(value, Value::Array { .. }) => {
                (false, "one value for all layers is honoured, not a list")
            }
            Number => (number(value).is_some(), "it is no number"),
            Word => (text(value).is_some(), "it is no text"),
            Truth => (matches!(value, Value::Bool(_)), "it is neither true nor false"),
            Id => (unsigned(value).is_some(), "it is no id of a token"),
            Off => (is_off(value), NOT_DONE),
            One => (is_off(value) || number(value) == Some(1.0), NOT_DONE),
            Only(is_done, reason) => (is_done(value), reason),
            Unknown => (false, UNKNOWN),
            Used | Irrelevant => (true, ""),
        };
        (!is_fine).then_some(reason)
    }
}

/// The reason for rejecting unknown keys.
pub(super) const UNKNOWN: &str = "it is not known here, so what it changes would be lost";

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_is_one_row_under_one_name() {
        assert_eq!(ROWS.len(), KEYS);
        let names: BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), KEYS);
        for key in Key::all() {
            assert_eq!(key.row().key, key);
        }
    }

    #[test]
    fn keys_are_found_where_they_belong() {
        let found = |spelled| match Key::find(spelled, "bert") {
            Found::Known(key) => key.name(),
            Found::Unknown => "unknown",
            Found::Foreign => "foreign",
        };
        for (spelled, expected) in [
            ("bert.block_count", "block_count"),
            ("bert.foo", "unknown"),
            ("bert.tokenizer.ggml.model", "unknown"),
            ("bert.nanoembed.normalize", "unknown"),
            ("llama.block_count", "foreign"),
            ("block_count", "foreign"),
            ("tokenizer.ggml.model", "tokenizer.ggml.model"),
            ("tokenizer.ggml.foo", "unknown"),
            ("tokenizer.foo", "unknown"),
            ("tokenizer.huggingface.json", "foreign"),
            ("tokenizer.chat_template.tools", "foreign"),
            ("nanoembed.normalize", "nanoembed.normalize"),
            ("nanoembed.foo", "unknown"),
            ("nanoembed.prompt.query", "foreign"),
            ("nanoembed.metadata.author", "foreign"),
            ("general.architecture", "foreign"),
            ("general.foo", "foreign"),
        ] {
            assert_eq!(found(spelled), expected, "{spelled}");
        }
    }
}

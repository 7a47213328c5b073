//! The architectures of GGUF files: their names in llama.cpp, and the corresponding Hugging Face
//! models.

use crate::model::{Config, DecoderFamily, FamilyBiases, FeedForward};

/// A known architecture, supported or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "these are names")]
pub enum GgufArchitecture {
    Bert,
    EuroBert,
    GemmaEmbedding,
    GemmaEmbedding2,
    JinaBertV2,
    JinaBertV3,
    ModernBert,
    NomicBert,
    NomicBertMoe,
    T5Encoder,
    Qwen3,
    Gemma3,
    Llama,
    Mistral,
    Phi3,
    Qwen2,
    NeoBert,
}

use GgufArchitecture as A;

/// The models of an architecture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Models {
    /// Encoders.
    Encoders,
    /// Encoders that are not supported.
    OtherEncoders,
    /// Decoders.
    Decoders,
    /// Decoders, or encoders if their file states how states are pooled.
    Both,
}

use Models::{Both, Decoders, Encoders, OtherEncoders};

/// A row of the table.
struct Row {
    architecture: GgufArchitecture,
    name: &'static str,
    models: Models,
    /// The `model_type`s of encoders with this architecture.
    encoders: &'static [&'static str],
    /// The `model_type`s of decoders with this architecture.
    decoders: &'static [&'static str],
}

const fn row(
    architecture: GgufArchitecture,
    name: &'static str,
    models: Models,
    encoders: &'static [&'static str],
    decoders: &'static [&'static str],
) -> Row {
    Row { architecture, name, models, encoders, decoders }
}

/// Model types with the same settings as BERT.
const LIKE_BERT: &[&str] = &["bert", "camembert", "distilbert", "roberta", "xlm-roberta"];

/// EmbeddingGemma 2 alone, and with towers for other kinds of input.
const GEMMA_2: &[&str] = &["embedding_gemma2_text", "embedding_gemma2"];

const ROWS: &[Row] = &[
    row(A::Bert, "bert", Encoders, LIKE_BERT, &[]),
    row(A::EuroBert, "eurobert", Encoders, &["eurobert"], &[]),
    row(A::GemmaEmbedding, "gemma-embedding", Encoders, &["gemma3_text"], &[]),
    row(A::GemmaEmbedding2, "gemma-embedding2", Encoders, GEMMA_2, &[]),
    row(A::JinaBertV2, "jina-bert-v2", Encoders, &["jina_bert"], &[]),
    row(A::JinaBertV3, "jina-bert-v3", Encoders, &["jina_embeddings_v3"], &[]),
    row(A::ModernBert, "modern-bert", Encoders, &["modernbert"], &[]),
    row(A::NomicBert, "nomic-bert", Encoders, &["nomic_bert"], &[]),
    row(A::NomicBertMoe, "nomic-bert-moe", Encoders, &["nomic_bert"], &[]),
    row(A::T5Encoder, "t5encoder", Encoders, &["t5"], &[]),
    row(A::Qwen3, "qwen3", Both, &["qwen3"], &["qwen3"]),
    row(A::Gemma3, "gemma3", Decoders, &[], &["gemma3_text"]),
    row(A::Llama, "llama", Decoders, &[], &["llama", "mistral"]),
    row(A::Mistral, "mistral", Decoders, &[], &[]),
    row(A::Phi3, "phi3", Decoders, &[], &[]),
    row(A::Qwen2, "qwen2", Decoders, &[], &["qwen2"]),
    row(A::NeoBert, "neo-bert", OtherEncoders, &[], &[]),
];

impl GgufArchitecture {
    /// The architecture with this `general.architecture`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.architecture)
    }

    /// The architecture for encoders with these settings, of this `model_type`.
    #[must_use]
    pub fn from_encoder(model_type: &str, config: &Config) -> Option<Self> {
        match Self::from_encoder_type(model_type)? {
            A::NomicBert if matches!(config.feed_forward, FeedForward::Mixed(_)) => {
                Some(A::NomicBertMoe)
            }
            found => Some(found),
        }
    }

    /// The architecture for encoders of this `model_type`, the first of several.
    #[must_use]
    pub fn from_encoder_type(model_type: &str) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.encoders.contains(&model_type));
        row.map(|row| row.architecture)
    }

    /// The architecture for decoders of this `model_type`.
    #[must_use]
    pub fn from_decoder_type(model_type: &str) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.decoders.contains(&model_type));
        row.map(|row| row.architecture)
    }

    /// The names of all supported architectures.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROWS.iter().filter(|row| row.models != OtherEncoders).map(|row| row.name)
    }

    /// The name, which is the prefix of a model's keys.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.architecture == self).map_or("", |row| row.name)
    }

    fn models(self) -> Option<Models> {
        ROWS.iter().find(|row| row.architecture == self).map(|row| row.models)
    }

    /// Returns true for supported decoders.
    #[must_use]
    pub fn is_decoder(self) -> bool {
        matches!(self.models(), Some(Decoders | Both))
    }

    /// Returns true for supported encoders, except for decoders that may be encoders.
    #[must_use]
    pub(super) fn is_encoder(self) -> bool {
        self.models() == Some(Encoders)
    }

    /// Returns true for unsupported encoders.
    #[must_use]
    pub(super) fn is_other_encoder(self) -> bool {
        self.models() == Some(OtherEncoders)
    }

    /// Returns true if decoders of this architecture are encoders if their file states how states
    /// are pooled.
    #[must_use]
    pub fn may_embed(self) -> bool {
        self.models() == Some(Both)
    }

    /// Returns true if decoders of this architecture can be converted from and to other formats.
    #[must_use]
    pub fn is_written(self) -> bool {
        ROWS.iter().any(|row| row.architecture == self && !row.decoders.is_empty())
    }

    /// The family of its decoders.
    #[must_use]
    pub const fn decoder_family(self) -> Option<DecoderFamily> {
        Some(match self {
            A::Llama => DecoderFamily::Llama,
            A::Mistral => DecoderFamily::Mistral,
            A::Phi3 => DecoderFamily::Phi3,
            A::Qwen2 => DecoderFamily::Qwen2,
            A::Qwen3 => DecoderFamily::Qwen3,
            A::Gemma3 => DecoderFamily::Gemma3,
            _ => return None,
        })
    }

    /// Returns true if all models of the architecture have a token before and after texts, even if
    /// no key states it, since in transformers they do.
    #[must_use]
    pub(crate) const fn frames_texts(self) -> bool {
        matches!(self, A::Bert | A::JinaBertV2 | A::JinaBertV3 | A::ModernBert)
    }

    /// The tensors of an encoder that may have biases.
    #[must_use]
    pub const fn biases(self) -> FamilyBiases {
        match self {
            A::Bert | A::JinaBertV3 | A::NomicBertMoe => FamilyBiases::ALL,
            A::JinaBertV2 => FamilyBiases { up: false, ..FamilyBiases::ALL },
            A::NomicBert => FamilyBiases { norms: true, ..FamilyBiases::NONE },
            _ => FamilyBiases::NONE,
        }
    }
}

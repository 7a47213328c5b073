//! The architectures of GGUF files: what llama.cpp calls them, and which models of Hugging Face they
//! are.

#[cfg(feature = "families")]
use crate::model::{Biases, DecoderFamily};

/// An architecture that is known, run here or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "these are names")]
pub enum GgufArchitecture {
    Bert,
    EuroBert,
    GemmaEmbedding,
    JinaBertV3,
    ModernBert,
    NomicBert,
    Qwen3,
    Gemma3,
    Llama,
    Mistral,
    Phi3,
    Qwen2,
    JinaBertV2,
    NeoBert,
    NomicBertMoe,
    T5Encoder,
}

use GgufArchitecture as A;

/// What models of an architecture do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Models {
    /// They embed texts.
    Encoders,
    /// They embed texts, and are not run here.
    OtherEncoders,
    /// They continue texts.
    Decoders,
    /// They continue texts, or embed them if their file says how states are pooled.
    Both,
}

use Models::{Both, Decoders, Encoders, OtherEncoders};

/// A row of the table.
struct Row {
    architecture: GgufArchitecture,
    name: &'static str,
    models: Models,
    /// The `model_type`s of the encoders that are written so.
    encoders: &'static [&'static str],
    /// The `model_type`s of the decoders that are written so.
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

/// What is made of BERT without another name for its settings.
const LIKE_BERT: &[&str] = &["bert", "camembert", "distilbert", "roberta", "xlm-roberta"];

const ROWS: &[Row] = &[
    row(A::Bert, "bert", Encoders, LIKE_BERT, &[]),
    row(A::EuroBert, "eurobert", Encoders, &["eurobert"], &[]),
    row(A::GemmaEmbedding, "gemma-embedding", Encoders, &["gemma3_text"], &[]),
    row(A::JinaBertV3, "jina-bert-v3", Encoders, &["jina_embeddings_v3"], &[]),
    row(A::ModernBert, "modern-bert", Encoders, &["modernbert"], &[]),
    row(A::NomicBert, "nomic-bert", Encoders, &["nomic_bert"], &[]),
    row(A::Qwen3, "qwen3", Both, &["qwen3"], &["qwen3"]),
    row(A::Gemma3, "gemma3", Decoders, &[], &["gemma3_text"]),
    row(A::Llama, "llama", Decoders, &[], &["llama", "mistral"]),
    row(A::Mistral, "mistral", Decoders, &[], &[]),
    row(A::Phi3, "phi3", Decoders, &[], &[]),
    row(A::Qwen2, "qwen2", Decoders, &[], &["qwen2"]),
    row(A::JinaBertV2, "jina-bert-v2", OtherEncoders, &[], &[]),
    row(A::NeoBert, "neo-bert", OtherEncoders, &[], &[]),
    row(A::NomicBertMoe, "nomic-bert-moe", OtherEncoders, &[], &[]),
    row(A::T5Encoder, "t5encoder", OtherEncoders, &[], &[]),
];

impl GgufArchitecture {
    /// The architecture that `general.architecture` names so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.architecture)
    }

    /// The architecture that an encoder of this `model_type` is written as.
    #[must_use]
    pub fn from_encoder_type(model_type: &str) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.encoders.contains(&model_type));
        row.map(|row| row.architecture)
    }

    /// The architecture that a decoder of this `model_type` is written as.
    #[must_use]
    pub fn from_decoder_type(model_type: &str) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.decoders.contains(&model_type));
        row.map(|row| row.architecture)
    }

    /// The names of all architectures that are run here.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROWS.iter().filter(|row| row.models != OtherEncoders).map(|row| row.name)
    }

    /// The name that stands before the keys of a model.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.architecture == self).map_or("", |row| row.name)
    }

    fn models(self) -> Option<Models> {
        ROWS.iter().find(|row| row.architecture == self).map(|row| row.models)
    }

    /// Returns true for decoders that are run here.
    #[must_use]
    pub fn is_decoder(self) -> bool {
        matches!(self.models(), Some(Decoders | Both))
    }

    /// Returns true for encoders that are run here, but for decoders that may be encoders.
    #[must_use]
    pub(super) fn is_encoder(self) -> bool {
        self.models() == Some(Encoders)
    }

    /// Returns true for encoders that are not run here.
    #[must_use]
    pub(super) fn is_other_encoder(self) -> bool {
        self.models() == Some(OtherEncoders)
    }

    /// Returns true if decoders of this architecture embed texts where their file says how states
    /// are pooled.
    #[must_use]
    pub fn may_embed(self) -> bool {
        self.models() == Some(Both)
    }

    /// Returns true if decoders of this architecture are converted from and to other formats.
    #[must_use]
    pub fn is_written(self) -> bool {
        ROWS.iter().any(|row| row.architecture == self && !row.decoders.is_empty())
    }

    /// The family of its decoders.
    #[cfg(feature = "families")]
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

    /// Returns true if texts of all models of the architecture have a token before and one after
    /// them, also where no key says so: in transformers they do.
    #[must_use]
    pub(crate) const fn frames_texts(self) -> bool {
        matches!(self, A::Bert | A::JinaBertV3 | A::ModernBert)
    }

    /// The tensors of an encoder that may have biases.
    #[cfg(feature = "families")]
    #[must_use]
    pub const fn biases(self) -> Biases {
        match self {
            A::Bert | A::JinaBertV3 => Biases::ALL,
            A::NomicBert => Biases { norms: true, ..Biases::NONE },
            _ => Biases::NONE,
        }
    }
}

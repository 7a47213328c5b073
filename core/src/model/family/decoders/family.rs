//! Families of decoders, by the `model_type` of a `config.json`.

/// A family, which defines the meaning and the defaults of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "these are names")]
pub enum DecoderFamily {
    Llama,
    Mistral,
    Phi3,
    Qwen2,
    Qwen3,
    Gemma3,
}

impl DecoderFamily {
    /// The family of this `model_type`.
    #[must_use]
    pub fn from_model_type(model_type: &str) -> Option<Self> {
        Some(match model_type {
            "llama" => Self::Llama,
            "mistral" => Self::Mistral,
            "phi3" => Self::Phi3,
            "qwen2" => Self::Qwen2,
            "qwen3" => Self::Qwen3,
            "gemma3_text" => Self::Gemma3,
            _ => return None,
        })
    }

    /// Returns true if folders of the family may also contain an encoder.
    #[must_use]
    pub const fn has_encoders(self) -> bool {
        matches!(self, Self::Qwen2 | Self::Qwen3 | Self::Gemma3)
    }

    /// The `architecture` of an AMB configuration. It is set for families that readers of Llama
    /// alone would mistake for Llama.
    #[must_use]
    pub const fn architecture(self) -> &'static str {
        match self {
            Self::Llama | Self::Mistral | Self::Qwen2 => "llama",
            Self::Phi3 => "phi",
            Self::Qwen3 => "qwen3",
            Self::Gemma3 => "gemma3",
        }
    }

    /// The default beginning-of-sequence and end-of-sequence tokens.
    #[must_use]
    pub const fn usual_ends(self) -> [Option<u32>; 2] {
        match self {
            Self::Llama | Self::Mistral => [Some(1), Some(2)],
            Self::Phi3 => [Some(1), Some(32_000)],
            Self::Qwen2 | Self::Qwen3 => [None, None],
            Self::Gemma3 => [Some(2), Some(1)],
        }
    }
}

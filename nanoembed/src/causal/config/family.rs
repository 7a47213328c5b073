//! The families of decoders, by the `model_type` of a `config.json`.

/// A family, whose settings have meanings and usual values of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Llama,
    Mistral,
    Phi3,
    Qwen2,
    Qwen3,
    Gemma3,
}

impl Family {
    /// The family of this `model_type`.
    pub fn of(model_type: &str) -> Option<Self> {
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

    /// Whether folders of the family may as well hold an encoder.
    pub const fn has_encoders(self) -> bool {
        matches!(self, Self::Qwen2 | Self::Qwen3 | Self::Gemma3)
    }

    /// The `architecture` of an AMB configuration. It names the families that readers which know
    /// Llama alone would take for another model.
    pub const fn architecture(self) -> &'static str {
        match self {
            Self::Llama | Self::Mistral | Self::Qwen2 => "llama",
            Self::Phi3 => "phi",
            Self::Qwen3 => "qwen3",
            Self::Gemma3 => "gemma3",
        }
    }

    /// Whether queries and keys are normed.
    pub const fn norms_queries_and_keys(self) -> bool {
        matches!(self, Self::Qwen3 | Self::Gemma3)
    }

    /// The base of rotary frequencies where nothing is said.
    pub const fn usual_base(self) -> f64 {
        match self {
            Self::Gemma3 => 1e6,
            _ => 1e4,
        }
    }

    /// The tokens that begin and end texts where nothing is said.
    pub const fn usual_ends(self) -> [Option<u32>; 2] {
        match self {
            Self::Llama | Self::Mistral => [Some(1), Some(2)],
            Self::Phi3 => [Some(1), Some(32_000)],
            Self::Qwen2 | Self::Qwen3 => [None, None],
            Self::Gemma3 => [Some(2), Some(1)],
        }
    }
}

//! The values of a GGUF file's `tokenizer.ggml.pre`, as llama.cpp interprets them.

use super::split::Pattern;

/// How a pre-tokenizer treats texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreTokenizer {
    /// How it cuts texts into words.
    pub pattern: Pattern,
    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    pub ignores_merges: bool,
    /// Whether texts begin with a token unless `tokenizer.ggml.add_bos_token` says otherwise.
    pub adds_begin: bool,
}

impl PreTokenizer {
    /// The pre-tokenizer of this name; `None` for those that are not known here.
    ///
    /// | names | pattern | whole words | begins texts |
    /// |---|---|---|---|
    /// | `llama3`, `llama-v3`, `llama-bpe`, `falcon3`, `falcon-h1`, `pixtral`, `midm-2.0`, `lfm2`, `jina-v5-nano` | Llama 3 | yes | yes |
    /// | `gpt-2`, `gpt2`, `phi-2`, `gigachat`, `a.x-4.0`, `mellum`, `exaone4` | GPT-2 | no | no |
    /// | `smollm` | SmolLM | no | no |
    /// | `qwen2`, `deepseek-r1-qwen`, `kormo`, `f2llmv2` | Qwen 2 | no | no |
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = |pattern| Self { pattern, ignores_merges: false, adds_begin: false };
        match name {
            "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "falcon-h1" | "pixtral"
            | "midm-2.0" | "lfm2" | "jina-v5-nano" => {
                Some(Self { pattern: Pattern::Llama3, ignores_merges: true, adds_begin: true })
            }
            "gpt-2" | "gpt2" | "phi-2" | "gigachat" | "a.x-4.0" | "mellum" | "exaone4" => {
                Some(plain(Pattern::Gpt2))
            }
            "smollm" => Some(plain(Pattern::SmolLm)),
            "qwen2" | "deepseek-r1-qwen" | "kormo" | "f2llmv2" => Some(plain(Pattern::Qwen2)),
            _ => None,
        }
    }
}

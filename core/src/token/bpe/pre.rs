//! The values of a GGUF file's `tokenizer.ggml.pre`, as llama.cpp interprets them in decoders, and as
//! Hugging Face's tokenizers of the same names work in encoders.

use super::split::Pattern;

/// How a pre-tokenizer treats texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreTokenizer {
    /// How it cuts texts into words.
    pub pattern: Pattern,
    /// True if a word of the vocabulary is one token, whatever the merges make of it.
    pub ignores_merges: bool,
    /// True if texts begin with a token unless `tokenizer.ggml.add_bos_token` says otherwise.
    pub adds_begin: bool,
    /// True if texts are brought into Unicode's form NFC first: in encoders, whose ids are those of
    /// Hugging Face. llama.cpp does not compose.
    pub composes: bool,
}

/// The models in whose files a name is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Models {
    All,
    Decoders,
    Encoders,
}

const GPT_2: PreTokenizer = PreTokenizer {
    pattern: Pattern::Gpt2,
    ignores_merges: false,
    adds_begin: false,
    composes: false,
};
const LLAMA_3: PreTokenizer = PreTokenizer {
    pattern: Pattern::Llama3,
    ignores_merges: true,
    adds_begin: true,
    composes: false,
};
const QWEN_2: PreTokenizer = PreTokenizer { pattern: Pattern::Qwen2, composes: true, ..GPT_2 };

/// Pre-tokenizers by their names; the first name is the one that is written.
const PRE_TOKENIZERS: &[(&[&str], Models, PreTokenizer)] = &[
    (&["llama-bpe", "llama3", "llama-v3", "jina-v5-nano"], Models::All, LLAMA_3),
    (&["falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"], Models::Decoders, LLAMA_3),
    (&["gpt-2", "gpt2"], Models::All, GPT_2),
    (&["phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4"], Models::Decoders, GPT_2),
    (
        &["roberta-bpe", "jina-v1-en", "jina-v2-code", "jina-v2-es", "jina-v2-de"],
        Models::Encoders,
        GPT_2,
    ),
    (&["modern-bert"], Models::Encoders, PreTokenizer { composes: true, ..GPT_2 }),
    (&["smollm"], Models::Decoders, PreTokenizer { pattern: Pattern::SmolLm, ..GPT_2 }),
    (&["qwen2"], Models::All, QWEN_2),
    (&["deepseek-r1-qwen", "kormo", "f2llmv2"], Models::Decoders, QWEN_2),
];

impl PreTokenizer {
    /// The pre-tokenizer that a decoder's file names so; `None` for names that are not known here.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(Self { composes: false, ..from(name, Models::Decoders)? })
    }

    /// The pre-tokenizer that an encoder's file names so; `None` for names that are not known here.
    #[must_use]
    pub fn from_encoder_name(name: &str) -> Option<Self> {
        from(name, Models::Encoders)
    }

    /// The name that a decoder's file has for such a pre-tokenizer.
    #[must_use]
    pub fn name(pattern: Pattern, ignores_merges: bool) -> Option<&'static str> {
        name(Models::Decoders, |pre| (pre.pattern, pre.ignores_merges) == (pattern, ignores_merges))
    }

    /// The name that an encoder's file has for such a pre-tokenizer.
    #[must_use]
    pub fn encoder_name(
        pattern: Pattern,
        ignores_merges: bool,
        composes: bool,
    ) -> Option<&'static str> {
        name(Models::Encoders, |pre| {
            let Self { pattern: own, ignores_merges: ignores, composes: brings, .. } = *pre;
            (own, ignores, brings) == (pattern, ignores_merges, composes)
        })
    }
}

fn from(name: &str, models: Models) -> Option<PreTokenizer> {
    let known = |(names, of, _): &&(&[&str], Models, _)| {
        (*of == Models::All || *of == models) && names.contains(&name)
    };
    PRE_TOKENIZERS.iter().find(known).map(|(_, _, pre)| *pre)
}

fn name(models: Models, is: impl Fn(&PreTokenizer) -> bool) -> Option<&'static str> {
    let known = |(_, of, pre): &&(&[&str], Models, PreTokenizer)| {
        (*of == Models::All || *of == models) && is(pre)
    };
    PRE_TOKENIZERS.iter().find(known)?.0.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for pattern in [Pattern::Gpt2, Pattern::SmolLm, Pattern::Llama3, Pattern::Qwen2] {
            let whole = pattern == Pattern::Llama3;
            assert_eq!(PreTokenizer::name(pattern, whole), Some(pattern.name()));
            let found = PreTokenizer::from_name(pattern.name()).unwrap();
            assert_eq!((found.pattern, found.ignores_merges), (pattern, whole));
            assert_eq!(PreTokenizer::name(pattern, !whole), None);
        }
        for (pattern, whole, composes, expected) in [
            (Pattern::Gpt2, false, false, Some("gpt-2")),
            (Pattern::Gpt2, false, true, Some("modern-bert")),
            (Pattern::Llama3, true, false, Some("llama-bpe")),
            (Pattern::Qwen2, false, true, Some("qwen2")),
            (Pattern::Qwen2, false, false, None),
            (Pattern::SmolLm, false, false, None),
        ] {
            assert_eq!(PreTokenizer::encoder_name(pattern, whole, composes), expected);
        }
    }

    #[test]
    fn a_name_may_be_known_in_one_kind_of_model_only() {
        let known = |name| {
            (
                PreTokenizer::from_name(name).is_some(),
                PreTokenizer::from_encoder_name(name).is_some(),
            )
        };
        assert_eq!(known("qwen2"), (true, true));
        assert_eq!(known("smollm"), (true, false));
        assert_eq!(known("roberta-bpe"), (false, true));
        assert_eq!(known("gpt-4"), (false, false));
        assert!(!PreTokenizer::from_name("qwen2").unwrap().composes);
    }
}

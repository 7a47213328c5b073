//! The kinds of tokenizers.

/// Which tokenizer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenizerKind {
    /// Words become the longest tokens that they start with, as BERT has it.
    WordPiece,
    /// Neighbouring bytes of words are merged, as GPT-2, Llama 3 and Qwen have it.
    BytePairs,
    /// SentencePiece, of both its kinds.
    SentencePiece,
}

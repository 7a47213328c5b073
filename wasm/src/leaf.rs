//! The parts that a module may leave out: see [`nanoembed_core::leaf`].

pub(crate) use nanoembed_core::leaf::Part;

nanoembed_core::leaves! {
    /// AMB files.
    pub(crate) Amb = "embed" | "encoder-files" | "encoder-weights" | "causal" | "inspect" or UnknownFormat;
    /// `.weights` files.
    pub(crate) Embd = "embed" | "encoder-files" | "encoder-weights" | "static" | "inspect" or UnknownFormat;
    /// Files of word vectors.
    pub(crate) Finalfusion = "words" | "inspect" or UnknownFormat;
    /// GGUF files.
    pub(crate) Gguf = "encoder-gguf" | "causal" | "inspect" or UnknownFormat;
    /// Safetensors files.
    pub(crate) Safetensors = "encoder-files" | "inspect" or UnknownFormat;
    /// UQFF files.
    pub(crate) Uqff = "inspect" or UnknownFormat;
    /// Encoders with all of their weights in memory.
    pub(crate) Whole = "embed" | "encoder-files" | "encoder-gguf" or OtherModel;
    /// Encoders over `.weights` and AMB files, in less code.
    pub(crate) File = "encoder-weights" or OtherModel;
    /// Static models.
    pub(crate) Table = "static" or OtherModel;
    /// Prompts that are chosen, and models that compare texts.
    pub(crate) Prompts = "encoders" or UnsupportedSetting;
    /// Errors with a sentence of their own.
    pub(crate) Explanations = "encoders" | "static" or UnsupportedSetting;
}

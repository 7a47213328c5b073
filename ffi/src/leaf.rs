//! The parts that a build may leave out: see [`nanoembed_core::leaf`].

pub(crate) use nanoembed_core::leaf::Part;

nanoembed_core::leaves! {
    /// AMB files.
    pub(crate) Amb = "amb" or UnknownFormat;
    /// GGUF files.
    pub(crate) Gguf = "gguf" or UnknownFormat;
    /// Files that are parsed whole.
    pub(crate) Parsed = "amb" | "gguf" or UnknownFormat;
    /// Safetensors and UQFF files.
    pub(crate) Safetensors = "safetensors" or UnknownFormat;
    /// Transformers.
    pub(crate) Encoders = "embd" or UnsupportedArchitecture;
    /// Transformers of all families, and the texts of folders.
    pub(crate) Families = "families" or UnsupportedArchitecture;
    /// Static models.
    pub(crate) Tables = "static-models" or UnsupportedArchitecture;
    /// The index over words in memory.
    pub(crate) WordIndex = "word-index" or InvalidArgument;
}

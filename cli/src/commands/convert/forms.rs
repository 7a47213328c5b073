//! What IN and OUT can be, and how that is told where nobody says it.

use std::io::Read;
use std::path::Path;

use clap::ValueEnum;
use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;

use crate::checkpoint::hugging_face::is_safetensors;
use crate::stored::files::is_uqff_name;
use crate::word_vectors::form::Form;

/// The forms of models that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum From {
    /// A folder with `model.safetensors` or UQFF and its JSON files
    HuggingFace,
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
    /// A GGUF file of a decoder of the Llama family
    Gguf,
    /// A finalfusion `.fifu` file
    Finalfusion,
    /// word2vec's binary form
    Word2vec,
    /// Lines of text, a word and its numbers each; GloVe's form
    #[value(alias = "glove")]
    Text,
    /// The same behind a line with the numbers of words and columns
    Textdims,
    /// A fastText model, `.bin` or `.ftz`
    Fasttext,
    /// floret's text form
    Floret,
}

/// The forms of models that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum To {
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
    /// A finalfusion `.fifu` file
    Finalfusion,
    /// word2vec's binary form
    Word2vec,
    /// Lines of text, a word and its numbers each; GloVe's form
    #[value(alias = "glove")]
    Text,
    /// The same behind a line with the numbers of words and columns
    Textdims,
    /// floret's text form
    Floret,
}

impl From {
    /// What `path` is: a folder and what is called `.safetensors` or `.uqff` are of Hugging Face;
    /// of the rest `.amb` and GGUF files are known by their beginning, and all else is a `.weights`
    /// file, also stdin, which can be read only once.
    pub(super) fn of(path: &Path) -> Self {
        if path == Path::new("-") {
            return Self::Weights;
        }
        let mut start = [0; 5];
        let begins = crate::whole_file::open(path).and_then(|mut file| file.read_exact(&mut start));
        match sniff(&start) {
            Some(Format::Amb) if begins.is_ok() => return Self::Amb,
            Some(Format::Gguf) if begins.is_ok() => return Self::Gguf,
            _ => {}
        }
        let is_of_folder = path.is_dir() || is_safetensors(path) || is_uqff_name(path);
        if is_of_folder { Self::HuggingFace } else { Self::Weights }
    }

    /// The form of word vectors; models have none.
    pub(super) const fn words(self) -> Option<Form> {
        match self {
            Self::HuggingFace | Self::Weights | Self::Amb | Self::Gguf => None,
            Self::Finalfusion => Some(Form::Finalfusion),
            Self::Word2vec => Some(Form::Word2vec),
            Self::Text => Some(Form::Text),
            Self::Textdims => Some(Form::Textdims),
            Self::Fasttext => Some(Form::Fasttext),
            Self::Floret => Some(Form::Floret),
        }
    }
}

impl To {
    /// What a file with the ending of `path` is, if it is a model.
    pub(super) fn of_model(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "weights" => Some(Self::Weights),
            "amb" => Some(Self::Amb),
            _ => None,
        }
    }

    /// As [`From::words`].
    pub(super) const fn words(self) -> Option<Form> {
        match self {
            Self::Weights | Self::Amb => None,
            Self::Finalfusion => Some(Form::Finalfusion),
            Self::Word2vec => Some(Form::Word2vec),
            Self::Text => Some(Form::Text),
            Self::Textdims => Some(Form::Textdims),
            Self::Floret => Some(Form::Floret),
        }
    }
}

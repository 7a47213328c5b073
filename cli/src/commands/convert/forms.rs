//! What IN and OUT can be, and how that is told where nobody says it.

use std::path::Path;

use clap::ValueEnum;
use nanoembed::convert::conversion::ModelForm;
use nanoembed::words::form::Form;

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
    /// A GGUF file, as `nanoembed migrate` writes it
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
    /// floret's text form
    Floret,
}

impl From {
    /// The form of models; word vectors have none.
    pub(super) const fn model(self) -> Option<ModelForm> {
        Some(match self {
            Self::HuggingFace => ModelForm::HuggingFace,
            Self::Weights => ModelForm::Weights,
            Self::Amb => ModelForm::Amb,
            Self::Gguf => ModelForm::Gguf,
            _ => return None,
        })
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
            "gguf" => Some(Self::Gguf),
            _ => None,
        }
    }

    /// As [`From::words`].
    pub(super) const fn words(self) -> Option<Form> {
        match self {
            Self::Weights | Self::Amb | Self::Gguf => None,
            Self::Finalfusion => Some(Form::Finalfusion),
            Self::Word2vec => Some(Form::Word2vec),
            Self::Text => Some(Form::Text),
            Self::Textdims => Some(Form::Textdims),
            Self::Floret => Some(Form::Floret),
        }
    }
}

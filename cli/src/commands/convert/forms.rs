//! Forms of IN and OUT, and how they are told where nobody names them.

use clap::ValueEnum;
use nanoembed::convert::{ModelForm, ModelTarget};
use nanoembed::words::Form;

/// The forms of models that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum From {
    /// A folder with `model.safetensors` or UQFF and its JSON files
    HuggingFace,
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
    /// A GGUF file of an encoder, or of a decoder of the Llama family
    Gguf,
    /// A finalfusion `.fifu` file
    Finalfusion,
    /// word2vec's binary form
    Word2vec,
    /// Lines of text, a word and its numbers each; GloVe's form
    #[value(alias = "glove")]
    Text,
    /// Lines of text after a first line with the numbers of words and columns
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
    /// Lines of text after a first line with the numbers of words and columns
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
    /// As [`From::model`].
    pub(super) const fn model(self) -> Option<ModelTarget> {
        Some(match self {
            Self::Weights => ModelTarget::Weights,
            Self::Amb => ModelTarget::Amb,
            Self::Gguf => ModelTarget::Gguf,
            _ => return None,
        })
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

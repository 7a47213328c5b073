//! What runs an encoder, of the kinds that a module is built with.

use alloc::string::String;
#[cfg(feature = "any-encoder")]
use alloc::string::ToString as _;
use alloc::vec::Vec;

#[cfg(feature = "encoder-weights")]
use nanoembed_core::describe::folder::FolderPrompt;
use nanoembed_core::event::Format;
#[cfg(feature = "any-encoder")]
use nanoembed_core::model::InOrder;
use nanoembed_core::model::{Batch, Plan};
#[cfg(feature = "any-encoder")]
use nanoembed_core::owned::folder::Prefix;
#[cfg(feature = "any-encoder")]
use nanoembed_core::owned::{Encoder, FileWeights, TextSession};
#[cfg(feature = "encoder-weights")]
use nanoembed_core::owned::{EncoderFile, EncoderRoom, TextRoom};
use nanoembed_core::owned::{Prompt, Session, Tokenized, TokenizedPair};
use nanoembed_core::{Error, ErrorKind};
#[cfg(feature = "encoder-weights")]
use self_cell::{MutBorrow, self_cell};

use crate::encoders::Before;
use crate::failure::{Failure, Result};
#[cfg(feature = "encoder-weights")]
use crate::held::{Held, held};
use crate::reader::Reader;
use crate::requantize;
use crate::waiting::Waiting;

/// The formats of files that hold one.
const FORMATS: &[Format] = &[
    #[cfg(any(feature = "encoder-files", feature = "encoder-weights"))]
    Format::Embd,
    #[cfg(any(feature = "encoder-files", feature = "encoder-weights"))]
    Format::Amb,
    #[cfg(feature = "encoder-gguf")]
    Format::Gguf,
];

/// An encoder.
#[allow(clippy::large_enum_variant, reason = "modules of the package are built with one of them")]
pub(crate) enum EncoderModel {
    /// Of any file or folder.
    #[cfg(feature = "any-encoder")]
    Any { model: Encoder<FileWeights<Vec<u8>>>, texts: TextSession },
    /// Of a `.weights` or `.amb` file, by less code.
    #[cfg(feature = "encoder-weights")]
    File { model: Held<Opened>, texts: TextRoom },
}

#[cfg(feature = "encoder-weights")]
pub(crate) struct Memory {
    file: Vec<u8>,
    room: MutBorrow<EncoderRoom>,
}

#[cfg(feature = "encoder-weights")]
self_cell!(
    pub(crate) struct Opened {
        owner: Memory,
        #[covariant]
        dependent: EncoderFile,
    }
);

#[cfg(feature = "encoder-weights")]
impl Opened {
    fn open(file: Vec<u8>) -> Result<Self> {
        let room = MutBorrow::new(EncoderRoom::default());
        Ok(Self::try_new(Memory { file, room }, |Memory { file, room }| {
            EncoderFile::open(file, room.borrow_mut()).map_err(|fault| fault.error)
        })?)
    }
}

impl EncoderModel {
    /// The model in a file; `requantize` is for BERT in blocks of few bits.
    pub(crate) fn open(reader: Reader, requantize: Option<bool>) -> Result<Self> {
        let file = reader.into_file(FORMATS)?;
        #[cfg(feature = "encoder-weights")]
        if EncoderFile::is_in(&file) {
            requantize::refuse_if_wanted(requantize)?;
            return Ok(Self::File { model: held(Opened::open(file)?), texts: TextRoom::default() });
        }
        #[cfg(feature = "any-encoder")]
        {
            let mut model = Encoder::open(file)?;
            let is_grouped = model.plan(1).grouped;
            requantize::if_wanted(requantize, is_grouped, || model.requantize())?;
            Ok(model.into())
        }
        #[cfg(not(feature = "any-encoder"))]
        Err(ErrorKind::OtherModel.into())
    }

    /// What threads share.
    ///
    /// # Errors
    ///
    /// `other_model` if the module has the model for itself.
    #[cfg(all(feature = "encoder-weights", feature = "shared"))]
    pub(crate) fn held(&self) -> Result<&Held<Opened>> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { .. } => Err(ErrorKind::OtherModel.into()),
            Self::File { model, .. } => Ok(model),
        }
    }

    pub(crate) fn dims(&self) -> usize {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.dimensions(),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => model.borrow_dependent().dimensions(),
        }
    }

    pub(crate) fn max_tokens(&self) -> usize {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.usual_tokens(),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => model.borrow_dependent().usual_tokens(),
        }
    }

    pub(crate) fn positions(&self) -> usize {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.positions(),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => model.borrow_dependent().positions(),
        }
    }

    /// The fewest tokens that a text may be cut to.
    pub(crate) const fn least_tokens(&self) -> usize {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.least_tokens(),
            #[cfg(feature = "encoder-weights")]
            Self::File { .. } => 2,
        }
    }

    /// The names of the classes of a model that compares two texts and embeds none.
    pub(crate) fn labels(&self) -> Option<Vec<String>> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => {
                let classes = model.classes().filter(|_| model.compares());
                classes.map(|classes| classes.labels().to_vec())
            }
            #[cfg(feature = "encoder-weights")]
            Self::File { .. } => None,
        }
    }

    /// The names of the prompts that the model has, in their order.
    pub(crate) fn prompts(&self) -> Vec<String> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.prompts().by_name.keys().cloned().collect(),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => model.borrow_dependent().prompts(),
        }
    }

    /// The text that is to stand before others.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a prompt that the model does not have.
    pub(crate) fn choose(&self, before: Before, text: String) -> Result<String> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => {
                let (role, wanted) = match before {
                    Before::Usual => (Prefix::Usual, Prefix::Usual),
                    Before::Text => (Prefix::Usual, Prefix::Text(text)),
                    Before::Named => (Prefix::Usual, Prefix::Named(text)),
                    Before::Query => (Prefix::Query, Prefix::Usual),
                    Before::Document => (Prefix::Document, Prefix::Usual),
                };
                let chosen = model.prompts().choose_for(&role, &wanted);
                chosen.map(String::from).map_err(|missing| self.lacks(&[&missing.to_string()]))
            }
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => {
                let model = model.borrow_dependent();
                // As `Prompts::choose_for` has it.
                let of_role = |role| model.named_prompt(role).or(Some(String::new()));
                let chosen = match before {
                    Before::Usual => model.named_prompt(FolderPrompt::Usual),
                    Before::Text => return Ok(text),
                    Before::Named => model.named_prompt(FolderPrompt::Named(&text)),
                    Before::Query => of_role(FolderPrompt::Query),
                    Before::Document => of_role(FolderPrompt::Document),
                };
                chosen.ok_or_else(|| self.lacks(&["no prompt \"", &text, "\""]))
            }
        }
    }

    fn lacks(&self, missing: &[&str]) -> Failure {
        // Formatting and joining take more code.
        let mut said = String::from("the model has ");
        missing.iter().for_each(|part| said.push_str(part));
        said.push_str("; it has ");
        let names = self.prompts();
        for (at, name) in names.iter().enumerate() {
            said.push_str(if at > 0 { ", " } else { "" });
            said.push_str(name);
        }
        said.push_str(if names.is_empty() { "none" } else { "" });
        Failure::explained(Error::without_offset(ErrorKind::InvalidArgument), said)
    }

    /// A prompt, ready to stand before texts.
    pub(crate) fn prompt(&mut self, prompt: &str) -> Result<Prompt> {
        Ok(match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, texts } => model.prompt(prompt, texts)?,
            #[cfg(feature = "encoder-weights")]
            Self::File { model, texts } => model.borrow_dependent().prompt(prompt, texts)?,
        })
    }

    pub(crate) fn tokenize(&mut self, text: &str, limit: usize) -> Result<Tokenized> {
        Ok(match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, texts } => model.encode(text, limit, texts)?,
            #[cfg(feature = "encoder-weights")]
            Self::File { model, texts } => model.borrow_dependent().encode(text, limit, texts)?,
        })
    }

    pub(crate) fn plan(&self, tokens: usize) -> Plan {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.plan(tokens),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => model.borrow_dependent().plan(tokens),
        }
    }

    pub(crate) fn session_for(&self, plan: Plan) -> core::result::Result<Session, Error> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.session_for(plan),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => model.borrow_dependent().session_for(plan),
        }
    }

    /// The vectors of texts, whose first `skipped` tokens are left out of pooling.
    pub(crate) fn embed(
        &self,
        session: &mut Session,
        texts: &Waiting,
        skipped: usize,
        out: &mut [f32],
    ) -> core::result::Result<(), Error> {
        let Waiting { ids, lengths } = texts;
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.embed(session, &InOrder, ids, lengths, skipped, out),
            #[cfg(feature = "encoder-weights")]
            Self::File { model, .. } => {
                model.borrow_dependent().embed(session, ids, lengths, skipped, out)
            }
        }
    }
}

/// For models that compare two texts.
impl EncoderModel {
    /// How many classes it tells apart.
    ///
    /// # Errors
    ///
    /// `other_model` if it compares nothing.
    pub(crate) fn classes(&self) -> Result<usize> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => {
                let classes = model.classes().ok_or(ErrorKind::OtherModel)?;
                Ok(classes.labels().len())
            }
            #[cfg(feature = "encoder-weights")]
            Self::File { .. } => Err(ErrorKind::OtherModel.into()),
        }
    }

    #[cfg_attr(
        not(feature = "any-encoder"),
        allow(unused_variables, reason = "it compares nothing")
    )]
    pub(crate) fn tokenize_pair(
        &mut self,
        first: &str,
        second: &str,
        limit: usize,
    ) -> Result<TokenizedPair> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, texts } => Ok(model.encode_pair(first, second, limit, texts)?),
            #[cfg(feature = "encoder-weights")]
            Self::File { .. } => Err(ErrorKind::OtherModel.into()),
        }
    }

    #[cfg_attr(
        not(feature = "any-encoder"),
        allow(unused_variables, reason = "it compares nothing")
    )]
    pub(crate) fn classify(
        &self,
        session: &mut Session,
        texts: &Batch<'_>,
        logits: &mut [f32],
    ) -> core::result::Result<(), Error> {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => model.classify(session, &InOrder, texts, logits),
            #[cfg(feature = "encoder-weights")]
            Self::File { .. } => Err(Error::without_offset(ErrorKind::OtherModel)),
        }
    }

    /// Makes scores of logits.
    #[cfg_attr(
        not(feature = "any-encoder"),
        allow(unused_variables, reason = "it compares nothing")
    )]
    pub(crate) fn score(&self, logits: &mut [f32]) {
        match self {
            #[cfg(feature = "any-encoder")]
            Self::Any { model, .. } => {
                if let Some(classes) = model.classes() {
                    classes.score(logits);
                }
            }
            #[cfg(feature = "encoder-weights")]
            Self::File { .. } => {}
        }
    }
}

#[cfg(feature = "any-encoder")]
impl From<Encoder<FileWeights<Vec<u8>>>> for EncoderModel {
    fn from(model: Encoder<FileWeights<Vec<u8>>>) -> Self {
        Self::Any { model, texts: TextSession::default() }
    }
}

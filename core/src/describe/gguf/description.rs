//! Encoders of all families in GGUF files, as llama.cpp's converter writes them, described as the
//! texts of a folder would.

use super::encoder_family::read as read_family;
use super::fault::GgufFault;
use super::key::Key;
use super::keys::Keys;
use super::recipe;
use super::refusal::{GgufRefusal, Outcome};
use super::{GgufArchitecture, check_tensors, gguf_architecture, gguf_is_encoder};
use crate::describe::folder::{Description, EncoderSettings, Kind, ModuleList};
use crate::describe::folder::{TemplateForm, TemplateText, TextPath};
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::format::gguf::Gguf;
use crate::model::FamilyModel;

/// Returns true for a file with an encoder, except for a BERT with WordPiece, whose settings
/// [`gguf_bert_config`](super::gguf_bert_config) reads.
#[must_use]
pub fn gguf_has_described_encoder(file: &Gguf<'_>) -> bool {
    gguf_is_encoder(file) && !is_plain_bert(file)
}

/// Returns true for a BERT with WordPiece that has all of BERT's tensors: DistilBERT has no token
/// types, and some files have queries, keys and values in one matrix.
fn is_plain_bert(file: &Gguf<'_>) -> bool {
    let is_bert = gguf_architecture(file) == Some(GgufArchitecture::Bert.name());
    let own = file.value(Key::OwnTokenizer.name()).is_some();
    let tokenizer = file.value(Key::TokenizerModel.name());
    let has = |name| file.tensor(name).is_some();
    let is_distilled = has("position_embd.weight") && !has("token_types.weight");
    let is_other = own || is_distilled || has("blk.0.attn_qkv.weight");
    is_bert && !is_other && !matches!(tokenizer, Some(Value::Text("t5" | "gpt2" | "llama")))
}

/// Describes the encoder in a file.
///
/// # Errors
///
/// The key or tensor at fault; [`ErrorKind::SplitFile`] for one of several files of a model;
/// [`ErrorKind::UnsupportedArchitecture`].
pub fn gguf_description<'a>(file: &Gguf<'a>) -> Result<Description<'a>, GgufFault<'a>> {
    describe(&encoder_keys(file)?)
}

/// The keys of a file with an encoder.
pub(crate) fn encoder_keys<'a>(file: &Gguf<'a>) -> Result<Keys<'a>, GgufFault<'a>> {
    if file.split().is_some() {
        return Err(Error::without_offset(ErrorKind::SplitFile).into());
    }
    let architecture = gguf_architecture(file).ok_or(UNSUPPORTED)?;
    Ok(Keys::encoder(*file, architecture))
}

/// As [`gguf_description`], and checks all keys but those of the tokenizer, which are not read.
pub(crate) fn describe_without_tokenizer<'a>(
    file: &Gguf<'a>,
) -> Result<Description<'a>, GgufFault<'a>> {
    let keys = encoder_keys(file)?;
    let description = describe(&keys)?;
    keys.know_tokenizer();
    keys.finish()?;
    Ok(description)
}

const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedArchitecture);

/// Describes the encoder with these keys.
pub(crate) fn describe<'a>(keys: &Keys<'a>) -> Result<Description<'a>, GgufFault<'a>> {
    let family = read_family(keys).ok_or(UNSUPPORTED)??;
    let modules = recipe::modules(keys, &family)?;
    let max_tokens = recipe::max_tokens(keys, family.config.positions)?;
    check_tensors(&keys.file, &family)?;
    Ok(Description {
        template: template(keys, &family)?,
        // Models that compare texts have only their head.
        modules: if family.classifier.is_some() { ModuleList::NONE } else { modules },
        kind: Kind::Transformer(family),
        settings: EncoderSettings::default(),
        tokenizer_limit: Some(max_tokens as u64),
        on_scores: None,
        masked: None,
        late_interaction: None,
    })
}

/// The prompt of a model that compares texts by two of its tokens.
fn template<'a>(keys: &Keys<'a>, family: &FamilyModel) -> Outcome<'a, Option<TemplateText<'a>>> {
    const KEY: Key = Key::RerankTemplate;
    if family.classifier.is_none_or(|head| head.token_score.is_none()) {
        return Ok(None);
    }
    let text = keys.text(KEY)?.ok_or(GgufRefusal::missing(KEY.name()))?;
    let path = TextPath { folder: "", name: KEY.name() };
    Ok(Some(TemplateText { path, text, form: TemplateForm::Places }))
}

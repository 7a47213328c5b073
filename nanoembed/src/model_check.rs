//! Checks that a file holds a model that can be run: metadata, tensors, vocabulary, and how they
//! fit together.

use nanoembed_core::describe::BertConfig;
use nanoembed_core::event::SpecialRole;
use nanoembed_core::format::embd::{Embd, LinearLayout, SORTED_IDS, TOKEN_OFFSETS};
use nanoembed_core::model::{SliceWeights, Weights, check};
use nanoembed_core::owned::Decoder;
use nanoembed_core::source::{ModelSource, embd_is_decoder, embd_llama_config};
use nanoembed_core::tensor::Dtype;
use nanoembed_core::token::vocabulary::{IdWidth, SortedIds};
use nanoembed_core::token::{Entries, LengthPrefix, SortedVocabulary};
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::causal::tokenizer::Tokenizer;
use crate::error::Kind;
use crate::folder::texts::Allowed;
use crate::open::described_model::NamedFile;

/// Something that is wrong with the model in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFinding {
    pub error: CoreError,
    pub message: String,
}

impl ModelFinding {
    /// The finding that `error` is about the key or tensor `what`.
    pub(crate) fn new(error: CoreError, what: &str) -> Self {
        Self { error, message: format!("{}: `{what}`", error.message()) }
    }

    /// The same of the file as a whole.
    fn in_file(kind: ErrorKind, what: &str) -> Self {
        Self::new(CoreError::new(0, kind), what)
    }
}

/// The metadata keys of the specification that the model can do without.
const DESCRIPTIVE_KEYS: [&str; 4] = ["model_name", "model_version", "embedding_dim", "created_at"];

/// Adds the faults of a BERT encoder, by the metadata of a file and the tensors that it asks for;
/// returns its sizes, if they can be read. `place` says where the value of a key is.
pub(crate) fn encoder<'m>(
    weights: &impl Weights,
    value: impl Fn(&str) -> Option<&'m str>,
    place: impl Fn(&str) -> u64,
    findings: &mut Vec<ModelFinding>,
) -> Option<BertConfig> {
    match BertConfig::from_metadata(&value) {
        Ok(config) => {
            check(weights, &config, &mut |finding| {
                findings.push(ModelFinding::new(finding.error, finding.name));
            });
            Some(config)
        }
        Err(error) => {
            let key = BertConfig::key_at_fault(&value).map_or("", |(key, _)| key);
            findings.push(ModelFinding::new(CoreError::new(place(key), error.kind()), key));
            None
        }
    }
}

/// The fault that keeps the model of texts in `bytes` from being opened, which is described by the
/// texts of its folder. `place` is where these are.
pub(crate) fn text_model(
    bytes: &[u8],
    source: ModelSource<'_>,
    place: u64,
) -> Option<ModelFinding> {
    let file = NamedFile::read("the model", bytes, source, &Allowed::default());
    let opened = file.and_then(|file| file.map_or(Ok(()), |file| file.check()));
    let failure = opened.err()?;
    let kind = match failure.kind() {
        Kind::Core(kind) => kind,
        _ => ErrorKind::BadMetadata,
    };
    Some(ModelFinding { error: CoreError::new(place, kind), message: failure.to_string() })
}

/// All faults of the model in a `.weights` file `bytes`, whose structure is sound. `strict` asks
/// for all the metadata that the specification requires, not only what the model needs.
pub fn findings(bytes: &[u8], file: &Embd<'_>, strict: bool) -> Vec<ModelFinding> {
    let mut findings = Vec::new();
    if strict {
        let missing = DESCRIPTIVE_KEYS.iter().filter(|key| file.metadata_value(key).is_none());
        findings.extend(missing.map(|key| ModelFinding::in_file(ErrorKind::MissingMetadata, key)));
    }
    if embd_is_decoder(file) {
        findings.extend(decoder(bytes, file));
        findings.extend(special(file));
        return findings;
    }
    let source = ModelSource::Embd(*file);
    if source.has_folder_texts() {
        findings.extend(text_model(bytes, source, 0));
        findings.extend(special(file));
        return findings;
    }
    let value = |key: &str| file.metadata_value(key);
    let place = |key: &str| value(key).map_or(0, |value| offset_in(bytes, value));
    let weights = SliceWeights::new(bytes, |name| file.tensor(name).map(|it| *it.header()));
    match encoder(&weights, value, place, &mut findings) {
        Some(config) if file.tokens().len() > config.vocabulary => {
            findings.push(ModelFinding::in_file(ErrorKind::BadVocabulary, "vocab_size"));
        }
        None if file.linear_layout() == LinearLayout::InOut => {
            let offset = file
                .tensor("encoder.layer.0.intermediate.dense.weight")
                .map_or(0, |tensor| tensor.header().offset);
            let error = CoreError::new(offset, ErrorKind::TransposedWeights);
            findings.push(ModelFinding { error, message: error.message().into() });
        }
        _ => {}
    }
    findings.extend(special(file));
    findings.extend(index(file));
    findings
}

/// The fault that keeps a decoder from being opened.
fn decoder(bytes: &[u8], file: &Embd<'_>) -> Option<ModelFinding> {
    let config = match embd_llama_config(file) {
        Ok(config) => config,
        Err(error) => return Some(ModelFinding::new(error, "metadata of the model's sizes")),
    };
    let weights = SliceWeights::new(bytes, |name| file.tensor(name).map(|it| *it.header()));
    if let Err(error) = Decoder::open(&weights, config) {
        return Some(ModelFinding::new(error, "tensors"));
    }
    let count = match Tokenizer::from_source(bytes, &ModelSource::Embd(*file)) {
        Ok(tokenizer) => tokenizer.count() as usize,
        Err(error) => return Some(ModelFinding::new(error, "tokenizer")),
    };
    (count > config.vocabulary)
        .then(|| ModelFinding::in_file(ErrorKind::BadVocabulary, "vocab_size"))
}

/// The offset of `part`, which borrows from `bytes`, in them.
fn offset_in(bytes: &[u8], part: &str) -> u64 {
    (part.as_ptr().addr()).saturating_sub(bytes.as_ptr().addr()) as u64
}

/// Special tokens must be tokens.
fn special(file: &Embd<'_>) -> Option<ModelFinding> {
    let special = file.special()?;
    let tokens = file.tokens().len();
    let beyond = SpecialRole::ALL.iter().find(|role| special.id(**role) as usize >= tokens)?;
    Some(ModelFinding::in_file(ErrorKind::BadVocabulary, beyond.name()))
}

/// The sorted index, where there is one, must be that of the tokens.
fn index(file: &Embd<'_>) -> Option<ModelFinding> {
    let sorted = file.tensor(SORTED_IDS)?;
    let offsets = file.tensor(TOKEN_OFFSETS)?;
    let wrong = |error: CoreError, name| Some(ModelFinding::new(error, name));
    let bad = |offset| CoreError::new(offset, ErrorKind::BadVocabulary);
    let width = match sorted.header().dtype {
        Dtype::U16 => IdWidth::U16,
        Dtype::U32 => IdWidth::U32,
        _ => return wrong(bad(sorted.header().offset), SORTED_IDS),
    };
    if offsets.header().dtype != Dtype::U32 {
        return wrong(bad(offsets.header().offset), TOKEN_OFFSETS);
    }
    let strings = file.token_entries()?;
    let (bytes, count) = (strings.bytes, strings.count);
    let listed = Entries::listed(bytes, strings.offset, count, LengthPrefix::U16, offsets.data());
    let entries = match listed {
        Ok(entries) => entries,
        Err(error) => return wrong(error, TOKEN_OFFSETS),
    };
    let is_listed = (0..)
        .zip(file.tokens())
        .all(|(id, token)| entries.get(id).is_ok_and(|listed| listed == token));
    if !is_listed {
        return wrong(bad(offsets.header().offset), TOKEN_OFFSETS);
    }
    let ids = SortedIds { bytes: sorted.data(), width, offset: sorted.header().offset };
    match SortedVocabulary::new(entries, ids).and_then(|vocabulary| vocabulary.check()) {
        Ok(()) => None,
        Err(error) => wrong(error, SORTED_IDS),
    }
}

//! A decoder's tokenizer as GGUF has it: keys as llama.cpp's `convert_hf_to_gguf.py` writes them.

use std::collections::HashMap;
use std::path::Path;

use nanoembed_core::describe::gguf::Key;
use nanoembed_core::text::json;
use nanoembed_core::token::SentencePiece;
use nanoembed_core::token::bpe::PreTokenizer;
use nanoembed_core::token::sentencepiece::{Algorithm, PieceKind};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::Value;

use super::encoder::model_type;
use super::metadata::{Metadata, OwnValue};
use super::{Job, Writing};
use crate::causal::hugging_face::DecoderSettings;
use crate::causal::tokenizer::{Tokenizer, borrowed, end_ids, pattern};
use crate::error::{Error, Result, name_of};
use crate::folder::json_file::read_json;
use crate::folder::texts::FolderTexts;
use crate::hashed;

/// The hint where the tokenizer cannot be written.
const HINT: &str = "`--like ORIGINAL.gguf` takes the tokenizer from a GGUF file of the model; `--keep-names` writes the tensors alone, which no program runs";

/// The score of tokens that are found as they are, and of those that no text has.
const ADDED_SCORE: f32 = -1000.0;

/// Adds the tokenizer beside the decoder's `config.json`. No program can run a file without one.
/// `rows` are those of the table of embeddings, of which llama.cpp wants one per token.
pub(super) fn add(
    metadata: &mut Metadata,
    writing: &Writing,
    job: &Job<'_, '_>,
    rows: Option<usize>,
) -> Result<()> {
    let config = writing.config.as_deref();
    let folder = match config {
        Some(config) => config.parent().unwrap_or(Path::new("")),
        None => &job.folder,
    };
    let refuse =
        |kind, message: String| Err(Error::input(kind, message).at(&job.source).with_hint(HINT));
    let has_one = ["tokenizer.json", "tokenizer.model"].iter().any(|it| folder.join(it).exists());
    if !has_one {
        let message = "there is no tokenizer beside the model's config.json, and nobody can run a GGUF file without one";
        return refuse(ErrorKind::MissingVocabulary, message.into());
    }
    let Some(settings) = DecoderSettings::allowing(folder, config, &writing.allowed)? else {
        let config = config.map_or_else(|| folder.join("config.json"), Path::to_owned);
        let kind = model_type(&config)?.unwrap_or_default();
        let message =
            format!("the tokenizer of a model of the type `{kind}` is not written as GGUF");
        return refuse(ErrorKind::UnsupportedArchitecture, message);
    };
    let tokenizer = settings.tokenizer()?;
    writing.allowed.check()?;
    let special = special_tokens(folder)?;
    let written = match tokenizer.pieces() {
        Some(pieces) => sentence_pieces(metadata, (&tokenizer, &pieces), &special, rows),
        None => byte_pairs(metadata, &tokenizer, &special, rows),
    };
    written.and_then(|()| ends(metadata, &tokenizer)).map_err(|unwritten| match unwritten {
        Unwritten::Without(words) => {
            let message = format!("GGUF has no words for this tokenizer: {words}");
            Error::input(ErrorKind::BadVocabulary, message).at(name_of(folder)).with_hint(HINT)
        }
        Unwritten::Failed(error) => Error::in_file(name_of(folder), error),
    })
}

/// True for each added token that is special: by `tokenizer.json`, else by `tokenizer_config.json`.
fn special_tokens(folder: &Path) -> Result<HashMap<u64, bool>> {
    let is_special = |token: &Value| token.get("special").and_then(Value::as_bool).unwrap_or(true);
    let settings = read_json(&folder.join("tokenizer_config.json"))?.unwrap_or_default();
    let decoded = settings.get("added_tokens_decoder").and_then(Value::as_object);
    let of = |(id, token): (&String, &Value)| Some((id.parse().ok()?, is_special(token)));
    let decoded = decoded.into_iter().flatten().filter_map(of);
    let text = FolderTexts::new(folder).get("tokenizer.json")?;
    let tokenizer = text.as_deref().map(|text| json::Value::parse(text, 0)).transpose();
    let tokenizer = tokenizer.map_err(|error| Error::in_file(name_of(folder), error))?;
    let added = tokenizer.and_then(|tokenizer| tokenizer.member("added_tokens"));
    let of = |token: json::Value<'_>| {
        let is_special = token.member("special").and_then(|it| it.as_bool()).unwrap_or(true);
        Some((token.member("id")?.as_u64()?, is_special))
    };
    let added = added.iter().flat_map(json::Value::items).filter_map(of);
    hashed::map(decoded.chain(added)).map_err(|error| Error::in_file(name_of(folder), error))
}

type Written = std::result::Result<(), Unwritten>;

/// The reason that a tokenizer is not written.
enum Unwritten {
    /// GGUF has no words for this of it.
    Without(String),
    Failed(CoreError),
}

impl From<String> for Unwritten {
    fn from(words: String) -> Self {
        Self::Without(words)
    }
}

impl From<&str> for Unwritten {
    fn from(words: &str) -> Self {
        Self::Without(words.to_owned())
    }
}

impl From<CoreError> for Unwritten {
    fn from(error: CoreError) -> Self {
        Self::Failed(error)
    }
}

/// Tokens in the order of their ids.
#[derive(Default)]
struct Tokens {
    spellings: Vec<Vec<u8>>,
    scores: Vec<f32>,
    kinds: Vec<PieceKind>,
}

impl Tokens {
    fn push(
        &mut self,
        spelling: &[u8],
        score: f32,
        kind: PieceKind,
    ) -> std::result::Result<(), CoreError> {
        limit::push(&mut self.spellings, limit::joined_bytes(&[spelling])?)?;
        limit::push(&mut self.scores, score)?;
        limit::push(&mut self.kinds, kind)
    }

    /// Adds them, and tokens that no text has for the other `rows`. Added tokens without a row are
    /// left out: the model does not know them.
    fn write(mut self, metadata: &mut Metadata, rows: Option<usize>, has_scores: bool) -> Written {
        let rows = rows.unwrap_or(self.spellings.len());
        for id in self.spellings.len()..rows {
            self.push(format!("[PAD{id}]").as_bytes(), ADDED_SCORE, PieceKind::Unused)?;
        }
        let is_added = |kind: &PieceKind| {
            use PieceKind::{Control, Unused, UserDefined};
            [Control, UserDefined, Unused].contains(kind)
        };
        if !self.kinds.iter().skip(rows).all(is_added) {
            let tokens = self.kinds.len();
            let words = format!("it has {tokens} tokens, and the model {rows} vectors for them");
            return Err(words.into());
        }
        self.spellings.truncate(rows);
        self.scores.truncate(rows);
        self.kinds.truncate(rows);
        metadata.add(Key::Tokens, OwnValue::Texts(self.spellings));
        if has_scores {
            metadata.add(Key::Scores, OwnValue::F32s(self.scores));
        }
        metadata.add(Key::TokenTypes, OwnValue::token_types(&self.kinds)?);
        Ok(())
    }
}

/// SentencePiece as llama.cpp has it: neighbours are merged, and texts are not normalised.
fn sentence_pieces(
    metadata: &mut Metadata,
    (tokenizer, pieces): (&Tokenizer<'_>, &SentencePiece<'_>),
    special: &HashMap<u64, bool>,
    rows: Option<usize>,
) -> Written {
    let spec = pieces.spec();
    for (is_so, why) in [
        (spec.algorithm != Algorithm::Bpe, "its pieces are not merged (Unigram)"),
        (spec.normalizes(), "it normalises texts by rules"),
        (spec.remove_extra_whitespaces, "it removes white space"),
        (spec.whitespace_as_suffix, "its spaces stand after words"),
        (!spec.escape_whitespaces, "its spaces stay as they are"),
    ] {
        if is_so {
            return Err(why.into());
        }
    }
    let mut tokens = Tokens::default();
    for id in 0..spec.pieces() {
        let (spelling, kind) = pieces.piece(id).ok_or("a piece is no text")?;
        let score = pieces.score(id).unwrap_or(ADDED_SCORE);
        if !tokenizer.added().contains(&id) {
            tokens.push(spelling.as_bytes(), score, kind)?;
        } else if special.get(&u64::from(id)).copied().unwrap_or(true) {
            tokens.push(spelling.as_bytes(), ADDED_SCORE, PieceKind::Control)?;
        } else {
            // Texts are searched for these before their spaces are replaced.
            let spelling = limit::replaced(spelling, "▁", " ")?;
            tokens.push(spelling.as_bytes(), ADDED_SCORE, PieceKind::UserDefined)?;
        }
    }
    metadata.text(Key::TokenizerModel, "llama");
    metadata.text(Key::TokenizerPre, "default");
    tokens.write(metadata, rows, true)?;
    metadata.add(Key::AddsSpace, OwnValue::Bool(spec.add_dummy_prefix));
    metadata.id(Key::UnknownId, pieces.unknown());
    metadata.id(Key::PaddingId, pieces.padding());
    Ok(())
}

fn byte_pairs(
    metadata: &mut Metadata,
    tokenizer: &Tokenizer<'_>,
    special: &HashMap<u64, bool>,
    rows: Option<usize>,
) -> Written {
    let pre = match pattern(tokenizer) {
        // llama.cpp does not bring texts into the form NFC for it, either.
        Some((pattern, ignores)) => PreTokenizer::name(pattern, ignores).ok_or_else(|| {
            let whole = if ignores { "takes" } else { "does not take" };
            format!(
                "it cuts texts as {} and {whole} whole words before merges, which no `tokenizer.ggml.pre` does",
                pattern.name()
            )
        })?,
        None => return Err("its way to cut texts is not known".into()),
    };
    let (merges, spellings) = borrowed(tokenizer)?;
    let mut tokens = Tokens::default();
    for spelling in spellings {
        tokens.push(spelling, 0.0, PieceKind::Normal)?;
    }
    for id in tokenizer.added() {
        let is_special = special.get(&u64::from(*id)).copied().unwrap_or(true);
        let kind = usize::try_from(*id).ok().and_then(|id| tokens.kinds.get_mut(id));
        if let Some(kind) = kind {
            *kind = if is_special { PieceKind::Control } else { PieceKind::UserDefined };
        }
    }
    metadata.text(Key::TokenizerModel, "gpt2");
    metadata.text(Key::TokenizerPre, pre);
    tokens.write(metadata, rows, false)?;
    let merge =
        |(left, right): &(&str, &str)| limit::joined(&[left, " ", right]).map(String::into_bytes);
    metadata.add(Key::Merges, OwnValue::Texts(limit::gathered(merges.iter().map(merge))?));
    Ok(())
}

/// The tokens around texts, and those that end one.
fn ends(metadata: &mut Metadata, tokenizer: &Tokenizer<'_>) -> Written {
    const END_KEYS: [Key; 3] = [Key::EndId, Key::EndOfTurnId, Key::EndOfMessageId];
    let (ends, ids) = (tokenizer.ends(), end_ids(tokenizer).map_err(|error| error.to_string())?);
    if ids.len() > END_KEYS.len() {
        let words = format!("{} tokens end its texts, for which there are three keys", ids.len());
        return Err(words.into());
    }
    metadata.id(Key::BeginId, tokenizer.begin());
    for (key, id) in END_KEYS.into_iter().zip(ids) {
        metadata.id(key, Some(id));
    }
    metadata.add(Key::AddsBegin, OwnValue::Bool(ends.begin.is_some()));
    metadata.add(Key::AddsEnd, OwnValue::Bool(ends.append.is_some()));
    Ok(())
}

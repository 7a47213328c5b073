//! The tokenizer of a decoder whose folder has a `tokenizer.json`: byte-level BPE, or SentencePiece
//! that merges.

mod overlap;
mod pieces;

use std::borrow::Cow;
use std::path::Path;

use nanoembed_core::limit::{self, Limit};
use nanoembed_core::owned::{BytePairs, Pipeline, PipelineParts};
use nanoembed_core::source::{byte_pairs::BpeParts, byte_pairs::BpeSource};
use nanoembed_core::token::bpe::Pattern;
use nanoembed_core::token::bpe::alphabet::character;
use nanoembed_core::token::spec::{
    BpeSpec, Decoder, MergesSpec, ModelKind, PreTokenizer, SpelledStep, TokenizerSpec,
};
use nanoembed_core::token::{AddedRules, LengthPrefix, TextEnds};
use nanoembed_core::{Error as CoreError, ErrorKind};

use self::overlap::Overlap;
use super::ends::FolderEnds;
use super::tokenizer::Tokenizer;
use crate::error::{Error, Result, name_of};
use crate::numbered::Numbered;

/// A description of a tokenizer, and its vocabulary.
pub(super) struct Described<'p> {
    path: &'p Path,
    spec: TokenizerSpec<'p>,
    bpe: BpeSpec<'p>,
    parts: PipelineParts<'p>,
    /// Added tokens by their ids.
    added: Numbered<String>,
}

impl<'p> Described<'p> {
    /// The description that `pipeline` was made of, which the file at `path` has.
    pub(super) fn new(path: &'p Path, pipeline: &'p Pipeline) -> Result<Self> {
        let failed = |error| Error::in_file(name_of(path), error);
        let spec = pipeline.spec().map_err(|fault| failed(fault.error))?;
        let ModelKind::Bpe(bpe) = spec.model.kind else {
            return Err(unsupported(path, "only BPE models are known"));
        };
        let parts = pipeline.parts().map_err(failed)?;
        let mut this = Self { path, spec, bpe, parts, added: Numbered::default() };
        this.read_added(pipeline)?;
        Ok(this)
    }

    /// The tokenizer; `ends` are the tokens around texts by the folder's other files.
    pub(super) fn tokenizer(&self, ends: &FolderEnds) -> Result<Tokenizer<'static>> {
        if self.escapes_spaces() {
            return self.sentence_pieces(ends);
        }
        self.check_model()?;
        self.check_decoder()?;
        self.check_normalized()?;
        let around = self.around(ends)?;
        let pairs = self.byte_pairs(around)?;
        Tokenizer::from_byte_pairs(pairs, around.begin.or(ends.begin))
            .map_err(|error| Error::in_file(name_of(self.path), error))
    }

    /// Byte-level BPE as files store it.
    fn byte_pairs(&self, ends: TextEnds) -> Result<BytePairs<Cow<'static, [u8]>>> {
        let (pattern, tokens) = (self.pattern()?, self.tokens()?);
        let failed = |error| self.failed(error);
        let large = |_| failed(CoreError::without_offset(ErrorKind::BadVocabulary));
        let mut entries = Vec::new();
        for token in &tokens {
            let length = u32::try_from(token.len()).map_err(large)?;
            limit::append(&mut entries, &length.to_le_bytes()).map_err(failed)?;
            limit::append(&mut entries, token).map_err(failed)?;
        }
        let mut merges = String::new();
        for part in self.merges()?.into_iter().flat_map(|(left, right)| [left, " ", right, "\n"]) {
            limit::write(&mut merges, part).map_err(failed)?;
        }
        let mut added = String::new();
        for (id, _) in self.added.iter() {
            let space = if added.is_empty() { "" } else { " " };
            limit::write(&mut added, space).map_err(failed)?;
            limit::write(&mut added, &id.to_string()).map_err(failed)?;
        }
        let source = BpeSource::parts(&BpeParts {
            pattern,
            tokens: &entries,
            offset: 0,
            count: u32::try_from(tokens.len()).map_err(large)?,
            prefix: LengthPrefix::U32,
            merges: &merges,
            added: &added,
            ignores_merges: self.bpe.ignores_merges,
            composes: self.composes()?,
            ends,
        });
        let pairs = BytePairs::new(&source).map_err(failed)?;
        Ok(pairs.over(Cow::Owned(entries)))
    }

    /// Reads the added tokens; refuses those that `tokenizers` gives other ids, and rules that are
    /// not done here.
    fn read_added(&mut self, pipeline: &Pipeline) -> Result<()> {
        let mut added = Vec::new();
        for token in self.spec.added.iter() {
            let token = token.map_err(|fault| Error::in_file(name_of(self.path), fault.error))?;
            let content = limit::formatted(format_args!("{}", token.content));
            let (id, content) = (token.id, content.map_err(|error| self.failed(error))?);
            if token.rules != AddedRules::default() {
                let message =
                    format!("the added token {content:?} has `lstrip`, `rstrip` or `single_word`");
                return Err(self.unsupported(message));
            }
            let theirs = pipeline.id(&content);
            if theirs != Some(id) {
                let theirs = theirs.map_or("none".into(), |id| id.to_string());
                let message = format!(
                    "the added token {content:?} has the id {id}, and `tokenizers` gives it {theirs}"
                );
                return Err(self.unsupported(message));
            }
            limit::push(&mut added, (id, content)).map_err(|error| self.failed(error))?;
        }
        self.added = Numbered::new(added).map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Refuses settings of BPE that are not done here.
    fn check_model(&self) -> Result<()> {
        if !self.bpe.prefix.is_empty() || !self.bpe.suffix.is_empty() {
            let message = "its model has `continuing_subword_prefix` or `end_of_word_suffix`";
            return Err(self.unsupported(message));
        }
        let mut room = [0; 4];
        let has = |byte| self.has_token(character(byte).encode_utf8(&mut room));
        // Nothing is unknown where all bytes have tokens; otherwise the text is refused.
        let names_unknown = self.bpe.unknown.is_some() || self.bpe.fuses_unknown;
        match !names_unknown || (0..=u8::MAX).all(has) {
            true => Ok(()),
            false => Err(self.unsupported("it has no tokens for all bytes")),
        }
    }

    /// True if texts are normalised to Unicode NFC first; other normalisers are refused.
    fn composes(&self) -> Result<bool> {
        self.spec.composes("").map_err(|_| {
            let named = names(&self.spec.normalizer);
            self.unsupported(format!("it normalises texts (`normalizer`: {named})"))
        })
    }

    /// Refuses other ways from tokens to texts than that of bytes.
    fn check_decoder(&self) -> Result<()> {
        match self.spec.decoder.as_deref() {
            None | Some([SpelledStep { does: Decoder::ByteLevel, .. }]) => Ok(()),
            Some(steps) => Err(self.unsupported(format!("its decoder is {}", names(steps)))),
        }
    }

    /// Added tokens that are `normalized` are looked for in normalised text, where others have left
    /// it: refuses them where that is not to look for all at once.
    fn check_normalized(&self) -> Result<()> {
        let all = || self.spec.added.iter().flatten();
        let of_kind = |normalized| {
            let tokens = all().filter(move |token| token.normalized == normalized);
            limit::gathered(tokens.map(|token| limit::formatted(format_args!("{}", token.content))))
                .map_err(|error| self.failed(error))
        };
        let written = of_kind(false)?;
        let written = Overlap::new(&written).map_err(|error| self.failed(error))?;
        let has_normalizer = !self.spec.normalizer.is_empty();
        let normalized = of_kind(true)?;
        match normalized.iter().find(|it| has_normalizer || !written.is(it.as_bytes())) {
            Some(token) => {
                Err(self.unsupported(format!("the added token {token:?} has `normalized`")))
            }
            None => Ok(()),
        }
    }

    fn pattern(&self) -> Result<Pattern> {
        if let [
            SpelledStep { does: PreTokenizer::Digits { alone: true }, .. },
            SpelledStep {
                does: PreTokenizer::ByteLevel { adds_space: false, splits: true }, ..
            },
        ] = &self.spec.pre_tokenizer[..]
        {
            return Ok(Pattern::SmolLm);
        }
        self.spec.byte_level_words("").map_err(|_| {
            let named = names(&self.spec.pre_tokenizer);
            self.unsupported(format!("it cuts texts by {named} in a way of its own"))
        })
    }

    fn has_token(&self, token: &str) -> bool {
        self.parts.tokens.contains(&token)
    }

    /// All tokens in the order of their ids; ids that no token has get names that no text has.
    fn tokens(&self) -> Result<Vec<Cow<'_, [u8]>>> {
        let own = self.parts.tokens.iter().filter(|token| !token.is_empty()).count();
        let last = self.added.last().map_or(0, |id| id as usize + 1);
        let count = self.parts.tokens.len().max(last);
        let named = own + self.added.iter().len();
        let most = Limit::ids_of(named);
        if count > most {
            let last = count.saturating_sub(1);
            let message = format!("its ids go up to {last}, but it has {named} tokens");
            return Err(Error::input(ErrorKind::OverLimit, message)
                .at(self.path.display())
                .with_hint(format!("so few tokens may have ids below {most}")));
        }
        let token = |id: usize| {
            let added = u32::try_from(id).ok().and_then(|id| self.added.get(id));
            let own = self.parts.tokens.get(id).copied().filter(|token| !token.is_empty());
            match added.map(String::as_str).or(own) {
                Some(token) => Cow::Borrowed(token.as_bytes()),
                None => Cow::Owned(format!("[no token {id}]").into_bytes()),
            }
        };
        limit::exactly((0..count).map(token)).map_err(|error| self.failed(error))
    }

    /// The texts of both parts of all merges.
    fn merges(&self) -> Result<Vec<(&str, &str)>> {
        // `tokenizers` takes the last of those that are there twice, others the first.
        if !matches!(self.bpe.merges, MergesSpec::Apart(all) if all == self.parts.merges.len() as u64)
        {
            return Err(self.unsupported("two tokens are merged twice"));
        }
        let token = |id: u32| {
            let token = usize::try_from(id).ok().and_then(|id| self.parts.tokens.get(id));
            token.copied().unwrap_or_default()
        };
        let merges = self.parts.merges.iter().map(|(left, right)| (token(*left), token(*right)));
        limit::exactly(merges).map_err(|error| self.failed(error))
    }

    /// The tokens around texts, by the template of a single text.
    fn around(&self, ends: &FolderEnds) -> Result<TextEnds> {
        let many = "its template is not one place for the text, with at most a token before and one after it";
        let around = self.spec.post_processor.ends().ok_or_else(|| self.unsupported(many))?;
        let [begin, append] = around.map(|token| token.map(|token| token.id));
        Ok(TextEnds { begin, append, end: ends.end })
    }

    fn failed(&self, error: CoreError) -> Error {
        Error::in_file(name_of(self.path), error)
    }

    fn unsupported(&self, why: impl AsRef<str>) -> Error {
        unsupported(self.path, why)
    }
}

fn unsupported(path: &Path, why: impl AsRef<str>) -> Error {
    let message = format!("this tokenizer is not known: {}", why.as_ref());
    Error::input(ErrorKind::UnsupportedTokenizer, message).at(path.display())
}

/// The kinds of steps.
fn names<S>(steps: &[SpelledStep<'_, S>]) -> String {
    let names: Vec<&str> = steps.iter().map(|step| step.unsupported("").key).collect();
    format!("{names:?}")
}

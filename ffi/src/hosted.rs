//! Models of every family, with memory of their own: what needs a heap.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use memmap2::Mmap;
use nanoembed_core::ErrorKind;
use nanoembed_core::limit::reserved;
use nanoembed_core::model::{InOrder, Plan};
use nanoembed_core::owned::folder::{AbsentSettings, FolderFault, FolderModel, Prefix};
use nanoembed_core::owned::{
    Encoder, FileWeights, ModelFault, Prompt, Session, TextSession, Tokenized,
};
use nanoembed_core::token::Encoded;

use crate::host_file;
use crate::limits::nanoembed_limits;
use crate::model_options::{
    MOST_TOKENS, NANOEMBED_ACTIVATIONS_AUTO, NANOEMBED_ACTIVATIONS_FIXED,
    NANOEMBED_ACTIVATIONS_FLOAT, NANOEMBED_VOCABULARY_AUTO, NANOEMBED_VOCABULARY_INDEXED,
    NANOEMBED_VOCABULARY_NONE, nanoembed_model_options, quantizes,
};
use crate::status::{Failure, INVALID, NANOEMBED_CANNOT_OPEN, Outcome, TOO_SMALL, invalid};

/// A file of a model: the caller's, or one that is mapped for it.
#[derive(Debug)]
pub(crate) enum Data {
    Lent(&'static [u8]),
    Mapped(Mmap),
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// A model of any family.
#[derive(Debug)]
pub(crate) struct HostedModel {
    pub(crate) encoder: Encoder<FileWeights<Data>>,
    /// How the longest text is computed, of as many tokens as are used.
    plan: Plan,
    /// True if texts are tokenised; else they come as token ids.
    tokenizes: bool,
    /// That unknown settings are ignored.
    warnings: Vec<CString>,
}

/// How a model is to be opened, and what it may take.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) options: &'a nanoembed_model_options,
    pub(crate) limits: &'a nanoembed_limits,
    /// Names of unknown settings that are ignored.
    pub(crate) allowed: &'a [String],
}

/// The scratch memory and prompt of one thread.
#[derive(Debug, Default)]
pub(crate) struct HostedSession {
    pub(crate) tokens: TextSession,
    session: Option<Session>,
    /// Tokens that it has room for.
    room: usize,
    pub(crate) prompt: Option<Prompt>,
    /// True if the prompt differs from the model's default one.
    pub(crate) is_chosen: bool,
}

impl HostedModel {
    /// The model in a file. What is at fault, if that has a name, goes to `name`.
    pub(crate) fn open(file: Data, asked: Asked<'_>, name: &mut String) -> Outcome<Self> {
        asked.limits.check_files(file.as_ref().len() as u64)?;
        let opened = Encoder::open_allowing(file, asked.allowed);
        let (encoder, absent) = opened.map_err(|why| fault(why, name))?;
        Self::new(encoder, asked)?.with_warnings(absent.faults())
    }

    /// The model at a path, which is a file or a folder.
    pub(crate) fn open_path(path: &Path, asked: Asked<'_>, name: &mut String) -> Outcome<Self> {
        match path.is_dir() {
            true => Self::open_folder(path, asked, name),
            false => Self::open(Data::Mapped(host_file::map(path)?), asked, name),
        }
    }

    fn open_folder(folder: &Path, asked: Asked<'_>, name: &mut String) -> Outcome<Self> {
        let texts = |path: &str| host_file::read_text(&folder.join(path));
        let absent = AbsentSettings::in_folder(&texts, asked.allowed);
        let absent = absent.map_err(|why| fault(why.into(), name))?;
        let texts = |path: &str| absent.text(&texts, path);
        let model = FolderModel::read(&texts).map_err(|why| fault(why.into(), name))?;
        let paths = model.weight_files(&texts, &|path| folder.join(path).exists());
        let paths = paths.map_err(|why| fault(why.into(), name))?;
        let (mut files, mut bytes) = (Vec::new(), 0_u64);
        for path in paths {
            let file = host_file::map(&folder.join(&path))?;
            bytes = bytes.saturating_add(file.len() as u64);
            asked.limits.check_files(bytes)?;
            files.push((path, Data::Mapped(file)));
        }
        let opened = Encoder::open_folder(&texts, files);
        let opened = Self::new(opened.map_err(|why| fault(why, name))?, asked)?;
        opened.with_warnings(absent.faults())
    }

    /// The same model with the warnings that these settings are ignored.
    fn with_warnings(mut self, ignored: &[FolderFault]) -> Outcome<Self> {
        self.warnings = reserved(ignored.len())?;
        for setting in ignored {
            // The names that were allowed had no zeros either.
            let warning = CString::new(setting.warning()?).map_err(|_| INVALID)?;
            self.warnings.push(warning);
        }
        Ok(self)
    }

    /// The warning of this index.
    pub(crate) fn warning(&self, index: usize) -> Option<&CStr> {
        self.warnings.get(index).map(CString::as_c_str)
    }

    /// Every way of opening ends here, so that no option is passed over: `tile_bytes` alone has no
    /// meaning, as files lie in memory.
    fn new(
        encoder: Encoder<FileWeights<Data>>,
        Asked { options, limits, .. }: Asked<'_>,
    ) -> Outcome<Self> {
        let tokenizes = match options.vocabulary {
            NANOEMBED_VOCABULARY_AUTO | NANOEMBED_VOCABULARY_INDEXED => true,
            NANOEMBED_VOCABULARY_NONE => false,
            _ => return Err(invalid("vocabulary")),
        };
        let made_for = encoder.plan(limit(&encoder, options.tokens)?);
        let quantized = quantizes_in(&encoder, options, made_for.quantized)?;
        let block = options.block_tokens as usize;
        let plan = Plan { quantized, block, ..made_for };
        let model = Self { encoder, plan, tokenizes, warnings: Vec::new() };
        limits.check_workspace(model.session_bytes()?)?;
        Ok(model)
    }

    /// How a text of so many tokens is computed.
    fn plan(&self, tokens: usize) -> Plan {
        let Plan { quantized, block, .. } = self.plan;
        Plan { quantized, block, ..self.encoder.plan(tokens) }
    }

    /// Bytes of scratch memory that the longest text takes.
    pub(crate) fn session_bytes(&self) -> Outcome<usize> {
        Ok(self.encoder.session_bytes(self.plan)?)
    }

    pub(crate) fn dimensions(&self) -> usize {
        if self.encoder.compares() { 0 } else { self.encoder.dimensions() }
    }

    pub(crate) fn max_tokens(&self) -> usize {
        self.encoder.usual_tokens()
    }

    pub(crate) fn positions(&self) -> usize {
        self.encoder.positions()
    }

    /// Tokens of a text that are used.
    pub(crate) const fn limit(&self) -> usize {
        self.plan.tokens
    }

    pub(crate) const fn tokenizes(&self) -> bool {
        self.tokenizes
    }

    pub(crate) const fn quantized(&self) -> bool {
        self.plan.quantized
    }

    /// The prompt that stands before texts.
    pub(crate) fn set_prompt(&self, session: &mut HostedSession, prefix: &Prefix) -> Outcome {
        let chosen = self.encoder.prompts().choose(prefix);
        let chosen = chosen.map_err(|_| invalid("prompt"))?;
        session.prompt = Some(self.encoder.prompt(chosen, &mut session.tokens)?);
        session.is_chosen = *prefix != Prefix::Usual;
        Ok(())
    }

    /// The tokens of a text after its prompt, at most `limit`, and how many of them do not count.
    pub(crate) fn encode(
        &self,
        session: &mut HostedSession,
        text: &str,
        limit: usize,
    ) -> Outcome<(Tokenized, usize)> {
        self.check_tokenizes()?;
        if session.prompt.is_none() {
            self.set_prompt(session, &Prefix::Usual)?;
        }
        let prompt = session.prompt.as_ref().ok_or(INVALID)?;
        let found = self.encoder.encode(&prompt.before(text)?, limit, &mut session.tokens)?;
        Ok((found, prompt.skipped))
    }

    pub(crate) fn tokenize(
        &self,
        session: &mut HostedSession,
        text: &str,
        ids: &mut [u32],
    ) -> Outcome<Encoded> {
        let (found, _) = self.encode(session, text, self.limit().min(ids.len()))?;
        for (place, id) in ids.iter_mut().zip(&found.ids) {
            *place = *id;
        }
        Ok(encoded(&found))
    }

    pub(crate) fn embed_text(
        &self,
        session: &mut HostedSession,
        text: &str,
        out: &mut [f32],
    ) -> Outcome<Encoded> {
        if self.encoder.compares() {
            return Err(ErrorKind::OtherModel.into());
        }
        let (found, skipped) = self.encode(session, text, self.limit())?;
        self.embed(session, &found.ids, skipped, out)?;
        Ok(encoded(&found))
    }

    pub(crate) fn embed_ids(
        &self,
        session: &mut HostedSession,
        ids: &[u32],
        out: &mut [f32],
    ) -> Outcome {
        if ids.is_empty() {
            return Err(INVALID);
        }
        // As in lent memory, a workspace has room for no more than was asked for; what no model of
        // this kind could take is told below.
        let is_possible = !self.encoder.is_table() && ids.len() <= self.positions();
        if is_possible && ids.len() > self.limit() {
            return Err(TOO_SMALL);
        }
        self.embed(session, ids, 0, out)
    }

    fn embed(
        &self,
        session: &mut HostedSession,
        ids: &[u32],
        skipped: usize,
        out: &mut [f32],
    ) -> Outcome {
        let skipped = skipped.min(ids.len());
        let room = self.session(session, ids.len())?;
        Ok(self.encoder.embed(room, &InOrder, ids, &[ids.len()], skipped, out)?)
    }

    /// How well a document answers a query.
    pub(crate) fn score(
        &self,
        session: &mut HostedSession,
        query: &str,
        document: &str,
    ) -> Outcome<f32> {
        if self.multi_dimensions() > 0 {
            return self.max_sim(session, query, document);
        }
        let classes = self.encoder.classes().filter(|it| it.labels().len() == 1);
        let classes = classes.ok_or(ErrorKind::OtherModel)?;
        self.check_tokenizes()?;
        let (encoder, limit, tokens) = (&self.encoder, self.limit(), &mut session.tokens);
        let instruction = session.prompt.as_ref().filter(|_| encoder.takes_instruction());
        let pair = match instruction {
            Some(it) => encoder.encode_instructed(&it.text, (query, document), limit, tokens),
            None => encoder.encode_pair(query, document, limit, tokens),
        }?;
        let room = self.session(session, pair.ids.len())?;
        let mut logits = [0.0];
        self.encoder.classify(room, &InOrder, &[pair], &mut logits)?;
        classes.score(&mut logits);
        Ok(logits[0])
    }

    pub(crate) fn check_tokenizes(&self) -> Outcome {
        if self.tokenizes { Ok(()) } else { Err(ErrorKind::MissingVocabulary.into()) }
    }

    /// The scratch memory for so many tokens, which grows with the longest text.
    pub(crate) fn session<'s>(
        &self,
        session: &'s mut HostedSession,
        tokens: usize,
    ) -> Outcome<&'s mut Session> {
        let kept = session.session.take().filter(|_| session.room >= tokens);
        let made = match kept {
            Some(kept) => kept,
            None => {
                session.room = tokens;
                self.encoder.session_for(self.plan(tokens))?
            }
        };
        Ok(session.session.insert(made))
    }
}

/// Tokens of a text that are used. Texts are not computed together: room for more than one of them
/// may have is not taken.
fn limit(encoder: &Encoder<FileWeights<Data>>, tokens: u32) -> Outcome<usize> {
    let (least, positions) = (encoder.least_tokens(), encoder.positions());
    match tokens as usize {
        0 => Ok(encoder.usual_tokens()),
        tokens if tokens < least || tokens > positions.max(MOST_TOKENS as usize) => {
            Err(invalid("tokens"))
        }
        tokens => Ok(tokens.min(positions)),
    }
}

/// Returns true if activations are quantised. Integer-only computation is for models in lent
/// memory, and a table has no activations.
fn quantizes_in(
    encoder: &Encoder<FileWeights<Data>>,
    options: &nanoembed_model_options,
    made_for: bool,
) -> Outcome<bool> {
    match options.activations {
        NANOEMBED_ACTIVATIONS_AUTO | NANOEMBED_ACTIVATIONS_FLOAT if encoder.is_table() => Ok(false),
        NANOEMBED_ACTIVATIONS_FIXED => Err(invalid("activations")),
        _ if encoder.is_table() => Err(invalid("activations")),
        asked => quantizes(asked, made_for),
    }
}

pub(crate) fn encoded(found: &Tokenized) -> Encoded {
    Encoded::new(found.ids.len(), found.total, found.truncated)
}

fn fault(fault: ModelFault, name: &mut String) -> Failure {
    let found = match &fault {
        ModelFault::Text(fault) if fault.is_missing_file() => {
            name.push_str(&fault.file);
            return Failure::here(NANOEMBED_CANNOT_OPEN);
        }
        ModelFault::Text(fault) if fault.key.is_empty() => &fault.file,
        ModelFault::Text(fault) => &fault.key,
        ModelFault::Tensor(fault) => &fault.tensor,
        ModelFault::Key { key, .. } => key,
        _ => "",
    };
    name.push_str(found);
    Failure::core(fault.error())
}

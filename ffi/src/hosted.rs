//! Models of every family, with memory of their own: what needs a heap.

use std::path::Path;
use std::string::String;
use std::vec::Vec;

use memmap2::Mmap;
use nanoembed_core::ErrorKind;
use nanoembed_core::model::{Batch, InOrder};
use nanoembed_core::owned::folder::{FolderModel, Prefix};
use nanoembed_core::owned::{AnyEncoder, ModelFault, PipelineSession, Prompt, Session, Tokenized};
use nanoembed_core::token::Encoded;

use crate::host_file;
use crate::limits::nanoembed_limits;
use crate::status::{Failure, INVALID, Outcome, invalid};

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
    encoder: AnyEncoder<Data>,
    /// Tokens of a text that are used.
    limit: usize,
}

/// What one thread embeds with.
#[derive(Debug, Default)]
pub(crate) struct HostedSession {
    tokens: PipelineSession,
    session: Option<Session>,
    /// Tokens that it has room for.
    room: usize,
    prompt: Option<Prompt>,
}

impl HostedModel {
    /// The model in a file, for texts of up to `tokens` tokens. What is at fault, if that has a
    /// name, goes to `name`.
    pub(crate) fn open(
        file: Data,
        (tokens, limits): (u32, &nanoembed_limits),
        name: &mut String,
    ) -> Outcome<Self> {
        limits.check_files(file.as_ref().len() as u64)?;
        Self::of(AnyEncoder::open(file).map_err(|why| fault(why, name))?, tokens, limits)
    }

    /// The model at a path, which is a file or a folder.
    pub(crate) fn open_path(
        path: &Path,
        bounds: (u32, &nanoembed_limits),
        name: &mut String,
    ) -> Outcome<Self> {
        match path.is_dir() {
            true => Self::open_folder(path, bounds, name),
            false => Self::open(Data::Mapped(host_file::map(path)?), bounds, name),
        }
    }

    fn open_folder(
        folder: &Path,
        (tokens, limits): (u32, &nanoembed_limits),
        name: &mut String,
    ) -> Outcome<Self> {
        let texts = |path: &str| host_file::read_text(&folder.join(path));
        let model = FolderModel::read(&texts).map_err(|why| fault(why.into(), name))?;
        let paths = model.weight_files(&texts, &|path| folder.join(path).exists());
        let paths = paths.map_err(|why| fault(why.into(), name))?;
        let (mut files, mut bytes) = (Vec::new(), 0_u64);
        for path in paths {
            let file = host_file::map(&folder.join(&path))?;
            bytes = bytes.saturating_add(file.len() as u64);
            limits.check_files(bytes)?;
            files.push((path, Data::Mapped(file)));
        }
        let opened = AnyEncoder::open_folder(&texts, files);
        Self::of(opened.map_err(|why| fault(why, name))?, tokens, limits)
    }

    fn of(encoder: AnyEncoder<Data>, tokens: u32, limits: &nanoembed_limits) -> Outcome<Self> {
        let usual = encoder.usual_tokens();
        let limit = match tokens as usize {
            0 => usual,
            tokens if tokens < encoder.least_tokens() => return Err(invalid("tokens")),
            tokens => tokens.min(encoder.positions()),
        };
        let model = Self { encoder, limit };
        limits.check_workspace(model.session_bytes()?)?;
        Ok(model)
    }

    /// Bytes of scratch memory that the longest text takes.
    pub(crate) fn session_bytes(&self) -> Outcome<usize> {
        Ok(self.encoder.session_bytes(self.encoder.plan(self.limit))?)
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

    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// The prompt that stands before texts.
    pub(crate) fn set_prompt(&self, session: &mut HostedSession, prefix: &Prefix) -> Outcome {
        let chosen = self.encoder.prompts().choose(prefix);
        let chosen = chosen.map_err(|_| invalid("prompt"))?;
        session.prompt = Some(self.encoder.prompt(chosen, &mut session.tokens)?);
        Ok(())
    }

    /// The tokens of a text behind its prompt, at most `limit`, and how many of them do not count.
    fn encode(
        &self,
        session: &mut HostedSession,
        text: &str,
        limit: usize,
    ) -> Outcome<(Tokenized, usize)> {
        if session.prompt.is_none() {
            self.set_prompt(session, &Prefix::Usual)?;
        }
        let prompt = session.prompt.as_ref().ok_or(INVALID)?;
        let found = self.encoder.encode(&prompt.before(text), limit, &mut session.tokens)?;
        Ok((found, prompt.skipped))
    }

    pub(crate) fn tokenize(
        &self,
        session: &mut HostedSession,
        text: &str,
        ids: &mut [u32],
    ) -> Outcome<Encoded> {
        let (found, _) = self.encode(session, text, self.limit.min(ids.len()))?;
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
        let (found, skipped) = self.encode(session, text, self.limit)?;
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
        let classes = self.encoder.classes().filter(|it| it.labels().len() == 1);
        let classes = classes.ok_or(ErrorKind::OtherModel)?;
        let pair = self.encoder.encode_pair(query, document, self.limit, &mut session.tokens)?;
        let (ids, types) = (&pair.ids[..], &pair.types[..]);
        let room = self.session(session, ids.len())?;
        let mut logits = [0.0];
        let texts = Batch { ids, types, lengths: &[ids.len()] };
        self.encoder.classify(room, &InOrder, &texts, &mut logits)?;
        classes.score(&mut logits);
        Ok(logits[0])
    }

    /// The scratch memory for so many tokens, which grows with the longest text.
    fn session<'s>(
        &self,
        session: &'s mut HostedSession,
        tokens: usize,
    ) -> Outcome<&'s mut Session> {
        let kept = session.session.take().filter(|_| session.room >= tokens);
        let made = match kept {
            Some(kept) => kept,
            None => {
                session.room = tokens;
                self.encoder.session_for(self.encoder.plan(tokens))?
            }
        };
        Ok(session.session.insert(made))
    }
}

fn encoded(found: &Tokenized) -> Encoded {
    Encoded::new(found.ids.len(), found.total, found.truncated)
}

fn fault(fault: ModelFault, name: &mut String) -> Failure {
    let found = match &fault {
        ModelFault::Text(fault) => &fault.key,
        ModelFault::Tensor(fault) => &fault.tensor,
        ModelFault::Key { key, .. } => key,
        _ => "",
    };
    name.push_str(found);
    Failure::core(fault.error())
}

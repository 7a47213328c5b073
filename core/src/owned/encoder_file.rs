//! Encoders of all families in `.weights` and `.amb` files, in little code.

use alloc::string::String;
use alloc::vec::Vec;

use super::empty_texts::embed_nonempty;
use super::file_weights::without_names;
use super::tokenizer_room::TokenizerRoom;
use super::{Prompt, Session, TokenEncoder, Tokenized};
use crate::describe::folder::FolderPrompt;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::filled;
use crate::limit::{collected, copied, grow};
use crate::model::{Batch, InOrder, Plan};
use crate::source::AmbFolder;
use crate::source::folder_tokenizer::{
    FolderTokenizer, FolderTokenizerSource, TokenizingMemory, TokenizingNeeds,
};
use crate::source::{FolderFile, ModelSource, TransformerSource};
use crate::text::json::{Fault, Read, chars};
use crate::token::Encoded;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::unigram::Step;

/// Tokens that there is room for at least when a text is tokenised.
const LEAST_TOKENS: usize = 128;

/// An encoder of any family in a `.weights` or `.amb` file that keeps the texts of a folder.
///
/// It gives the ids and vectors of [`Encoder`](super::Encoder) in a fraction of the code, over the memory of an
/// [`EncoderRoom`]. It refuses what needs the rest of that code: models that compare texts, and
/// tokenizers that are not done [in lent memory](crate::source::folder_tokenizer).
///
/// ```no_run
/// use nanoembed_core::owned::{EncoderFile, EncoderRoom, TextRoom};
///
/// let (file, mut room) = (std::fs::read("multilingual-e5-small.weights")?, EncoderRoom::default());
/// let model = EncoderFile::open(&file, &mut room).map_err(|fault| fault.error)?;
/// let mut texts = TextRoom::default();
/// let ids = model.encode("query: How is bread made?", model.usual_tokens(), &mut texts)?.ids;
/// let mut vector = vec![0.0; model.dimensions()];
/// let mut session = model.session_for(model.plan(ids.len()))?;
/// model.embed(&mut session, &ids, &[ids.len()], 0, &mut vector)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EncoderFile<'a> {
    bytes: &'a [u8],
    source: TransformerSource<'a>,
    texts: FolderTokenizerSource<'a>,
    tokenizer: FolderTokenizer<'a>,
    network: TokenEncoder,
}

/// The memory that an [`EncoderFile`] lies in.
#[derive(Debug, Default)]
pub struct EncoderRoom {
    /// The texts of an `.amb` file's folder.
    texts: Vec<u8>,
    tokenizer: TokenizerRoom,
}

/// The memory in which a thread tokenises texts.
#[derive(Debug, Default)]
pub struct TextRoom {
    ids: Vec<u32>,
    text: Vec<u8>,
    steps: Vec<Step>,
    symbols: Vec<Symbol>,
    heap: Vec<Candidate>,
}

/// What a file says of its model.
struct Parts<'a> {
    source: TransformerSource<'a>,
    texts: FolderTokenizerSource<'a>,
}

/// The weights of layers that make other vectors than dense ones.
const LAYERS_BESIDE: [&str; 2] = ["sparse_linear/linear.weight", "colbert_linear/linear.weight"];

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

impl<'a> Parts<'a> {
    fn read(bytes: &'a [u8], texts: &'a mut Vec<u8>) -> Read<'a, Self> {
        let file = folder_file(bytes, texts).map_err(Fault::from_error)?;
        let source = TransformerSource::read(file, bytes)?;
        if source.compares() {
            return Err(Fault::from_error(OTHER_MODEL));
        }
        // What embeds alone: the rest is code that is not needed.
        let texts = source.tokenizer_of_texts()?;
        Ok(Self { source, texts })
    }
}

/// The file, if it keeps the texts of a folder with a transformer; `texts` becomes the memory for
/// them.
fn folder_file<'a>(bytes: &'a [u8], texts: &'a mut Vec<u8>) -> Result<FolderFile<'a>> {
    match ModelSource::parse(bytes)? {
        ModelSource::Embd(embd) if TransformerSource::is_in(&embd) => Ok(embd.into()),
        source @ ModelSource::Amb(amb) if source.has_folder_texts() => {
            *texts = filled(AmbFolder::bytes_needed(&amb)?, 0)?;
            Ok(AmbFolder::open(amb, texts)?.into())
        }
        _ => Err(OTHER_MODEL),
    }
}

impl EncoderFile<'_> {
    /// Returns true if the file has the texts of a model that this opens, and no layers for other
    /// vectors than dense ones.
    #[must_use]
    pub fn is_in(bytes: &[u8]) -> bool {
        let opens = Parts::read(bytes, &mut Vec::new()).is_ok_and(|Parts { source, .. }| {
            source.embedding_needs().is_ok() && source.plan(LEAST_TOKENS).is_ok()
        });
        let has = |source: &ModelSource<'_>, name: &&str| source.tensor(name).is_some();
        opens
            && ModelSource::parse(bytes)
                .is_ok_and(|source| !LAYERS_BESIDE.iter().any(|name| has(&source, name)))
    }
}

impl<'a> EncoderFile<'a> {
    /// The model in a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OtherModel`] for models of other kinds; [`ErrorKind::UnsupportedSetting`] for a
    /// setting that is not done here; what is wrong with the file.
    pub fn open(bytes: &'a [u8], room: &'a mut EncoderRoom) -> Read<'a, Self> {
        let EncoderRoom { texts, tokenizer } = room;
        let Parts { source, texts } = Parts::read(bytes, texts)?;
        *tokenizer = TokenizerRoom::new(&texts.needs()).map_err(Fault::from_error)?;
        let tokenizer = texts.open(tokenizer.lend()).map_err(Fault::from_error)?;
        let network = TokenEncoder::from_spec(&source.weights(), &source.spec())
            .map_err(Fault::from_error)?;
        Ok(Self { bytes, source, texts, tokenizer, network })
    }

    /// Elements of an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.network.dimensions()
    }

    /// How many tokens of a text the model was made for.
    #[must_use]
    pub const fn usual_tokens(&self) -> usize {
        self.source.max_tokens()
    }

    /// The most tokens of a text that it can use.
    #[must_use]
    pub const fn positions(&self) -> usize {
        self.source.config().positions
    }

    /// The names of the prompts that the model has, each once, in their order.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in self.source.prompts().all() {
            let name: String = chars(name).collect();
            if let Err(place) = names.binary_search(&name) {
                names.insert(place, name);
            }
        }
        names
    }

    /// The prompt that is asked for; `None` if the model does not have it. Where it has no usual
    /// one, that is an empty text.
    #[must_use]
    pub fn named_prompt(&self, wanted: FolderPrompt<'_>) -> Option<String> {
        self.source.prompts().choose(wanted).map(|prompt| chars(prompt).collect())
    }

    /// `prompt`, ready to stand before texts.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn prompt(&self, prompt: &str, room: &mut TextRoom) -> Result<Prompt> {
        let skipped = if prompt.is_empty() || self.source.prompts().are_pooled {
            0
        } else {
            self.tokenizing(prompt, room, |memory, _| {
                self.tokenizer.tokens_of_prompt(prompt, memory)
            })?
        };
        Ok(Prompt { text: copied(prompt)?, skipped })
    }

    /// The first `limit` tokens of `text`, those around it included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the limit leaves no room for the tokens around a text;
    /// [`ErrorKind::OverLimit`] if the rules of normalisation make far more of the text than it was.
    pub fn encode(&self, text: &str, limit: usize, room: &mut TextRoom) -> Result<Tokenized> {
        let mut places = limit.min(text.len().saturating_add(LEAST_TOKENS));
        loop {
            grow(&mut room.ids, places, 0)?;
            let found = self.tokenizing(text, room, |memory, ids| {
                let ids = ids.get_mut(..places).unwrap_or_default();
                let encoded = self.tokenizer.encode(text, ids, memory);
                encoded.map_err(|error| match error.kind() {
                    ErrorKind::BufferTooSmall => Error::without_offset(ErrorKind::InvalidArgument),
                    _ => error,
                })
            })?;
            let Encoded { tokens, total, truncated, .. } = found;
            if !truncated || places == limit {
                let ids = room.ids.get(..tokens).unwrap_or_default();
                let ids = collected(ids.iter().copied())?;
                return Ok(Tokenized { ids, total, truncated });
            }
            places = limit.min(total);
        }
    }

    /// Calls `run` with memory for `text`, and again with more if a word or a part without spaces
    /// does not fit.
    fn tokenizing<T>(
        &self,
        text: &str,
        room: &mut TextRoom,
        run: impl Fn(TokenizingMemory<'_>, &mut [u32]) -> Result<T>,
    ) -> Result<T> {
        // A token has room for four bytes, and normalisation makes eighteen characters of U+FDFA.
        let most = text.len().saturating_mul(5).max(LEAST_TOKENS);
        let mut tokens = LEAST_TOKENS;
        loop {
            let (memory, ids) = room.lend(&self.texts.tokenizing(tokens))?;
            match run(memory, ids) {
                Err(error) if error.kind() == ErrorKind::OverLimit && tokens < most => {
                    tokens = tokens.saturating_mul(2);
                }
                result => return result,
            }
        }
    }

    /// How the model was made to run: see [`Transformer::plan`](crate::model::Transformer::plan).
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.network.plan(tokens)
    }

    /// The scratch memory of one thread: see [`TokenEncoder::session_for`].
    ///
    /// # Errors
    ///
    /// As [`TokenEncoder::session_for`].
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        self.network.session_for(plan)
    }

    /// The embeddings of tokenised texts, [`dimensions`](Self::dimensions) elements each, into
    /// `out`. The first `skipped` tokens of each do not count in pooling. The vector of a text
    /// without tokens is zeros: it is similar to nothing.
    ///
    /// # Errors
    ///
    /// As [`TokenEncoder::embed`].
    pub fn embed(
        &self,
        session: &mut Session,
        ids: &[u32],
        lengths: &[usize],
        skipped: usize,
        out: &mut [f32],
    ) -> Result<()> {
        let weights = without_names(self.bytes);
        embed_nonempty(lengths, self.dimensions(), out, |lengths, out| {
            let texts = Batch { skipped, ..Batch::new(ids, lengths) };
            self.network.embed(&weights, session, &InOrder, &texts, out)
        })
    }
}

impl TextRoom {
    /// As much as `needs` says, and what holds ids.
    fn lend(&mut self, needs: &TokenizingNeeds) -> Result<(TokenizingMemory<'_>, &mut [u32])> {
        let Self { ids, text, steps, symbols, heap } = self;
        grow(text, needs.text, 0)?;
        grow(steps, needs.steps, Step::default())?;
        grow(symbols, needs.symbols, Symbol::default())?;
        grow(heap, needs.heap, Candidate::default())?;
        let memory = TokenizingMemory { text, steps, symbols, heap, after: &mut [] };
        Ok((memory, ids))
    }
}

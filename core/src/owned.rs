//! For hosts with a heap: a model file in, texts in, vectors out.
//!
//! An [`Embedder`] is immutable and shared between threads; each thread that embeds has a [`Session`] of its own. A
//! [`CausalModel`] continues texts, each in a [`CausalSession`].
//! Everything here is made of the borrowing types of [`token`](crate::token) and [`model`](crate::model).

#[cfg(any(feature = "amb", feature = "gguf"))]
mod bpe;
#[cfg(any(feature = "amb", feature = "gguf"))]
mod causal;

use alloc::vec;
use alloc::vec::Vec;

#[cfg(any(feature = "amb", feature = "gguf"))]
pub use causal::{CausalModel, CausalSession};

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "amb")]
use crate::event::Format;
use crate::event::{Mode, SpecialRole};
#[cfg(feature = "amb")]
use crate::format::amb::Amb;
use crate::format::embd::Embd;
use crate::format::sniff;
use crate::kernel::{self, Kernels};
use crate::model::{
    Bert, BertConfig, Layer, Observer, Parallel, Plan, Run, SliceWeights, Workspace,
};
use crate::tensor::TensorHeader;
use crate::token::vocabulary::HashIndex;
use crate::token::{Entries, HashVocabulary, LengthPrefix, Normalization, SpecialIds, WordPiece};

/// Token ids of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenized {
    /// The ids, special tokens included.
    pub ids: Vec<u32>,
    /// How many the whole text has, special tokens included.
    pub total: usize,
    /// Whether the text has more than were kept.
    pub truncated: bool,
}

/// A sentence embedder over a `.weights` or `.amb` file whose bytes `B` holds: a slice, a `Vec`, a mapped file.
#[derive(Clone, Debug)]
pub struct Embedder<B> {
    file: B,
    bert: Bert<Vec<Layer>>,
    kernels: Kernels,
    vocabulary: VocabularyIndex,
}

/// Where the tokens lie in the file, and the memory of the index over them.
#[derive(Clone, Debug)]
struct VocabularyIndex {
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
    samples: Vec<u32>,
    slots: Vec<u32>,
    hash: HashIndex,
    special: SpecialIds,
    normalization: Normalization,
}

impl<B: AsRef<[u8]>> Embedder<B> {
    /// Opens a BERT model with its vocabulary. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or the model in it; [`ErrorKind::MissingVocabulary`] without tokens.
    pub fn open(file: B) -> Result<Self> {
        let bytes = file.as_ref();
        let (bert, found) = match sniff(bytes) {
            #[cfg(feature = "amb")]
            Some(Format::Amb) => open_amb(bytes)?,
            _ => open_embd(bytes)?,
        };
        let vocabulary = VocabularyIndex::build(&found, bert.config())?;
        Ok(Self { file, bert, kernels: kernel::detect(), vocabulary })
    }

    /// Runs on this table of kernels instead of the fastest one.
    #[must_use]
    pub fn with_kernels(mut self, kernels: Kernels) -> Self {
        self.kernels = kernels;
        self
    }

    /// The model's sizes.
    #[must_use]
    pub const fn config(&self) -> &BertConfig {
        self.bert.config()
    }

    /// The kernels that the model runs on.
    #[must_use]
    pub const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// The model's tokenizer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file's bytes have changed since it was opened.
    pub fn tokenizer(&self) -> Result<WordPiece<HashVocabulary<'_, Entries<'_>>>> {
        self.vocabulary.tokenizer(self.file.as_ref())
    }

    /// The token ids of `text`: at most `max_tokens`, special tokens included, or all for `None`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `max_tokens` leaves no room for the two special tokens.
    pub fn tokenize(&self, text: &str, max_tokens: Option<usize>) -> Result<Tokenized> {
        let tokenizer = self.tokenizer()?;
        // A character gives at most one token; some characters vanish, none becomes two words but by its neighbours.
        let most = text.len().saturating_add(2);
        let room = max_tokens.map_or(most, |max_tokens| max_tokens.min(most));
        if room < 2 {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        let mut ids = vec![0; room];
        let mut encoded = tokenizer.encode(text, &mut ids)?;
        if max_tokens.is_none() && encoded.truncated {
            ids = vec![0; encoded.total];
            encoded = tokenizer.encode(text, &mut ids)?;
        }
        ids.truncate(encoded.tokens);
        Ok(Tokenized { ids, total: encoded.total, truncated: encoded.truncated })
    }

    /// How the model was made to run: see [`Bert::plan`].
    #[must_use]
    pub fn plan(&self, tokens: usize) -> Plan {
        self.bert.plan(tokens)
    }

    /// The scratch memory of one thread, for texts (or packs of short texts) of up to `tokens` tokens, in `jobs` parts
    /// at a time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if either is 0 or the memory would be larger than addresses are.
    pub fn session(&self, tokens: usize, jobs: usize) -> Result<Session> {
        self.session_for(Plan { jobs, ..self.plan(tokens) })
    }

    /// As [`session`](Self::session), for a plan that says more; weights lie in memory, whatever the plan says.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub fn session_for(&self, plan: Plan) -> Result<Session> {
        let plan = Plan { tile_bytes: 0, ..plan };
        let needs = Workspace::needs(self.config(), &plan)?;
        Ok(Session { plan, floats: vec![0.0; needs.floats], bytes: vec![0; needs.bytes] })
    }

    /// The embeddings of tokenised texts, `hidden` elements each, into `out`: see [`Bert::embed_batch`].
    ///
    /// # Errors
    ///
    /// As [`Bert::embed_batch`].
    pub fn embed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        out: &mut [f32],
    ) -> Result<()> {
        self.embed_observed(session, parallel, ids, lengths, out, &|_| {})
    }

    /// As [`embed`](Self::embed), showing `observe` what every linear layer is applied to: see [`Bert::embed_observed`].
    ///
    /// # Errors
    ///
    /// As [`Bert::embed_batch`].
    pub fn embed_observed<P: Parallel + ?Sized>(
        &self,
        session: &mut Session,
        parallel: &P,
        ids: &[u32],
        lengths: &[usize],
        out: &mut [f32],
        observe: &Observer<'_>,
    ) -> Result<()> {
        let Session { plan, floats, bytes } = session;
        let mut workspace = Workspace::new(self.config(), plan, floats, bytes)?;
        let weights = SliceWeights::new(self.file.as_ref(), |_: &str| None::<TensorHeader<'_>>);
        let run = Run { weights: &weights, kernels: &self.kernels, parallel };
        self.bert.embed_observed(&run, ids, lengths, &mut workspace, out, observe)
    }
}

/// The scratch memory of one thread that embeds.
#[derive(Clone, Debug)]
pub struct Session {
    plan: Plan,
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

impl Session {
    /// The size of the memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.floats.len().saturating_mul(4).saturating_add(self.bytes.len())
    }
}

/// The vocabulary as a file has it.
struct FoundVocabulary<'a> {
    bytes: &'a [u8],
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
    /// Ids by role, in the order of [`SpecialRole::ALL`]; `None` if the file does not say them.
    special: Option<[Option<u32>; 5]>,
}

type Model = Bert<Vec<Layer>>;

fn open_embd(bytes: &[u8]) -> Result<(Model, FoundVocabulary<'_>)> {
    let embd = Embd::parse(bytes, Mode::Lenient)?;
    let config = BertConfig::from_metadata(|key| embd.metadata_value(key))?;
    let weights = SliceWeights::new(bytes, |name| embd.tensor(name).map(|tensor| *tensor.header()));
    let bert = Bert::open(&weights, config, vec![Layer::EMPTY; config.layers])?;
    let entries = embd.token_entries();
    let entries = entries.ok_or(Error::without_offset(ErrorKind::MissingVocabulary))?;
    let found = FoundVocabulary {
        bytes: entries.bytes,
        offset: entries.offset,
        count: entries.count,
        prefix: if entries.length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 },
        special: embd.special().map(|special| SpecialRole::ALL.map(|role| Some(special.id(role)))),
    };
    Ok((bert, found))
}

#[cfg(feature = "amb")]
fn open_amb(bytes: &[u8]) -> Result<(Model, FoundVocabulary<'_>)> {
    let amb = Amb::parse(bytes, Mode::Lenient)?;
    let config = BertConfig::from_metadata(|key| crate::model::amb_config_value(&amb, key))?;
    let weights = SliceWeights::new(bytes, |name| amb.tensor(name).map(|tensor| *tensor.header()));
    let bert = Bert::open(&weights, config, vec![Layer::EMPTY; config.layers])?;
    let missing = Error::without_offset(ErrorKind::MissingVocabulary);
    let tokenizer = amb.tokenizer().ok_or(missing)?;
    let entries = tokenizer.token_entries().ok_or(missing)?;
    let found = FoundVocabulary {
        bytes: entries.bytes,
        offset: entries.offset,
        count: entries.count,
        prefix: LengthPrefix::U16,
        special: Some(SpecialRole::ALL.map(|role| tokenizer.special(role))),
    };
    Ok((bert, found))
}

impl VocabularyIndex {
    fn build(found: &FoundVocabulary<'_>, config: &BertConfig) -> Result<Self> {
        let FoundVocabulary { bytes, offset, count, prefix, special } = *found;
        let bad = Error::new(offset, ErrorKind::BadVocabulary);
        if count as usize > config.vocabulary {
            return Err(bad);
        }
        let mut samples = vec![0; Entries::samples_needed(count)];
        let mut slots = vec![0; HashVocabulary::<Entries<'_>>::slots_needed(count)];
        let tokens = Entries::sample(bytes, offset, count, prefix, &mut samples)?;
        let vocabulary = HashVocabulary::build(tokens, &mut slots)?;
        let hash = vocabulary.index();
        let special = match special {
            Some([pad, unknown, classify, separate, mask]) => SpecialIds {
                pad: pad.filter(|id| *id < count),
                unknown: unknown.ok_or(bad)?,
                classify: classify.ok_or(bad)?,
                separate: separate.ok_or(bad)?,
                mask: mask.filter(|id| *id < count),
            },
            None => SpecialIds::find(&vocabulary)?,
        };
        let normalization = config.normalization();
        // Refuses special ids that are not tokens.
        WordPiece::new(vocabulary, special, normalization).map_err(|error| match error.offset {
            0 => bad,
            _ => error,
        })?;
        Ok(Self { offset, count, prefix, samples, slots, hash, special, normalization })
    }

    fn tokenizer<'a>(
        &'a self,
        file: &'a [u8],
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let bytes = usize::try_from(self.offset).ok().and_then(|start| file.get(start..));
        let bytes = bytes.ok_or(Error::new(self.offset, ErrorKind::BadVocabulary))?;
        let tokens = Entries::resume(bytes, self.offset, self.count, self.prefix, &self.samples);
        let vocabulary = HashVocabulary::resume(tokens, &self.slots, self.hash);
        WordPiece::new(vocabulary, self.special, self.normalization)
    }
}

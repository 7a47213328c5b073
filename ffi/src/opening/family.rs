//! What is known of a transformer of any family before there is memory for it.

use core::mem::MaybeUninit;

use nanoembed_core::format::embd::Embd;
use nanoembed_core::kernel::{self, RowSummary};
use nanoembed_core::model::folder_tokenizer::{FolderTokenizerSource, TokenizingNeeds};
use nanoembed_core::model::{Dense, Layer, Plan, TransformerMemory, TransformerSource, Workspace};
use nanoembed_core::text::json::Fault;
use nanoembed_core::{Error, ErrorKind};

use super::Opened;
use super::bert::quantizes;
use super::scratch::PassMemory;
use crate::embed::Sizes;
use crate::family_model::{FamilyModel, sizes};
use crate::folder_tokenizer;
use crate::memory::{Lent, LentSlice, Sum, number};
use crate::model::{
    Kind, NANOEMBED_ACTIVATIONS_FIXED, NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_NONE,
    Tokenizer, nanoembed_model, nanoembed_model_options, nanoembed_plan,
};
use crate::source::Bytes;
use crate::status::{Failure, Outcome, invalid};

/// A transformer of any family in memory.
pub(crate) struct FamilyOpening {
    source: Bytes,
    file: TransformerSource<'static>,
    tokenizer: Option<FolderTokenizerSource<'static>>,
    plan: Plan,
}

impl FamilyOpening {
    /// The transformer in a `.weights` file, which `bytes` are.
    pub(super) fn new(
        source: &Bytes,
        (embd, bytes): (Embd<'static>, &'static [u8]),
        options: &nanoembed_model_options,
        memory: &mut PassMemory,
    ) -> Outcome<&'static Self> {
        if options.activations == NANOEMBED_ACTIVATIONS_FIXED {
            return Err(invalid("activations"));
        }
        let file = TransformerSource::read(embd, bytes).map_err(fault)?;
        let tokenizer = match options.vocabulary {
            NANOEMBED_VOCABULARY_NONE => None,
            NANOEMBED_VOCABULARY_IN_FILE => {
                return Err(Error::without_offset(ErrorKind::IndexRequired).into());
            }
            _ => Some(file.tokenizer().map_err(fault)?),
        };
        let tokens = match options.tokens {
            0 => file.max_tokens(),
            tokens => tokens as usize,
        };
        // Says also what is missing.
        let made_for = file.plan(tokens)?;
        let quantized = quantizes(options.activations, made_for.quantized)?;
        let plan = Plan { quantized, block: options.block_tokens as usize, ..made_for };
        Workspace::needs(file.config(), &plan)?;
        memory.rest.put(Self { source: *source, file, tokenizer, plan }).map(|it| &*it)
    }

    pub(super) fn plan(&self) -> Outcome<nanoembed_plan> {
        let Self { file, plan, .. } = self;
        Ok(nanoembed_plan {
            model_bytes: self.model_bytes()?,
            workspace_bytes: self.sizes()?.workspace_bytes()?,
            dimensions: number(file.dimensions()),
            tokens: number(plan.tokens),
            quantized: plan.quantized.into(),
            ..nanoembed_plan::default()
        })
    }

    pub(super) fn model_bytes(&self) -> Outcome<usize> {
        let needs = self.file.needs()?;
        let mut sum = Sum::default();
        sum.add::<nanoembed_model>(1)?;
        sum.add::<Layer>(needs.layers)?;
        sum.add::<Dense<'_>>(needs.dense)?;
        sum.add::<f32>(needs.floats)?;
        sum.add::<RowSummary>(self.summaries()?)?;
        if let Some(tokenizer) = &self.tokenizer {
            folder_tokenizer::add_bytes(&tokenizer.needs(), &mut sum)?;
        }
        Ok(sum.bytes())
    }

    #[inline(never)] // large, and one of several
    pub(super) fn open(&self, lent: &mut Lent, opened: Opened<'_>) -> Outcome {
        self.put_model(lent, opened.kind)?;
        match &self.tokenizer {
            Some(tokenizer) => folder_tokenizer::open(tokenizer, lent, opened.tokenizer),
            None => {
                opened.tokenizer.write(Tokenizer::None);
                Ok(())
            }
        }
    }

    #[inline(never)] // so that it has its stack to itself
    fn put_model(&self, lent: &mut Lent, place: &mut MaybeUninit<Kind>) -> Outcome {
        place.write(Kind::Family(self.model(lent)?));
        Ok(())
    }

    fn model(&self, lent: &mut Lent) -> Outcome<FamilyModel> {
        let Self { source, file, plan, .. } = self;
        let needs = file.needs()?;
        let kernels = kernel::detect();
        let memory = TransformerMemory {
            layers: LentSlice(lent.filled(needs.layers, Layer::EMPTY)?),
            dense: lent.filled(needs.dense, Dense::EMPTY)?,
            floats: lent.filled(needs.floats, 0.0)?,
        };
        let transformer = file.open(source, &kernels, memory)?;
        let summaries = lent.filled(self.summaries()?, RowSummary::EMPTY)?;
        if !summaries.is_empty() {
            transformer.summarize(source, &kernels, &mut [], summaries)?;
        }
        let (room, max_tokens, tokenizing) = (file.room(), file.max_tokens(), self.tokenizing());
        let (plan, prompts) = (*plan, *file.prompts());
        Ok(FamilyModel {
            transformer,
            kernels,
            summaries,
            plan,
            room,
            max_tokens,
            tokenizing,
            prompts,
        })
    }

    /// What a text takes while it is tokenised.
    fn tokenizing(&self) -> TokenizingNeeds {
        let tokenizer = self.tokenizer.as_ref();
        tokenizer.map_or(TokenizingNeeds::default(), |it| it.tokenizing(self.plan.tokens))
    }

    fn sizes(&self) -> Outcome<Sizes> {
        let Self { file, plan, .. } = self;
        let texts = (&self.tokenizing(), file.prompts());
        sizes(file.config(), plan, file.room(), texts, file.compares())
    }

    /// What kernels want to know of the weights.
    fn summaries(&self) -> Outcome<usize> {
        if !self.plan.quantized {
            return Ok(0);
        }
        Ok(self.file.summaries(&kernel::detect())?)
    }
}

fn fault(fault: Fault<'static>) -> Failure {
    Failure::core(fault.error).about(fault.key)
}

//! Opening a transformer of any family.

use core::mem::MaybeUninit;

use nanoembed_core::describe::folder::FolderPrompts;
use nanoembed_core::kernel::{self, RowSummary};
use nanoembed_core::model::{EncoderMemory, HeadLayer, Layer, Plan, Workspace};
use nanoembed_core::source::folder_tokenizer::{FolderTokenizerSource, TokenizingNeeds};
use nanoembed_core::source::{FolderFile, TransformerSource};
use nanoembed_core::text::json::Fault;
use nanoembed_core::{Error, ErrorKind};

use super::Opened;
use super::scratch::PassMemory;
use crate::encoder_model::{EncoderModel, Head, Network, TextSettings, family_sizes};
use crate::folder_tokenizer;
use crate::leaf::{self, Part};
use crate::memory::{Lent, LentSlice, Sum, number};
use crate::model_handle::{Kind, nanoembed_model};
use crate::model_options::{
    NANOEMBED_ACTIVATIONS_FIXED, NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_NONE,
    nanoembed_model_options, nanoembed_plan, quantizes,
};
use crate::model_tokenizer::Tokenizer;
use crate::scratch::Sizes;
use crate::source::Bytes;
use crate::status::{Failure, Outcome, invalid};
use crate::tokenizer_index;
use crate::workspace;

/// A transformer of any family in memory.
pub(crate) struct FamilyOpening {
    source: Bytes,
    file: &'static TransformerSource<'static>,
    tokenizer: Option<&'static FolderTokenizerSource<'static>>,
    plan: Plan,
}

impl FamilyOpening {
    /// The transformer that a file's texts or keys describe; its bytes are `bytes`.
    #[inline(never)] // so that other models have their stack to themselves
    pub(super) fn new(
        source: &Bytes,
        (folder, bytes): (FolderFile<'static>, &'static [u8]),
        options: &nanoembed_model_options,
        memory: &mut PassMemory,
    ) -> Outcome<&'static Self> {
        if options.activations == NANOEMBED_ACTIVATIONS_FIXED {
            return Err(invalid("activations"));
        }
        let file = read(folder, bytes, &mut memory.rest)?;
        let tokenizer = match options.vocabulary {
            NANOEMBED_VOCABULARY_NONE => None,
            NANOEMBED_VOCABULARY_IN_FILE => {
                return Err(Error::without_offset(ErrorKind::IndexRequired).into());
            }
            _ => Some(tokenizer(file, &mut memory.rest)?),
        };
        let plan = planned(file, options)?;
        memory.rest.put(Self { source: *source, file, tokenizer, plan }).map(|it| &*it)
    }

    pub(super) fn plan(&self) -> Outcome<nanoembed_plan> {
        let Self { file, plan, .. } = self;
        Ok(nanoembed_plan {
            model_bytes: self.model_bytes()?,
            workspace_bytes: workspace::bytes(&self.sizes()?)?,
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
        sum.add::<HeadLayer>(needs.head)?;
        sum.add::<f32>(needs.floats)?;
        sum.add::<RowSummary>(self.summaries()?)?;
        sum.add::<u8>(self.file.text_to_keep().map_or(0, str::len))?;
        if let Some(tokenizer) = &self.tokenizer {
            tokenizer_index::add_bytes(&tokenizer.needs(), &mut sum)?;
        }
        Ok(sum.bytes())
    }

    #[inline(never)] // so that other models have their stack to themselves
    pub(super) fn open(&self, lent: &mut Lent, opened: Opened<'_>) -> Outcome {
        self.model(lent, opened.kind)?;
        self.ready_tokenizer(lent, opened.tokenizer)
    }

    #[inline(never)] // so that the tokenizer has its stack to itself
    fn model(&self, lent: &mut Lent, into: &mut MaybeUninit<Kind>) -> Outcome {
        let (leaf, encoders) = (leaf::Families::built_in()?, leaf::Encoders::built_in()?);
        let Self { source, file, plan, .. } = self;
        let needs = file.needs()?;
        let kernels = kernel::detect();
        let memory = EncoderMemory {
            layers: LentSlice(lent.filled(needs.layers, Layer::EMPTY)?),
            head: Head::new(leaf, lent.filled(needs.head, HeadLayer::EMPTY)?),
            floats: Head::new(leaf, lent.filled(needs.floats, 0.0_f32)?),
            tile: &mut [],
        };
        let network = match file.compares() {
            true => {
                let model = file.open_cross_encoder(source, &kernels, memory)?;
                Network::CrossEncoder(Part::new(leaf, model))
            }
            false => Network::Encoder(file.open(source, &kernels, memory)?),
        };
        let summaries = lent.filled(self.summaries()?, RowSummary::EMPTY)?;
        if !summaries.is_empty() {
            let transformer = match &network {
                Network::Encoder(model) => &model.transformer,
                Network::CrossEncoder(model) => &model.transformer,
            };
            transformer.summarize(source, &kernels, &mut [], summaries)?;
        }
        let prompts = self.prompts(lent)?;
        into.write(Kind::Encoder(Part::new(
            encoders,
            EncoderModel {
                network,
                kernels,
                summaries,
                plan: *plan,
                max_tokens: file.max_tokens(),
                fixed: false,
                texts: Some(Part::new(leaf, self.texts(prompts))),
            },
        )));
        Ok(())
    }

    /// The prompts, in memory that lives as long as the model.
    fn prompts(&self, lent: &mut Lent) -> Outcome<FolderPrompts<'static>> {
        let Some(text) = self.file.text_to_keep() else { return Ok(*self.file.prompts()) };
        let room = lent.filled(text.len(), 0_u8)?;
        room.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        let text = core::str::from_utf8(room).unwrap_or_default();
        self.file.prompts_in(text).map_err(fault)
    }

    fn ready_tokenizer(&self, lent: &mut Lent, into: &mut MaybeUninit<Tokenizer>) -> Outcome {
        let Some(tokenizer) = self.tokenizer else {
            into.write(Tokenizer::None);
            return Ok(());
        };
        folder_tokenizer::open(tokenizer, lent, into)
    }

    /// The scratch memory requirements of tokenising a text.
    fn tokenizing(&self) -> TokenizingNeeds {
        self.tokenizer.map_or(TokenizingNeeds::default(), |it| it.tokenizing(self.plan.tokens))
    }

    fn sizes(&self) -> Outcome<Sizes> {
        let Self { file, plan, .. } = self;
        family_sizes(file.config(), plan, &self.texts(*file.prompts()), file.compares())
    }

    fn texts(&self, prompts: FolderPrompts<'static>) -> TextSettings {
        TextSettings { scratch: self.file.scratch(), tokenizing: self.tokenizing(), prompts }
    }

    /// The number of row sums that the kernels need.
    fn summaries(&self) -> Outcome<usize> {
        if !self.plan.quantized {
            return Ok(0);
        }
        Ok(self.file.summaries(&kernel::detect())?)
    }
}

// What a file says lies in scratch memory as soon as it is known.

#[inline(never)] // so that the tokenizer has its stack to itself
fn read(
    folder: FolderFile<'static>,
    bytes: &'static [u8],
    room: &mut Lent,
) -> Outcome<&'static TransformerSource<'static>> {
    Ok(room.put(TransformerSource::read(folder, bytes).map_err(fault)?)?)
}

#[inline(never)] // as before
fn planned(file: &TransformerSource<'_>, options: &nanoembed_model_options) -> Outcome<Plan> {
    let tokens = match options.tokens {
        0 => file.max_tokens(),
        tokens => tokens as usize,
    };
    // Says also what is missing.
    let made_for = file.plan(tokens)?;
    let quantized = quantizes(options.activations, made_for.quantized)?;
    let plan = Plan { quantized, block: options.block_tokens as usize, ..made_for };
    Workspace::needs(file.config(), &plan)?;
    Ok(plan)
}

#[inline(never)] // as before
fn tokenizer(
    file: &TransformerSource<'static>,
    room: &mut Lent,
) -> Outcome<&'static FolderTokenizerSource<'static>> {
    Ok(room.put(file.tokenizer().map_err(fault)?)?)
}

fn fault(fault: Fault<'static>) -> Failure {
    Failure::core(fault.error).about(fault.key)
}

//! Models are opened: their texts are read, and the weights found.

use alloc::string::String;
use alloc::vec::Vec;

use super::Classes;
use super::Encoder;
use super::multi::MultiPart;
use super::pairs::Pairs;
use super::requantized::Requantizing;
use super::sparse::SparsePart;
use crate::error::Result;
use crate::error::{Error, ErrorKind};
use crate::leaf;
use crate::limit::{collected, copied};
use crate::model::{EncoderSpec, HeadModule, PoolingMode, TokenTable};
use crate::model::{SliceWeights, Weights};
use crate::owned::asked_weights::{AskedWeights, TensorFault};
use crate::owned::described_file::DescribedFile;
use crate::owned::file_weights::FileWeights;
use crate::owned::folder::{AbsentSettings, Described, FolderModel, Labels, Modules, Prompts};
use crate::owned::folder::{FolderFault, Texts};
use crate::owned::model_fault::ModelFault;
use crate::owned::pipeline::Pipeline;
use crate::owned::token_encoder::TokenEncoder;
use crate::owned::tokenizer::{Tokenizer, WordPieces};
use crate::source::ModelSource;
use crate::text::json::Fault;

impl<B: AsRef<[u8]> + Sync> Encoder<FileWeights<B>> {
    /// The model in a `.weights`, `.amb` or GGUF file. Weights are neither copied nor converted.
    ///
    /// # Errors
    ///
    /// The fault of the file or of its model;
    /// [`OtherModel`](crate::ErrorKind::OtherModel) if it continues texts;
    /// [`UnknownFormat`](crate::ErrorKind::UnknownFormat) for files of other formats.
    pub fn open(file: B) -> core::result::Result<Self, ModelFault> {
        Self::open_allowing(file, &[]).map(|(model, _)| model)
    }

    /// As [`open`](Self::open), but unknown settings of these `names` are ignored where the file
    /// keeps the texts of a folder; returns those that are.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_allowing(
        file: B,
        names: &[String],
    ) -> core::result::Result<(Self, AbsentSettings), ModelFault> {
        let source = ModelSource::parse(file.as_ref())?;
        if leaf::Pipeline::built_in().is_ok()
            && let Some(described) = DescribedFile::read_allowing(source, names)?
        {
            let (opened, absent) = open_described(file.as_ref(), described)?;
            return Ok((opened.over(FileWeights::from_file(file)?), absent));
        }
        let opened = bert(file.as_ref(), &source)?;
        let opened = opened.summarized(FileWeights::from_file(file)?)?;
        Ok((opened, AbsentSettings::default()))
    }
}

/// The model in a file that describes it by texts or keys, without its weights, and the settings
/// that are ignored.
fn open_described<'f>(
    file: &'f [u8],
    described: DescribedFile<'f>,
) -> core::result::Result<(Encoder<()>, AbsentSettings), ModelFault> {
    let (prompts, labels) = (described.prompts()?, described.labels()?);
    let mut weights = FileWeights::default();
    let mut added = Ok(());
    described.each_tensor(&mut |name, header| {
        if added.is_ok() {
            added = copied(name).and_then(|name| weights.add(name, 0, header));
        }
    });
    added?;
    let (model, pipeline, absent) = described.into_parts()?;
    weights.push(file)?;
    let model = Encoder::new(&model, weights, pipeline)?;
    Ok((model.with_prompts(prompts).with_labels(&labels)?.over(()), absent))
}

impl<B: AsRef<[u8]> + Sync> Encoder<FileWeights<B>> {
    /// The model in a Hugging Face folder: its texts, and the files that
    /// [`FolderModel::weight_files`] names, with their paths.
    ///
    /// # Errors
    ///
    /// The fault of a text or of the weights.
    pub fn open_folder(
        texts: Texts<'_, '_>,
        files: impl IntoIterator<Item = (String, B)>,
    ) -> core::result::Result<Self, ModelFault> {
        let model = FolderModel::read(texts)?;
        let prompts = model.prompts(texts)?;
        let (pipeline, labels) = (model.tokenizer(texts)?, model.labels(texts)?);
        let mut weights = FileWeights::default();
        for (path, file) in files {
            let pushed = weights.push_safetensors(model.tensor_prefix(&path), file);
            pushed.map_err(|error| FolderFault::new(&path, Fault::from_error(error)))?;
        }
        let opened = Self::new(&model, weights, pipeline)?;
        Ok(opened.with_prompts(prompts).with_labels(&labels)?)
    }
}

impl<W: Weights + Sync> Encoder<W> {
    /// The BERT encoder that `source` found in `file`, in the layout that readers of BERT alone
    /// know, with its prompts. `weights` has the bytes of the file from offset 0 on.
    ///
    /// # Errors
    ///
    /// The fault of the model; [`MissingVocabulary`](crate::ErrorKind::MissingVocabulary)
    /// without tokens; [`OtherModel`](crate::ErrorKind::OtherModel) if the model continues texts.
    pub fn from_bert(file: &[u8], source: &ModelSource<'_>, weights: W) -> Result<Self> {
        bert(file, source)?.summarized(weights)
    }
}

/// The BERT encoder in a file, without its weights and their row sums.
fn bert(file: &[u8], source: &ModelSource<'_>) -> Result<Encoder<()>> {
    let config = source.encoder_config()?;
    let find = |name: &str| source.encoder_tensor(name);
    // One type for all formats: a type for each would have the code of each.
    let find: &dyn Fn(&str) -> _ = &find;
    let named = SliceWeights::new(file, find);
    let requantizing = Requantizing::from_bert(&named, &config)?;
    let network = TokenEncoder::locate_bert(&named, &config)?;
    let pieces = WordPieces::new(file, &source.word_pieces(&config)?)?;
    Ok(Encoder {
        weights: (),
        network,
        tokenizer: Tokenizer::from_bert(&config, pieces)?,
        requantizing,
        prompts: match leaf::Pipeline::built_in() {
            Ok(_) => Prompts::from_source(source)?,
            Err(_) => Prompts::default(),
        },
        compares: false,
        pairs: Pairs::default(),
        classes: None,
        sparse: None,
        multi: None,
    })
}

impl<W> Encoder<W> {
    /// The same model over other weights.
    fn over<V>(self, weights: V) -> Encoder<V> {
        Encoder {
            weights,
            network: self.network,
            tokenizer: self.tokenizer,
            requantizing: self.requantizing,
            prompts: self.prompts,
            compares: self.compares,
            pairs: self.pairs,
            classes: self.classes,
            sparse: self.sparse,
            multi: self.multi,
        }
    }
}

impl Encoder<()> {
    /// The same model over these weights, with the row sums that the kernels use: summed by the
    /// code that runs the model, of which there is no second copy in a small build.
    fn summarized<W: Weights + Sync>(self, weights: W) -> Result<Encoder<W>> {
        let mut opened = self.over(weights);
        opened.network.summarize(&opened.requantizing.over(&opened.weights))?;
        Ok(opened)
    }
}

impl<W: Weights + Sync> Encoder<W> {
    /// The model that `described` describes, without prompts and with numbers as the names of its
    /// classes. The weights have the names of Hugging Face; those of a module after the pooling
    /// follow its folder's path, such as `2_Dense/linear.weight`.
    ///
    /// # Errors
    ///
    /// As [`TokenEncoder::from_spec`] and [`TokenTable::open`], with the tensor at fault.
    pub fn new(
        described: &FolderModel,
        weights: W,
        pipeline: Pipeline,
    ) -> core::result::Result<Self, TensorFault> {
        Self::listing(described, weights, pipeline).map(|(model, _)| model)
    }

    /// As [`new`](Self::new), and lists the tensors that the model is made of, by their names in
    /// `weights`, in the order in which it asks for them. Some may be listed more than once.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn listing(
        described: &FolderModel,
        weights: W,
        pipeline: Pipeline,
    ) -> core::result::Result<(Self, Vec<String>), TensorFault> {
        let asked = AskedWeights::new(&weights);
        let open = || {
            let sparse = SparsePart::open(described, &asked, &pipeline)?;
            let multi = MultiPart::open(described, &asked, &pipeline)?;
            let tokenizer = Tokenizer::from_folder(described, pipeline)?;
            let network = network(described, &asked, tokenizer.count())?;
            Ok((tokenizer, network, sparse, multi))
        };
        let (tokenizer, network, sparse, multi) = open().map_err(|error| asked.fault(error))?;
        let found = asked.into_found()?;
        let classes = Classes::new(described, &network, &Labels::default())?;
        let pairs = Pairs::new(described, network.shares_first_tokens())?;
        let model = Self {
            weights,
            network,
            tokenizer,
            requantizing: Requantizing::default(),
            prompts: Prompts::default(),
            compares: described.compares(),
            pairs,
            classes,
            sparse,
            multi,
        };
        Ok((model, found))
    }

    /// The same model with these prompts.
    #[must_use]
    pub fn with_prompts(self, prompts: Prompts) -> Self {
        Self { prompts, ..self }
    }

    /// The same model with these names of its classes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn with_labels(mut self, labels: &Labels) -> Result<Self> {
        if let Some(classes) = &mut self.classes {
            classes.rename(labels)?;
        }
        Ok(self)
    }
}

/// The model that `described` describes, whose tokenizer has `tokens` tokens.
fn network(described: &FolderModel, weights: &impl Weights, tokens: u32) -> Result<TokenEncoder> {
    let modules = described.modules.as_ref();
    let pools = |modules: &&Modules| !modules.take_tokens;
    let head = modules.filter(pools).map_or(&[][..], |modules| &modules.head);
    let family = match &described.described {
        Described::Transformer(family) => family,
        Described::Table(_) if !head.is_empty() => {
            return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
        }
        Described::Table(settings) => {
            let table = table(weights, tokens)?;
            return TokenEncoder::from_table(table, settings.normalize);
        }
    };
    let head: Vec<HeadModule<&str>> =
        collected(head.iter().map(|module| module.map_folder(String::as_str)))?;
    let spec = EncoderSpec {
        family,
        // Where no file says it, it is the mean, at length 1.
        pooling: modules.map_or(PoolingMode::Mean.into(), Modules::modes),
        head: &head,
        normalize: modules.is_none_or(|modules| modules.normalize),
    };
    match described.compares() && modules.is_none_or(|modules| !modules.give_scores) {
        true => TokenEncoder::cross_encoder(weights, &spec),
        false => TokenEncoder::from_spec(weights, &spec),
    }
}

/// The table, which has a row for each of so many tokens.
fn table(weights: &impl Weights, tokens: u32) -> Result<TokenTable> {
    let find = |name: &str| weights.header(name);
    let table = TokenTable::open(&find)?;
    table.check_tokens(tokens, &find)?;
    Ok(table)
}

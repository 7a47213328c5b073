//! `modules.json`, as sentence-transformers writes it: the modules of a model. Without it, there
//! may be only the pooling's settings.

use super::artifact::Artifact;
use super::dense::layer_norm;
use super::late_interaction::{LateModules, TokenMask};
use super::logit_score::logit_score;
use super::module::{INPUT, MOST_MODULES, Module, ModuleKind, TOKENS, check_normalize};
use super::pooling::PoolingSettings;
use super::prompts::{FolderPrompts, TRUNCATE_DIM};
use super::splade::splade;
use super::texts::{ReadText, TextFault, TextPath, Texts};
use super::words::word_limit;
use super::{CONFIG, CONFIG_SENTENCE_TRANSFORMERS, MODULES};
use crate::error::{Error, ErrorKind};
use crate::leaf;
use crate::model::{
    DenseModule, DenseSettings, HeadModule, LayerNormModule, SpladeSettings, TokenScore,
};
use crate::text::json::{Fault, LexemeKind, Object, Read, Value};
use crate::text::path::stays_within;

/// The folder of the pooling if there is no list of modules.
pub(super) const USUAL_POOLING: &str = "1_Pooling";

/// The largest number of modules after the pooling.
const MOST_HEAD_MODULES: usize = if cfg!(feature = "families") { MOST_MODULES } else { 0 };

const LIST: TextPath<'static> = TextPath::own(MODULES);

/// The modules of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModuleList<'a> {
    /// The text that describes them.
    pub origin: Origin,
    /// The first module.
    pub base: Base,
    /// The folder of the first module, as JSON spells it, without a trailing `/`.
    pub folder: &'a str,
    /// The pooling; `None` for a table.
    pub pooling: Option<PoolingSettings>,
    /// The modules after the pooling, except for a final one that scales vectors to length 1; a cut
    /// of vectors (`truncate_dim`) is the last of them.
    pub head: HeadModules<'a>,
    /// True if the result is scaled to length 1.
    pub normalize: bool,
    /// What the modules state of late interaction; `None` unless they are applied to the vector of
    /// each token and nothing pools these.
    pub late: Option<LateModules<'a>>,
    /// True if the result is class scores.
    pub give_scores: bool,
    /// The tokens whose logits are the score of a causal model, and the module's folder.
    pub token_score: Option<(TokenScore, &'a str)>,
    /// The pooling of the scores of a masked language model, whose result is a sparse vector.
    pub splade: Option<SpladeSettings>,
    /// The output of the transformer that the modules after it take.
    pub(in crate::describe) taken: Output,
    /// Offset of the list.
    pub(in crate::describe) list: u64,
}

/// The output of a transformer that a module after it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::describe) enum Output {
    /// Hidden states, or the scores of the transformer's own head.
    #[default]
    States,
    /// The logits of a causal model.
    CausalLogits,
    /// The logits of a masked language model.
    MaskedLogits {
        /// True if it is the output where the settings name none.
        is_default: bool,
    },
}

/// The modules after the pooling, with their folders.
pub type HeadModules<'a> = heapless::Vec<HeadModule<&'a str>, MOST_HEAD_MODULES>;

/// The text that describes the modules of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `modules.json`.
    List,
    /// The pooling's `config.json` at its default path; vectors have length 1.
    Pooling,
    /// `artifact.metadata`, of ColBERT.
    Artifact,
    /// None: mean pooling, scaled to length 1.
    Nothing,
}

/// The module that computes the tokens' vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Base {
    /// A transformer.
    #[default]
    Transformer,
    /// A table with a row for each token.
    Table,
    /// A table with a row for each word, whose mean is the result.
    Words {
        /// The number of words of a text that are used, if stated.
        limit: Option<u64>,
        #[doc(hidden)]
        part: leaf::WordTables,
    },
}

impl<'a> ModuleList<'a> {
    /// Reads `modules.json` and the settings of each module.
    ///
    /// # Errors
    ///
    /// Any fault of a text; unknown modules and settings are rejected by name.
    pub fn read(texts: &dyn Texts<'a>) -> ReadText<'a, Self> {
        let mut modules = Self::read_list(texts)?;
        if let Some(kept) = kept(texts)? {
            modules.keep_first(kept)?;
        }
        Ok(modules)
    }

    fn read_list(texts: &dyn Texts<'a>) -> ReadText<'a, Self> {
        let Some(text) = LIST.text(texts)? else { return Self::assumed(texts) };
        let list = LIST.value(text)?;
        check_list(list)?;
        let mut modules = Self { origin: Origin::List, list: list.offset(), ..Self::NONE };
        let mut last = None;
        for item in list.items() {
            last = modules.add(texts, &module(item)?, last)?;
        }
        if matches!(last, None | Some(ModuleKind::Words)) {
            return Err(modules.do_not_pool());
        }
        let only = match modules.late {
            None if matches!(last, Some(ModuleKind::TokenDense | ModuleKind::TokenNormalize)) => {
                "only a model with a MultiVectorMask compares the vectors of tokens"
            }
            Some(LateModules::Masked(_)) if !modules.normalize => {
                "only vectors of length 1 are compared: a module has to normalize those of tokens"
            }
            _ => return Ok(modules),
        };
        Err(wrong_list(modules.list, ErrorKind::UnsupportedSetting, only))
    }

    /// Keeps only the first elements of pooled vectors, after all modules.
    fn keep_first(&mut self, kept: usize) -> ReadText<'a, ()> {
        let path = TextPath::own(CONFIG_SENTENCE_TRANSFORMERS);
        let refuse = |only| Err(path.unsupported(TRUNCATE_DIM, only));
        if self.base != Base::Transformer {
            return refuse("only vectors of a transformer are cut");
        }
        if self.splade.is_some() || self.late.is_some() {
            return refuse("only dense vectors are cut");
        }
        if self.pooling.is_none() || self.give_scores {
            return Ok(());
        }
        if core::mem::take(&mut self.normalize) {
            let _ = self.head.push(HeadModule::Normalize);
        }
        if self.head.push(HeadModule::First(kept)).is_err() {
            return refuse("the build leaves out modules after the pooling");
        }
        // It is no longer what is assumed where nothing is stated.
        if self.origin == Origin::Nothing {
            self.origin = Origin::Pooling;
        }
        Ok(())
    }

    /// The folders of all modules that have one, whatever their kind, as JSON spells them, without
    /// a trailing `/`; the pooling's folder if there is no list of modules.
    ///
    /// # Errors
    ///
    /// Any fault of `modules.json`.
    pub fn folders(texts: &dyn Texts<'a>) -> ReadText<'a, heapless::Vec<&'a str, MOST_MODULES>> {
        let mut folders = heapless::Vec::new();
        let mut add = |folder: &'a str| {
            // There is room for every module.
            let _ = if folder.is_empty() { Ok(()) } else { folders.push(folder) };
        };
        let Some(text) = LIST.text(texts)? else {
            add(USUAL_POOLING);
            return Ok(folders);
        };
        let list = LIST.value(text)?;
        check_list(list)?;
        for item in list.items() {
            add(folder_in_list(item)?);
        }
        Ok(folders)
    }

    /// The folder of the first module, whatever its kind, as JSON spells it, without a trailing
    /// `/`; empty if there is no list of modules.
    ///
    /// # Errors
    ///
    /// Any fault of `modules.json`.
    pub fn first_folder(texts: &dyn Texts<'a>) -> ReadText<'a, &'a str> {
        let Some(text) = LIST.text(texts)? else { return Ok("") };
        let list = LIST.value(text)?;
        check_list(list)?;
        list.items().next().map_or(Ok(""), folder_in_list)
    }

    /// A transformer alone.
    pub(in crate::describe) const NONE: Self = Self {
        origin: Origin::Nothing,
        base: Base::Transformer,
        folder: "",
        pooling: None,
        head: heapless::Vec::new(),
        normalize: false,
        late: None,
        give_scores: false,
        token_score: None,
        splade: None,
        taken: Output::States,
        list: 0,
    };

    /// The default modules, without `modules.json`.
    fn assumed(texts: &dyn Texts<'a>) -> ReadText<'a, Self> {
        if leaf::Families::built_in().is_err() {
            return Ok(Self { normalize: true, ..Self::NONE });
        }
        if let Some(artifact) = Artifact::read(texts)? {
            let mut head = heapless::Vec::new();
            let settings = artifact.layer;
            // There is room for every module.
            let _ = head.push(HeadModule::Dense(DenseModule { folder: "", settings }));
            let late = Some(LateModules::Artifact(artifact.late_interaction));
            let origin = Origin::Artifact;
            return Ok(Self { origin, head, normalize: true, late, ..Self::NONE });
        }
        let path = TextPath { folder: USUAL_POOLING, name: CONFIG };
        let (origin, pooling) = match path.text(texts)? {
            Some(text) => (Origin::Pooling, path.object(text, PoolingSettings::read)?),
            None => (Origin::Nothing, PoolingSettings::MEAN),
        };
        Ok(Self { origin, pooling: Some(pooling), normalize: true, ..Self::NONE })
    }

    /// Returns true if the list contains only a transformer, which yields a vector for each token,
    /// or the scores of its own head.
    pub(super) const fn are_transformer_alone(&self) -> bool {
        let is_followed = self.pooling.is_some() || self.splade.is_some() || self.late.is_some();
        !is_followed && matches!(self.base, Base::Transformer)
    }

    /// The fault of a list without a pooling module.
    pub(super) const fn do_not_pool(&self) -> TextFault<'a> {
        let only = "a model without a module that pools makes no embedding of a text";
        wrong_list(self.list, ErrorKind::UnsupportedSetting, only)
    }

    /// The fault of a list whose pooling cannot precede a linear layer of the model.
    pub(super) const fn pool_otherwise(&self) -> TextFault<'a> {
        let only = "of this model only the mean, the first or the last token alone is pooled";
        wrong_list(self.list, ErrorKind::UnsupportedSetting, only)
    }

    /// Returns true if `modules.json` exists.
    #[must_use]
    pub const fn are_listed(&self) -> bool {
        matches!(self.origin, Origin::List)
    }

    /// Returns true if the tokens of a prompt count in pooling.
    #[must_use]
    pub const fn pool_prompt(&self) -> bool {
        !matches!(self.pooling, Some(PoolingSettings { leaves_out_prompt: true, .. }))
    }

    /// Adds a module after `last`, and returns the new last one.
    fn add(
        &mut self,
        texts: &dyn Texts<'a>,
        module: &Module<'a>,
        last: Option<ModuleKind>,
    ) -> ReadText<'a, Option<ModuleKind>> {
        use ModuleKind as K;
        let folder = folder(module.value, module.path).map_err(|fault| LIST.fault(fault))?;
        let path = TextPath { folder, name: CONFIG };
        let kind = match module.kind {
            K::Dense if takes_tokens(texts, path)? => K::TokenDense,
            K::Normalize if takes_tokens(texts, path)? => K::TokenNormalize,
            kind => kind,
        };
        if !kind.may_follow(last) {
            return Err(misplaced(module, "the module stands in an unusual place"));
        }
        if matches!(kind, K::Dense | K::LayerNorm) && core::mem::take(&mut self.normalize) {
            let _ = self.head.push(HeadModule::Normalize);
        }
        let left_out = |_: Error| misplaced(module, "the build leaves out modules of this kind");
        match kind {
            K::Pooling | K::Dense | K::LayerNorm => {
                leaf::Families::built_in().map_err(left_out)?;
            }
            K::TokenNormalize | K::LogitScore | K::Splade => {
                leaf::Pipeline::built_in().map_err(left_out)?;
            }
            _ => {}
        }
        match kind {
            K::Transformer | K::Masked => self.folder = folder,
            K::Table => (self.base, self.folder) = (Base::Table, folder),
            K::Words => {
                let part = leaf::WordTables::built_in().map_err(left_out)?;
                let limit = word_limit(texts, folder)?;
                (self.base, self.folder) = (Base::Words { limit, part }, folder);
            }
            K::Pooling => {
                let text = path.text(texts)?.ok_or(path.missing())?;
                self.pooling = Some(match self.base {
                    Base::Words { .. } => path.object(text, PoolingSettings::read_mean)?,
                    _ => path.object(text, PoolingSettings::read)?,
                });
            }
            K::Dense => {
                let text = path.text(texts)?.ok_or(path.missing())?;
                let settings = path.object(text, DenseSettings::read)?;
                // There is room for every module.
                let _ = self.head.push(HeadModule::Dense(DenseModule { folder, settings }));
                if settings.gives_scores {
                    self.give_scores = true;
                    return Ok(Some(K::Scores));
                }
            }
            K::TokenDense => {
                let leaf = leaf::Pipeline::built_in().map_err(left_out)?;
                let text = path.text(texts)?.ok_or(path.missing())?;
                let settings = path.object(text, DenseSettings::read_of_tokens)?;
                let _ = self.head.push(HeadModule::Dense(DenseModule { folder, settings }));
                let is_pylate = module.kind == K::TokenDense;
                // PyLate scales vectors without a module for it.
                self.normalize = is_pylate;
                if is_pylate {
                    self.late = Some(LateModules::PyLate(leaf));
                }
            }
            K::TokenMask => {
                let leaf = leaf::Pipeline::built_in().map_err(left_out)?;
                let text = path.text(texts)?.ok_or(path.missing())?;
                let mask = path.object(text, |config| TokenMask::from_config(config, leaf))?;
                self.late = Some(LateModules::Masked(mask));
            }
            K::TokenNormalize => {
                let text = path.text(texts)?.ok_or(path.missing())?;
                path.object(text, |config| check_normalize(config, TOKENS))?;
                self.normalize = true;
            }
            K::LayerNorm => {
                let text = path.text(texts)?.ok_or(path.missing())?;
                let elements = path.object(text, layer_norm)?;
                let _ = self.head.push(HeadModule::LayerNorm(LayerNormModule { folder, elements }));
            }
            K::LogitScore => {
                let text = path.text(texts)?.ok_or(path.missing())?;
                self.token_score = Some((path.object(text, logit_score)?, folder));
                self.taken = Output::CausalLogits;
            }
            K::Splade => {
                let text = path.text(texts)?.ok_or(path.missing())?;
                self.splade = Some(path.object(text, splade)?);
                let is_default = last == Some(K::Masked);
                self.taken = Output::MaskedLogits { is_default };
            }
            K::Normalize => {
                if let Some(text) = path.text(texts)? {
                    path.object(text, |config| check_normalize(config, "sentence_embedding"))?;
                }
                self.normalize = true;
            }
            // It has an effect only in training.
            K::Dropout => return Ok(last),
            // The settings of a Dense module determine this; it has no name in lists.
            K::Scores => {}
        }
        Ok(Some(kind))
    }
}

/// Returns true if the settings of a module name the vectors of tokens as its input.
fn takes_tokens<'a>(texts: &dyn Texts<'a>, path: TextPath<'a>) -> ReadText<'a, bool> {
    if leaf::Families::built_in().is_err() {
        return Ok(false);
    }
    let Some(text) = path.text(texts)? else { return Ok(false) };
    path.object(text, |config| Ok(config.get(INPUT).is_some_and(|input| input.is_text(TOKENS))))
}

/// The number of elements of vectors that are kept, if not all are.
#[inline(never)] // its stack is free again before what follows
fn kept<'a>(texts: &dyn Texts<'a>) -> ReadText<'a, Option<usize>> {
    Ok(FolderPrompts::read(texts, true)?.truncate_dim)
}

fn misplaced<'a>(module: &Module<'a>, only: &'static str) -> TextFault<'a> {
    let error = Error::new(module.value.offset(), ErrorKind::UnsupportedSetting);
    LIST.fault(Fault { error, key: "type", only })
}

/// An error about the list as a whole, which begins at `offset`.
const fn wrong_list<'a>(offset: u64, kind: ErrorKind, only: &'static str) -> TextFault<'a> {
    LIST.fault(Fault { error: Error::new(offset, kind), key: "", only })
}

fn check_list(list: Value<'_>) -> ReadText<'_, ()> {
    if list.kind() != LexemeKind::BeginArray {
        return Err(wrong_list(
            list.offset(),
            ErrorKind::BadMetadata,
            "a list of modules is needed",
        ));
    }
    if list.items().count() > MOST_MODULES {
        return Err(wrong_list(
            list.offset(),
            ErrorKind::OverLimit,
            "no model has as many modules",
        ));
    }
    Ok(())
}

fn module(item: Value<'_>) -> ReadText<'_, Module<'_>> {
    Object::new(item).and_then(|module| Module::read(&module)).map_err(|fault| LIST.fault(fault))
}

/// The folder of an item of the list, whatever the module's kind.
fn folder_in_list(item: Value<'_>) -> ReadText<'_, &str> {
    let path = Object::new(item).and_then(|module| module.text("path"));
    let folder = path.and_then(|path| folder(item, path.unwrap_or_default()));
    folder.map_err(|fault| LIST.fault(fault))
}

/// The folder in a module's `path`, without a trailing `/`.
pub(super) fn folder<'a>(module: Value<'a>, path: &'a str) -> Read<'a, &'a str> {
    let folder = path.trim_end_matches('/');
    if !stays_within(folder) {
        let error = module.member("path").unwrap_or(module).bad();
        return Err(Fault { error, key: "path", only: "a path within the folder is needed" });
    }
    Ok(if folder == "." { "" } else { folder })
}

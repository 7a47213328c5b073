//! The description of a model that embeds or compares texts.

use super::adapter::ADAPTER;
use super::chat_template::{CHAT_TEMPLATE, TemplateForm, TemplateText};
use super::encoder_settings::{self, EncoderSettings, tokenizer_limit};
use super::late_interaction::{LateInteraction, LateModules, LateSettings};
use super::logit_score::check_tokens;
use super::masked_models::refuse_masked;
use super::modules::{ModuleList, Output};
use super::prompts::FolderPrompts;
use super::table::{TableSettings, described_table};
use super::texts::{ReadText, TextPath, Texts};
use super::{CONFIG, Origin, SENTENCE_BERT_CONFIG};
use crate::error::{Error, ErrorKind};
use crate::leaf;
use crate::model::{DenseActivation, FamilyModel, MaskedModel, PoolingMode};
use crate::model::{read_config, read_scoring_config};
use crate::text::json::{Fault, Object, Read, Value};

/// The settings of a tokenizer, separate from its file.
pub(super) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";

/// A model as described by the texts of its folder.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description<'a> {
    /// The modules after the transformer.
    pub modules: ModuleList<'a>,
    /// The kind of the model.
    pub kind: Kind,
    /// The settings of the encoder's module.
    pub settings: EncoderSettings,
    /// `model_max_length` of the tokenizer.
    pub tokenizer_limit: Option<u64>,
    /// The activation of the scores, in a model that compares texts by its modules.
    pub on_scores: Option<DenseActivation>,
    /// The head of a masked language model, whose scores become a sparse vector.
    pub masked: Option<MaskedModel>,
    /// The tokens of texts in a model whose modules take the vector of each token.
    pub late_interaction: Option<LateInteraction<'a>>,
    /// The prompt of a model that compares texts, if it has one.
    pub template: Option<TemplateText<'a>>,
}

/// The kind of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one of it, and no heap")]
pub enum Kind {
    /// An encoder.
    Transformer(FamilyModel),
    /// A table with a vector for each token.
    Table(TableSettings),
}

impl<'a> Description<'a> {
    /// Reads `modules.json`, `config.json` and the limits of a text's tokens.
    ///
    /// # Errors
    ///
    /// Any fault of a text; [`ErrorKind::MissingMetadata`] without `config.json`;
    /// [`ErrorKind::UnsupportedSetting`] for a masked language model without `modules.json`, and
    /// for a transformer with an adapter.
    pub fn read(texts: &dyn Texts<'a>) -> ReadText<'a, Self> {
        let modules = ModuleList::read(texts)?;
        // All texts are requested before any is read, since a source may restart the requests.
        let folder = modules.folder;
        let at = |name| TextPath { folder, name };
        let config = at(CONFIG).text(texts)?;
        let mut settings = None;
        for name in encoder_settings::FILES {
            if let Some(text) = at(name).text(texts)? {
                settings = Some((at(name), text));
                break;
            }
        }
        let tokenizer = at(TOKENIZER_CONFIG).text(texts)?;
        let adapter = at(ADAPTER).text(texts)?;

        let (kind, masked) = described(at(CONFIG), config, &modules)?;
        if let (Kind::Transformer(family), Some(pooling)) = (&kind, &modules.pooling)
            && family.config.final_projection.is_some()
            && !pooling.modes.is_linear()
        {
            return Err(modules.pool_otherwise());
        }
        let mut late = LateSettings::default();
        let read = |settings: &_| {
            if let Some(LateModules::Masked(_)) = modules.late {
                late = LateSettings::from_object(settings)?;
            }
            EncoderSettings::from_object(settings, modules.taken)
        };
        let default =
            matches!(modules.taken, Output::States | Output::MaskedLogits { is_default: true });
        if settings.is_none() && !default {
            return Err(at(SENTENCE_BERT_CONFIG).missing());
        }
        let settings = settings.map(|(path, text)| path.object(text, read));
        let limit = tokenizer.map(|text| at(TOKENIZER_CONFIG).object(text, tokenizer_limit));
        let settings = settings.transpose()?.unwrap_or_default();
        let tokenizer_limit = limit.transpose()?.flatten();
        if adapter.is_some() && matches!(kind, Kind::Transformer(_)) {
            return Err(at(ADAPTER).fault(REFUSED_ADAPTER));
        }
        if modules.late.is_some()
            && late.names_no_token()
            && let Some(text) = tokenizer
        {
            at(TOKENIZER_CONFIG).object(text, check_mask_token)?;
        }
        let mut described = Self {
            modules,
            kind,
            settings,
            tokenizer_limit,
            on_scores: None,
            masked,
            late_interaction: None,
            template: None,
        };
        described.take_scores(texts)?;
        if let Some(modules) = described.modules.late {
            let read = described.read_late_interaction(texts, modules, late)?;
            described.late_interaction = Some(read);
        }
        if leaf::Families::built_in().is_ok() {
            described.template = described.read_template(texts)?;
        }
        Ok(described)
    }

    /// Reads the activation of the scores of a cross-encoder with listed modules.
    fn take_scores(&mut self, texts: &dyn Texts<'a>) -> ReadText<'a, ()> {
        let Kind::Transformer(family) = &mut self.kind else { return Ok(()) };
        if let Some((score, folder)) = self.modules.token_score {
            let path = TextPath { folder, name: CONFIG };
            let checked = check_tokens(score, family.config.vocabulary);
            checked.map_err(|fault| path.fault(fault))?;
        } else if !self.modules.are_transformer_alone() {
            if self.modules.give_scores {
                self.on_scores = FolderPrompts::read(texts, true)?.on_logits;
            }
            return Ok(());
        } else if !self.settings.classifies {
            return Err(self.modules.do_not_pool());
        }
        let head = family.classifier.as_mut().ok_or_else(|| self.modules.do_not_pool())?;
        head.on_logits = FolderPrompts::read(texts, true)?.on_logits.or(head.on_logits);
        Ok(())
    }

    /// The tokens of texts in a model for late interaction.
    fn read_late_interaction(
        &self,
        texts: &dyn Texts<'a>,
        modules: LateModules<'a>,
        settings: LateSettings<'a>,
    ) -> ReadText<'a, LateInteraction<'a>> {
        let stated = FolderPrompts::read(texts, true)?.late_interaction;
        let read = modules.with_settings(settings, stated)?;
        let Kind::Transformer(family) = &self.kind else { return Ok(read) };
        let reach = family.config.attention.window.map_or(usize::MAX, |window| window.reach);
        match read.expansion {
            Some(it) if !it.is_attended && it.length > reach.saturating_add(1) => {
                let only = "a token at a query's end would attend to none in a layer with a window";
                let (file, [.., key]) = read.origin.settings();
                Err(TextPath::own(file).unsupported(key, only))
            }
            _ => Ok(read),
        }
    }

    /// Reads the template of a model that compares texts by messages: of one whose files do not say
    /// whether it does, if it pools the last token and the file is there.
    fn read_template(&self, texts: &dyn Texts<'a>) -> ReadText<'a, Option<TemplateText<'a>>> {
        let Kind::Transformer(family) = &self.kind else { return Ok(None) };
        let pools_last = family.classifier.is_some_and(|head| head.pooling == PoolingMode::Last);
        let takes_messages = self.settings.takes_messages;
        if !self.compares() || !takes_messages.unwrap_or(pools_last) {
            return Ok(None);
        }
        let path = TextPath { folder: self.modules.folder, name: CHAT_TEMPLATE };
        match (path.text(texts)?, takes_messages) {
            (Some(text), _) => Ok(Some(TemplateText { path, text, form: TemplateForm::Jinja })),
            (None, Some(_)) => Err(path.missing()),
            (None, None) => Ok(None),
        }
    }

    /// Returns true if the model compares two texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        let has_head = match &self.kind {
            Kind::Transformer(family) => family.classifier.is_some(),
            Kind::Table(_) => false,
        };
        let has_modules = self.modules.are_listed() && !self.modules.are_transformer_alone();
        self.modules.give_scores || has_head && !has_modules
    }
}

/// The tokens that queries are filled up with, by the tokenizers that have them.
pub const MASK_TOKENS: [&str; 2] = ["[MASK]", "<mask>"];

/// Rejects settings of a tokenizer whose mask token is another one than those that are looked for.
fn check_mask_token<'t>(config: &Object<'t>) -> Read<'t, ()> {
    const MASK: &str = "mask_token";
    config.neutral(MASK, "only \"[MASK]\" and \"<mask>\" are known", |token| {
        let token = token.member("content").unwrap_or(token);
        MASK_TOKENS.iter().any(|known| token.is_text(known))
    })
}

const REFUSED_ADAPTER: Fault<'static> = {
    let mut fault = Fault::from_error(Error::new(0, ErrorKind::UnsupportedSetting));
    fault.only = "adapters are not applied: merge it into the weights";
    fault
};

/// Rejects an adapter.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedSetting`] at the adapter's settings.
pub fn refuse_adapter<'a>(texts: &dyn Texts<'a>) -> ReadText<'a, ()> {
    let path = TextPath::own(ADAPTER);
    path.text(texts)?.map_or(Ok(()), |_| Err(path.fault(REFUSED_ADAPTER)))
}

/// The model described by `config.json`, if it exists, and the head whose scores its modules pool.
fn described<'a>(
    path: TextPath<'a>,
    text: Option<&'a str>,
    modules: &ModuleList<'a>,
) -> ReadText<'a, (Kind, Option<MaskedModel>)> {
    let config = text.map(|text| path.value(text)).transpose()?;
    if let Some(settings) = described_table(path, config, modules)? {
        return Ok((Kind::Table(settings), None));
    }
    let read = |config: Value<'a>| {
        if modules.origin != Origin::List {
            refuse_masked(config)?;
        }
        let model = match modules.token_score {
            Some((score, _)) => read_scoring_config(config, score),
            None => read_config(config),
        }?;
        let masked = modules.splade.map(|_| MaskedModel::read(config, &model)).transpose()?;
        Ok((Kind::Transformer(model), masked))
    };
    let config = config.ok_or(path.missing())?;
    read(config).map_err(|fault| path.fault(fault))
}

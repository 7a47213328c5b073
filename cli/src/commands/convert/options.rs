//! What options are for: one that a conversion has no use for is refused instead of ignored.

use nanoembed::convert::conversion::ModelForm;
use nanoembed::convert::weights_file::WeightType;
use nanoembed::words::form::Form;
use nanoembed::words::policy::Policy;

use super::Convert;
use super::forms::To;
use crate::error::{Error, Result};

/// What becomes what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Words(Form, Form),
    Model(ModelForm, To),
}

/// An option as it was given.
struct Rule {
    option: &'static str,
    is_given: bool,
    /// Whether it means something here, and where it does.
    is_used: bool,
    use_is: &'static str,
}

impl Convert {
    /// Refuses the first option that was given and means nothing for a conversion of this kind.
    pub(super) fn check_options(&self, kind: Kind) -> Result<()> {
        match self.rules(kind).into_iter().find(|rule| rule.is_given && !rule.is_used) {
            Some(Rule { option, use_is, .. }) => {
                Err(Error::usage(format!("{option} is for {use_is}")))
            }
            None => Ok(()),
        }
    }

    /// Refuses the first option that was given and means nothing for a GGUF file, which takes the
    /// weights as they are.
    pub(super) fn check_gguf_options(&self) -> Result<()> {
        let rules = self.rules(Kind::Model(self.model_form(), To::Gguf));
        match rules.into_iter().find(|rule| rule.is_given && rule.option != "--config") {
            Some(Rule { option, .. }) => {
                Err(Error::usage(format!("{option} is not for GGUF files")).with_hint(
                    "`nanoembed quantize IN OUT.gguf --type TYPE` gives the weights another type",
                ))
            }
            None => Ok(()),
        }
    }

    fn rules(&self, kind: Kind) -> [Rule; 16] {
        let is_model = matches!(kind, Kind::Model(..));
        let is_words = !is_model;
        let is_amb = matches!(kind, Kind::Model(_, To::Amb));
        let is_adaptive = self.weight_type == WeightType::Adaptive;
        let has_config =
            matches!(kind, Kind::Model(ModelForm::HuggingFace | ModelForm::Weights, _));
        let has_metadata = is_model || matches!(kind, Kind::Words(_, Form::Finalfusion));
        let is_import = matches!(kind, Kind::Words(from, _) if from != Form::Finalfusion);
        let is_export =
            matches!(kind, Kind::Words(_, to) if !matches!(to, Form::Finalfusion | Form::Floret));
        let is_tuned = is_model && !self.weight_type.is_float();
        let words = self.words.options();
        let Policy { duplicates, utf8 } = words.policy;
        let usual = Policy::default();
        let rule = |option, is_given, is_used, use_is| Rule { option, is_given, is_used, use_is };
        let config = "models in folders and `.weights` files";
        [
            rule(
                "--type",
                self.weight_type != WeightType::F32,
                is_model,
                "models; `nanoembed quantize` makes word vectors smaller",
            ),
            rule(
                "--block",
                self.block.is_some(),
                is_amb && is_tuned,
                "types of few bits in `.amb` files",
            ),
            rule(
                "--bits",
                self.bits.is_some(),
                is_amb && is_adaptive,
                "`--type adaptive` in `.amb` files",
            ),
            rule(
                "--for-web",
                self.for_web,
                is_model && !is_amb && self.weight_type == WeightType::Int8,
                "`--type int8` in `.weights` files; from `.amb` files browsers make such codes by themselves",
            ),
            rule("--config", self.config.is_some(), has_config, config),
            rule("--calibrate", self.calibrate.is_some(), is_tuned, "types of few bits"),
            rule("--pooler", self.pooler, has_config, config),
            rule("--name", self.name.is_some(), is_model, "models"),
            rule("--metadata", !self.metadata.is_empty(), has_metadata, "models and `.fifu` files"),
            rule("--json", self.json, is_model, "models"),
            rule("--duplicates", duplicates != usual.duplicates, is_words, "word vectors"),
            rule("--utf8", utf8 != usual.utf8, is_words, "word vectors"),
            rule(
                "--no-normalize",
                words.no_normalize,
                is_import,
                "word vectors that are no `.fifu` file yet",
            ),
            rule(
                "--first",
                words.first.is_some(),
                is_import && !matches!(kind, Kind::Words(Form::Floret, _)),
                "word2vec, text and fastText files",
            ),
            rule(
                "--ignore-count",
                words.ignore_count,
                matches!(kind, Kind::Words(Form::Word2vec | Form::Textdims, _)),
                "files whose first line announces their words",
            ),
            rule(
                "--normalized",
                words.normalized,
                is_export,
                "vectors of words in other files than `.fifu`",
            ),
        ]
    }
}

//! The kinds of scaling of rotary frequencies.

use super::{HeadSizes, Kinds, RotaryRules, RotaryScaling, RotarySettings};
use crate::model::config::rope::long_attention_factor;
use crate::model::config::{Llama3, Yarn, YarnSettings};
use crate::model::family::settings::Settings;
use crate::text::json::{Fault, Read, Value};

/// The object from which a kind's settings are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p, 't> {
    pub(super) said: Settings<'p, 't>,
    pub(super) sizes: HeadSizes,
    pub(super) rules: RotaryRules,
    pub(super) dimensions: usize,
    pub(super) base: f32,
}

impl<'t> Place<'_, 't> {
    /// The length of the original context in tokens.
    pub(super) fn original(&self, outside: &Settings<'_, 't>) -> Read<'t, usize> {
        /// Phi-3's default.
        const PHI_3: usize = 4096;
        const NAME: &str = "original_max_position_embeddings";
        let inside = self.said.optional(NAME)?;
        let usual = if self.rules.kinds == Kinds::Phi3 { PHI_3 } else { self.sizes.positions };
        Ok(outside.optional(NAME)?.or(inside).unwrap_or(usual))
    }

    /// `plain` with the named scaling.
    pub(super) fn scaled(&self, plain: RotarySettings<'t>) -> Read<'t, RotarySettings<'t>> {
        let said = self.said.object;
        let kinds = self.rules.kinds;
        let [new, old] = [said.get("rope_type"), said.get("type")];
        let name = if new.is_some() { "rope_type" } else { "type" };
        let Some(kind) = new.or(old) else { return Ok(plain) };
        let is = |text: &str| kind.is_text(text);
        let extends = matches!(kinds, Kinds::Decoders | Kinds::Phi3);
        let is_phi = kinds == Kinds::Phi3;
        let scaling = if is("default") {
            RotaryScaling::None
        } else if is("dynamic") {
            said.number("factor")?;
            RotaryScaling::None
        } else if is("linear") && !is_phi {
            #[allow(clippy::cast_possible_truncation)] // models are not this precise
            RotaryScaling::Linear(self.positive("factor")? as f32)
        } else if is("ntk") && kinds == Kinds::Gte {
            self.said.absent(&["mixed_b"])?;
            return Ok(ntk(plain, self.positive("factor")?));
        } else if is("llama3") && kinds == Kinds::Decoders {
            self.llama3(plain.original_positions)?
        } else if extends && (is("longrope") || is("su")) || is("yarn") && is_phi {
            return self.long(plain);
        } else if is("yarn") {
            return self.yarn(plain);
        } else {
            return Err(said.unsupported(name, kinds.only()));
        };
        Ok(RotarySettings { scaling, ..plain })
    }

    fn positive(&self, name: &'static str) -> Read<'t, f64> {
        let found = self.said.object.needed(name, self.said.object.number(name)?)?;
        is_positive(found)
            .then_some(found)
            .ok_or_else(|| self.bad(name, "a positive number is needed"))
    }

    fn bad(&self, name: &'static str, only: &'static str) -> Fault<'t> {
        self.said.object.bad(name, only)
    }

    /// The factor, or the ratio of the contexts if only these are given.
    fn factor(&self, original_positions: usize) -> Read<'t, f64> {
        #[allow(clippy::cast_precision_loss)] // at most 2²⁴
        match self.said.object.get("factor") {
            Some(_) => self.positive("factor"),
            None => Ok(self.sizes.positions as f64 / original_positions as f64),
        }
    }

    fn llama3(&self, original_positions: usize) -> Read<'t, RotaryScaling<'t>> {
        #[allow(clippy::cast_precision_loss)] // at most 2²⁴
        let original_positions = original_positions as f64;
        let llama = Llama3 {
            factor: self.positive("factor")?,
            low_frequency_factor: self.positive("low_freq_factor")?,
            high_frequency_factor: self.positive("high_freq_factor")?,
            original_positions,
        };
        match llama.low_frequency_factor < llama.high_frequency_factor {
            true => Ok(RotaryScaling::Llama3(llama)),
            false => Err(self.bad("high_freq_factor", "it has to be above `low_freq_factor`")),
        }
    }

    /// YaRN's settings as transformers reads them, where a β or scale of 0 counts as absent.
    fn yarn(&self, plain: RotarySettings<'t>) -> Read<'t, RotarySettings<'t>> {
        let said = self.said.object;
        let given = |name| match said.number(name)? {
            None | Some(0.0) => Ok(None),
            Some(_) => self.positive(name).map(Some),
        };
        let scale = |name| Ok(said.number(name)?.filter(|number| *number != 0.0));
        let factor = self.factor(plain.original_positions)?;
        #[allow(clippy::cast_precision_loss)] // at most 2²⁴
        let original_positions = plain.original_positions as f64;
        let yarn = YarnSettings {
            factor,
            original_positions,
            beta_fast: given("beta_fast")?.unwrap_or(32.0),
            beta_slow: given("beta_slow")?.unwrap_or(1.0),
            truncate: self.said.truth("truncate", true)?,
        };
        let attention =
            match (said.number("attention_factor")?, scale("mscale")?, scale("mscale_all_dim")?) {
                (Some(_), ..) => self.positive("attention_factor")?,
                (None, Some(one), Some(all)) => {
                    Yarn::attention_factor(factor, one) / Yarn::attention_factor(factor, all)
                }
                _ => Yarn::attention_factor(factor, 1.0),
            };
        let has_sense = Yarn::new(&yarn, self.dimensions, self.base).is_some();
        if !(has_sense && is_positive(attention)) {
            return Err(self.bad("factor", "it makes no sense with the others"));
        }
        let scaling = RotaryScaling::Yarn(yarn);
        Ok(RotarySettings { attention_factor: attention, scaling, ..plain })
    }

    fn long(&self, plain: RotarySettings<'t>) -> Read<'t, RotarySettings<'t>> {
        let factor = self.factor(plain.original_positions)?;
        let attention_factor = match self.said.object.get("attention_factor") {
            Some(_) => self.positive("attention_factor")?,
            #[allow(clippy::cast_precision_loss)] // at most 2²⁴
            None => long_attention_factor(factor, plain.original_positions as f64),
        };
        let lists = [self.list("short_factor")?, self.list("long_factor")?];
        Ok(RotarySettings { attention_factor, scaling: RotaryScaling::Long(lists), ..plain })
    }

    /// A list with a positive number for each pair.
    fn list(&self, name: &'static str) -> Read<'t, Value<'t>> {
        let list = self.said.object.needed(name, self.said.object.get(name))?;
        let is_good = |item: Value<'t>| item.as_f64().is_some_and(is_positive);
        let fits = list.items().count() == self.dimensions / 2 && list.items().all(is_good);
        let only = "a positive number is needed for every two elements that are turned";
        fits.then_some(list).ok_or_else(|| self.bad(name, only))
    }
}

/// Returns true if a number is positive as f32, in which it is used.
fn is_positive(number: f64) -> bool {
    #[allow(clippy::cast_possible_truncation)] // it is what is looked at
    let number = number as f32;
    number.is_finite() && number > 0.0
}

fn ntk(plain: RotarySettings<'_>, factor: f64) -> RotarySettings<'_> {
    #[allow(clippy::cast_precision_loss)] // heads are small
    let exponent = 2.0 / plain.dimensions as f64;
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    let [divisor, factor] = [libm::pow(factor, exponent) as f32, factor as f32];
    let scaling = RotaryScaling::Linear(divisor);
    RotarySettings { base: plain.base * factor, scaling, ..plain }
}

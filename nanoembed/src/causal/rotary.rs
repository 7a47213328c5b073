//! The rotary settings of a `config.json`: `rope_parameters` as transformers 5 writes them, or
//! `rope_scaling` and members outside it as versions before did.
//!
//! | `rope_type` | honoured |
//! |---|---|
//! | `default`, `linear`, `llama3`, `yarn` | as transformers does |
//! | `longrope` (`su`; of Phi-3 also `yarn`) | short factors up to the original context, long ones for longer texts |
//! | `dynamic` | it changes nothing up to `max_position_embeddings`, and texts are not longer |
//!
//! All come down to divisors of the frequencies and a factor on cosines and sines: see
//! [`nanoembed_core::model::llama::rope`].

use nanoembed_core::model::llama::rope::{Llama3, Yarn, YarnSettings, long_attention_factor};
use serde_json::{Value, json};

use super::config::Family;
use crate::error::Result;
use crate::open::settings_rule::Members;

/// How a model's heads are turned.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotary {
    /// Elements of a head that are turned.
    pub dimensions: usize,
    pub base: f64,
    /// What cosines and sines are multiplied with.
    pub attention_factor: f64,
    /// The context before it was extended.
    pub original_positions: u64,
    pub scaling: Scaling,
    /// The base in layers with a window, whose positions are not scaled; that of all without.
    pub local_base: Option<f64>,
}

/// How frequencies are divided.
#[derive(Clone, Debug, PartialEq)]
pub enum Scaling {
    None,
    Linear(f64),
    /// As for Llama 3.1, each by a number of its own.
    Llama3(Vec<f32>),
    /// The same by YaRN, and the settings that they follow from.
    Yarn(YarnSettings, Vec<f32>),
    /// By one list for short texts and another one for long texts.
    Long([Vec<f32>; 2]),
}

/// The sizes that rotary settings refer to.
#[derive(Clone, Copy, Debug)]
pub struct HeadSizes {
    pub head: usize,
    pub positions: u64,
    pub family: Family,
}

/// The base in Gemma's layers with a window.
const GEMMA_LOCAL_BASE: f64 = 10_000.0;

/// Phi-3's original context where its file does not say it.
const USUAL_PHI: f64 = 4096.0;

impl Rotary {
    /// Reads the members of a `config.json`.
    pub fn of(config: &Members<'_>, sizes: HeadSizes) -> Result<Self> {
        config.neutral("rotary_pct", &[json!(1)])?;
        config.neutral("rope_interleaved", &[json!(false)])?;
        let outside = |name: &str| config.number(name);
        let [old, new] = [config.nested("rope_scaling")?, config.nested("rope_parameters")?];
        // One that says nothing is as good as none.
        let [old, new] = [old, new].map(|it| it.filter(|it| !it.is_empty()));
        if let (Some(_), Some(new)) = (&old, &new) {
            let only = "beside `rope_scaling` it is not honoured";
            if !same_settings(config) {
                return Err(config.unsupported("rope_parameters", only));
            }
            new.ask_all();
        }
        let is_phi = sizes.family == Family::Phi3;
        let is_gemma = sizes.family == Family::Gemma3;
        let layers = new.as_ref().filter(|_| is_gemma).map(ByLayers::of).transpose()?.flatten();
        let sliding = layers.as_ref().map(|layers| &layers.sliding);
        let local_base = is_gemma.then(|| local_base(config, sliding)).transpose()?;
        let full = layers.as_ref().map(|layers| &layers.full);
        let none = Members::none("config.json");
        let said = full.or(old.as_ref()).or(new.as_ref()).unwrap_or(&none);
        let either =
            |name: &str| Ok::<_, crate::error::Error>(said.number(name)?.or(outside(name)?));
        let partial = either("partial_rotary_factor")?.unwrap_or(1.0);
        let in_place = |name: &str| said.get(name).is_some();
        let refused = |name: &str, only: &str| match in_place(name) {
            true => said.unsupported(name, only),
            false => config.unsupported(name, only),
        };
        if !is_phi && partial != 1.0 {
            let only = "of this type of model only those that turn whole heads (1) are honoured";
            return Err(refused("partial_rotary_factor", only));
        }
        #[expect(clippy::cast_precision_loss, reason = "heads are small")]
        let turned = sizes.head as f64 * partial;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let dimensions = match turned >= 2.0 && partial <= 1.0 && turned.floor() % 2.0 == 0.0 {
            true => turned as usize,
            false => return Err(refused("partial_rotary_factor", "it leaves no pairs to turn")),
        };
        let base = either("rope_theta")?.unwrap_or(sizes.family.usual_base());
        let rope_type = said.text("rope_type")?;
        let kind = rope_type.or(said.text("type")?).unwrap_or("default").to_owned();
        #[expect(clippy::cast_precision_loss, reason = "positions are far below 2⁵³")]
        let positions = sizes.positions as f64;
        let original = outside("original_max_position_embeddings")?;
        let inside = said.number("original_max_position_embeddings")?;
        let usual = if is_phi { USUAL_PHI } else { positions };
        let original = original.or(inside).unwrap_or(usual);
        if !(1.0..=16_777_216.0).contains(&original) {
            let only = "it is no number of positions";
            return Err(refused("original_max_position_embeddings", only));
        }
        let place = Place { said, dimensions, base, positions, original };
        let (scaling, attention_factor) = match (kind.as_str(), is_phi) {
            ("default", _) => (Scaling::None, 1.0),
            ("dynamic", _) => {
                said.number("factor")?;
                (Scaling::None, 1.0)
            }
            ("linear", false) => (Scaling::Linear(place.positive("factor")?), 1.0),
            ("llama3", false) => (place.llama3()?, 1.0),
            ("longrope" | "su", _) | ("yarn", true) => place.long()?,
            ("yarn", false) => place.yarn()?,
            _ => {
                let name = if rope_type.is_some() { "rope_type" } else { "type" };
                let only = "only default, linear, dynamic, llama3, yarn and longrope are honoured";
                return Err(said.unsupported(name, only));
            }
        };
        // Settings of other types, which transformers does not read either.
        said.finish(&["finetuned"])?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let original_positions = original as u64;
        Ok(Self { dimensions, base, attention_factor, original_positions, scaling, local_base })
    }

    /// The members of an AMB configuration.
    pub fn members(&self) -> Vec<(&'static str, Value)> {
        let divisor = if let Scaling::Linear(factor) = self.scaling { factor } else { 1.0 };
        let mut members = vec![
            ("rope_freq_base", json!(self.base)),
            ("rope_scaling", json!(divisor)),
            ("rope_dimensions", json!(self.dimensions)),
        ];
        if self.attention_factor != 1.0 {
            members.push(("rope_attention_factor", json!(self.attention_factor)));
        }
        if let Scaling::Long(_) = self.scaling {
            members.push(("rope_original_positions", json!(self.original_positions)));
        }
        members.extend(self.local_base.map(|base| ("rope_local_freq_base", json!(base))));
        members
    }

    /// The vectors of divisors under the names of an `.amb` file.
    pub fn divisors(&self) -> Vec<(&'static str, &[f32])> {
        match &self.scaling {
            Scaling::None | Scaling::Linear(_) => Vec::new(),
            Scaling::Llama3(divisors) | Scaling::Yarn(_, divisors) => vec![(DIVISORS, divisors)],
            Scaling::Long([short, long]) => vec![(SHORT, short), (LONG, long)],
        }
    }
}

/// The tensors that have the divisors of rotary frequencies.
pub const DIVISORS: &str = "model.rope_freqs.weight";
pub const SHORT: &str = "model.rope_factors_short.weight";
pub const LONG: &str = "model.rope_factors_long.weight";

/// Whether `rope_scaling` and `rope_parameters` are alike, as files for readers of both have them.
fn same_settings(config: &Members<'_>) -> bool {
    config.get("rope_scaling") == config.get("rope_parameters")
}

/// The settings of layers without and with a window, where `rope_parameters` has both.
struct ByLayers<'m> {
    full: Members<'m>,
    sliding: Members<'m>,
}

impl<'m> ByLayers<'m> {
    fn of(parameters: &'m Members<'_>) -> Result<Option<Self>> {
        let full = parameters.nested("full_attention")?;
        let sliding = parameters.nested("sliding_attention")?;
        match (full, sliding) {
            (None, None) => Ok(None),
            (Some(full), Some(sliding)) => {
                parameters.finish(&[])?;
                Ok(Some(Self { full, sliding }))
            }
            (None, Some(_)) => Err(parameters.bad("full_attention", "is missing")),
            (Some(_), None) => Err(parameters.bad("sliding_attention", "is missing")),
        }
    }
}

/// The base in layers with a window.
fn local_base(config: &Members<'_>, sliding: Option<&Members<'_>>) -> Result<f64> {
    const NAME: &str = "rope_local_base_freq";
    let outside = config.number(NAME)?;
    let (place, name, base) = match sliding {
        Some(sliding) => {
            ["rope_type", "type"]
                .iter()
                .try_for_each(|name| sliding.neutral(name, &[json!("default")]))?;
            let base = sliding.number("rope_theta")?;
            sliding.finish(&[])?;
            (sliding, "rope_theta", base.or(outside))
        }
        None => (config, NAME, outside),
    };
    let base = base.unwrap_or(GEMMA_LOCAL_BASE);
    let is_good = base.is_finite() && base > 0.0;
    if is_good { Ok(base) } else { Err(place.bad(name, "is no positive number")) }
}

/// What the settings of one type are read with.
struct Place<'p, 'v> {
    said: &'p Members<'v>,
    dimensions: usize,
    base: f64,
    positions: f64,
    original: f64,
}

impl Place<'_, '_> {
    fn positive(&self, name: &str) -> Result<f64> {
        let found = self.said.number(name)?.filter(|it| it.is_finite() && *it > 0.0);
        found.ok_or_else(|| self.said.bad(name, "is missing or no positive number"))
    }

    #[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
    const fn base(&self) -> f32 {
        self.base as f32
    }

    #[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
    fn each(&self, divisor: impl Fn(usize) -> f64) -> Vec<f32> {
        (0..self.dimensions / 2).map(|pair| divisor(pair) as f32).collect()
    }

    fn llama3(&self) -> Result<Scaling> {
        let llama = Llama3 {
            factor: self.positive("factor")?,
            low_frequency_factor: self.positive("low_freq_factor")?,
            high_frequency_factor: self.positive("high_freq_factor")?,
            original_positions: self.original,
        };
        if llama.low_frequency_factor >= llama.high_frequency_factor {
            return Err(self.said.bad("high_freq_factor", "is not above `low_freq_factor`"));
        }
        let divisor = |pair| llama.divisor(pair, self.dimensions, self.base());
        Ok(Scaling::Llama3(self.each(divisor)))
    }

    /// The factor, or what it is where only the contexts are known.
    fn factor(&self) -> Result<f64> {
        match self.said.get("factor") {
            Some(_) => self.positive("factor"),
            None => Ok(self.positions / self.original),
        }
    }

    fn yarn(&self) -> Result<(Scaling, f64)> {
        let factor = self.factor()?;
        let or = |name: &str, usual: f64| match self.said.number(name)? {
            // As in transformers, 0 is as good as nothing.
            None | Some(0.0) => Ok(usual),
            Some(_) => self.positive(name),
        };
        let settings = YarnSettings {
            factor,
            original_positions: self.original,
            beta_fast: or("beta_fast", 32.0)?,
            beta_slow: or("beta_slow", 1.0)?,
            truncate: self.said.truth("truncate")?.unwrap_or(true),
        };
        let mscale = |name: &str| Ok(self.said.number(name)?.filter(|it| *it != 0.0));
        let scales: [Option<f64>; 2] = [mscale("mscale")?, mscale("mscale_all_dim")?];
        let attention = match (self.said.number("attention_factor")?, scales) {
            (Some(_), _) => self.positive("attention_factor")?,
            (None, [Some(one), Some(all)]) => {
                Yarn::attention_factor(factor, one) / Yarn::attention_factor(factor, all)
            }
            (None, _) => Yarn::attention_factor(factor, 1.0),
        };
        let yarn = Yarn::new(&settings, self.dimensions, self.base());
        let yarn = yarn.ok_or_else(|| self.said.bad("factor", "makes no sense with the others"))?;
        let divisors = self.each(|pair| yarn.divisor(pair));
        Ok((Scaling::Yarn(settings, divisors), attention))
    }

    fn long(&self) -> Result<(Scaling, f64)> {
        let attention = match self.said.get("attention_factor") {
            Some(_) => self.positive("attention_factor")?,
            None => long_attention_factor(self.factor()?, self.original),
        };
        let lists = [self.list("short_factor")?, self.list("long_factor")?];
        // Where the contexts say the factor, the one beside them is not read.
        self.said.get("factor");
        Ok((Scaling::Long(lists), attention))
    }

    #[expect(clippy::cast_possible_truncation, reason = "models are not this precise")]
    fn list(&self, name: &str) -> Result<Vec<f32>> {
        let items = self.said.items(name)?.iter();
        let numbers = items.map(|it| it.as_f64().filter(|it| it.is_finite() && *it > 0.0));
        let numbers: Option<Vec<f32>> = numbers.map(|it| Some(it? as f32)).collect();
        let fits = |list: &Vec<f32>| list.len() == self.dimensions / 2;
        numbers.filter(fits).ok_or_else(|| {
            let wanted = self.dimensions / 2;
            self.said.bad(name, format!("has to be {wanted} positive numbers"))
        })
    }
}

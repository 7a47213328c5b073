//! The rotary settings of a `config.json`: `rope_parameters` as written by transformers 5, or
//! `rope_scaling` and members outside it as in earlier versions.
//!
//! | `rope_type` | support |
//! |---|---|
//! | `default` | |
//! | `linear` | positions are divided by `factor` |
//! | `yarn` | as in transformers |
//! | `dynamic` | no effect up to `max_position_embeddings`, and texts are not longer |
//! | `llama3`, decoders only | as in transformers |
//! | `longrope` (`su`), decoders only; for Phi-3 also as `yarn` | short factors up to the original context, long ones for longer texts |
//! | `ntk`, GTE only | the base is multiplied by `factor`, and frequencies are divided by `factor^(2 / size)` |

mod rotary_settings;
mod scaling;

pub use rotary_settings::{RotaryScaling, RotarySettings};

use self::scaling::Place;
use super::Settings;
use crate::model::config::{Config, Rope};
use crate::text::json::{Object, Read, Value};

/// The sizes to which rotary settings refer.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) struct HeadSizes {
    pub(in crate::model::family) head: usize,
    pub(in crate::model::family) positions: usize,
}

impl HeadSizes {
    pub(in crate::model::family) const fn new(config: &Config) -> Self {
        Self { head: config.heads.size, positions: config.positions }
    }

    /// Unscaled rotary positions of whole heads, by halves, with this base.
    pub(in crate::model::family) const fn rope(self, base: f32) -> Rope {
        Rope::new(self.head, base, self.positions)
    }
}

/// A family's rules for rotary settings.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) struct RotaryRules {
    /// The default base.
    pub(in crate::model::family) base: f32,
    pub(in crate::model::family) kinds: Kinds,
}

/// The supported kinds of scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model::family) enum Kinds {
    Encoders,
    Gte,
    Decoders,
    Phi3,
}

impl Kinds {
    /// The message about unsupported kinds.
    const fn only(self) -> &'static str {
        match self {
            Self::Encoders | Self::Gte => "only default, linear, dynamic and yarn are honoured",
            Self::Decoders | Self::Phi3 => {
                "only default, linear, dynamic, llama3, yarn and longrope are honoured"
            }
        }
    }
}

impl<'t> Settings<'_, 't> {
    /// The rotary settings of a family with the same ones in all layers.
    pub(in crate::model::family) fn rotary(
        &self,
        sizes: HeadSizes,
        rules: RotaryRules,
    ) -> Read<'t, RotarySettings<'t>> {
        self.even_head(sizes)?;
        let said = self.rope_object()?;
        self.rotary_in(said.as_ref(), sizes, rules)
    }

    /// The rotary positions of an encoder of such a family.
    pub(in crate::model::family) fn rope(
        &self,
        sizes: HeadSizes,
        base: f32,
        kinds: Kinds,
    ) -> Read<'t, Rope> {
        Ok(self.rotary(sizes, RotaryRules { base, kinds })?.rope(sizes.positions))
    }

    /// The rotary settings in `said`; members outside it are the defaults.
    pub(in crate::model::family) fn rotary_in(
        &self,
        said: Option<&Object<'t>>,
        sizes: HeadSizes,
        rules: RotaryRules,
    ) -> Read<'t, RotarySettings<'t>> {
        let said = said.map(|object| Settings { object });
        let inside = said.unwrap_or(*self);
        let dimensions = turned(self, &inside, sizes, rules.kinds)?;
        let outside = self.positive("rope_theta")?;
        let base = inside.positive("rope_theta")?.or(outside).unwrap_or(rules.base);
        let place = Place { said: inside, sizes, rules, dimensions, base };
        let original_positions = place.original(self)?;
        let plain = RotarySettings {
            dimensions,
            base,
            attention_factor: 1.0,
            original_positions,
            scaling: RotaryScaling::None,
        };
        let Some(said) = said else { return Ok(plain) };
        let read = place.scaled(plain)?;
        // transformers does not read it either.
        said.object.finish(&["finetuned"])?;
        Ok(read)
    }

    /// Rejects heads with an odd number of elements.
    pub(in crate::model::family) fn even_head(&self, sizes: HeadSizes) -> Read<'t, ()> {
        let bad = || self.object.bad("num_attention_heads", "heads have no pairs to turn");
        sizes.head.is_multiple_of(2).then_some(()).ok_or_else(bad)
    }

    /// The object with the rotary settings: one of two members, or both if they are equal.
    pub(in crate::model::family) fn rope_object(&self) -> Read<'t, Option<Object<'t>>> {
        let [old, new] =
            [self.object.object("rope_scaling")?, self.object.object("rope_parameters")?];
        // An empty object counts as absent.
        let [old, new] = [old, new].map(|it| it.filter(|it| it.value().members().count() > 0));
        match (old, new) {
            (Some(old), Some(new)) if !are_equal(old.value(), new.value()) => {
                let only = "beside another `rope_scaling` it is not honoured";
                Err(self.object.unsupported("rope_parameters", only))
            }
            (old, new) => Ok(old.or(new)),
        }
    }
}

/// The rotary settings in `said`, for layers to which no outer member applies.
pub(in crate::model::family) fn rotary_alone<'t>(
    said: &Object<'t>,
    sizes: HeadSizes,
    rules: RotaryRules,
) -> Read<'t, RotarySettings<'t>> {
    Settings { object: said }.rotary_in(Some(said), sizes, rules)
}

/// Returns true if two objects have the same members in any order.
fn are_equal(a: Value<'_>, b: Value<'_>) -> bool {
    let is_same = |a: Value<'_>, b: Value<'_>| {
        a.spelling() == b.spelling() || a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
    };
    let has = |(name, value)| b.member(name).is_some_and(|other| is_same(value, other));
    a.members().count() == b.members().count() && a.members().all(has)
}

/// Elements of a head that are rotated: in Phi-3 only a part.
fn turned<'t>(
    outside: &Settings<'_, 't>,
    inside: &Settings<'_, 't>,
    sizes: HeadSizes,
    kinds: Kinds,
) -> Read<'t, usize> {
    const NAME: &str = "partial_rotary_factor";
    let [own, other] = [inside.object.number(NAME)?, outside.object.number(NAME)?];
    let place = if own.is_some() { inside } else { outside };
    let part = own.or(other).unwrap_or(1.0);
    if kinds != Kinds::Phi3 && part != 1.0 {
        return Err(place.object.unsupported(NAME, "only whole heads (1) are turned"));
    }
    #[allow(clippy::cast_precision_loss)] // heads are small
    let turned = libm::floor(sizes.head as f64 * part);
    let is_good = part <= 1.0 && turned >= 2.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most the head's size
    let dimensions = if is_good { turned as usize } else { 1 };
    match dimensions % 2 {
        0 => Ok(dimensions),
        _ => Err(place.object.unsupported(NAME, "it leaves no pairs to turn")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::model::config::{Yarn, YarnSettings};

    const SIZES: HeadSizes = HeadSizes { head: 64, positions: 8192 };

    fn read(config: &str) -> Read<'_, Rope> {
        let object = Object::new(Value::parse(config, 0).unwrap()).unwrap();
        Settings { object: &object }.rope(SIZES, 10_000.0, Kinds::Gte)
    }

    #[test]
    fn both_spellings_mean_the_same() {
        let old = r#"{"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 2}}"#;
        let new = r#"{"rope_parameters": {"rope_type": "linear", "rope_theta": 500, "factor": 2}}"#;
        let expected = Rope { position_divisor: 2.0, ..SIZES.rope(500.0) };
        assert_eq!((read(old), read(new)), (Ok(expected), Ok(expected)));
        let usual = SIZES.rope(10_000.0);
        for config in [
            r#"{"rope_scaling": null}"#,
            r#"{"rope_scaling": {}}"#,
            r#"{"partial_rotary_factor": 1.0}"#,
        ] {
            assert_eq!(read(config), Ok(usual));
        }
        let dynamic = r#"{"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}"#;
        assert_eq!(read(dynamic), Ok(usual));
    }

    /// As `NTKScalingRotaryEmbedding` of GTE's own code: the base times 8, and frequencies divided
    /// by 8^(2 / 64).
    #[test]
    fn gte_scales_its_base_and_all_frequencies() {
        let config = r#"{"rope_theta": 20000, "rope_scaling": {"factor": 8.0, "type": "ntk"}}"#;
        let rope = read(config).unwrap();
        assert_eq!(rope.base, 160_000.0);
        assert!((f64::from(rope.position_divisor) - 1.067_140_4).abs() < 1e-6);
    }

    #[test]
    fn yarn_is_read_as_transformers_reads_it() {
        let config = r#"{"rope_theta": 10000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
            "original_max_position_embeddings": 2048}}"#;
        let rope = read(config).unwrap();
        let yarn = YarnSettings {
            factor: 4.0,
            original_positions: 2048.0,
            beta_fast: 32.0,
            beta_slow: 1.0,
            truncate: true,
        };
        assert_eq!(rope.yarn, Yarn::new(&yarn, 64, 10_000.0));
        assert!(rope.yarn.is_some() && (rope.attention_factor - 1.138_629_4).abs() < 1e-6);
    }

    #[test]
    fn what_is_not_done_is_refused_by_name() {
        for (config, key) in [
            (r#"{"rope_scaling": {"rope_type": "llama3", "factor": 8}}"#, "rope_type"),
            (r#"{"rope_scaling": {"type": "longrope"}}"#, "type"),
            (r#"{"rope_scaling": {"type": "linear"}}"#, "factor"),
            (r#"{"rope_scaling": {"type": "linear", "factor": 0}}"#, "factor"),
            (r#"{"rope_scaling": {"type": "linear", "factor": 1e300}}"#, "factor"),
            (r#"{"rope_scaling": {"type": "linear", "factor": 1e-300}}"#, "factor"),
            (r#"{"rope_scaling": {"type": "default", "turn": 1}}"#, "turn"),
            (r#"{"rope_scaling": {"type": "ntk", "factor": 8, "mixed_b": 0.6}}"#, "mixed_b"),
            (r#"{"partial_rotary_factor": 0.5}"#, "partial_rotary_factor"),
            (
                r#"{"rope_parameters": {"rope_theta": 1, "partial_rotary_factor": 0.5}}"#,
                "partial_rotary_factor",
            ),
            (
                r#"{"rope_scaling": {"type": "default"}, "rope_parameters": {"rope_theta": 2}}"#,
                "rope_parameters",
            ),
        ] {
            assert_eq!(read(config).unwrap_err().key, key, "{config}");
        }
        let object = Object::new(Value::parse("{}", 0).unwrap()).unwrap();
        let odd = HeadSizes { head: 7, ..SIZES };
        let fault = Settings { object: &object }.rope(odd, 1e4, Kinds::Encoders).unwrap_err();
        assert_eq!(fault.error.kind(), ErrorKind::BadMetadata);
        let ntk = r#"{"rope_scaling": {"type": "ntk", "factor": 2}}"#;
        let object = Object::new(Value::parse(ntk, 0).unwrap()).unwrap();
        let fault = Settings { object: &object }.rope(SIZES, 1e4, Kinds::Encoders).unwrap_err();
        assert_eq!(fault.key, "type");
    }
}

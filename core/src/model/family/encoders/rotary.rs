//! The rotary settings of a `config.json`: `rope_parameters` as transformers 5 writes them, or
//! `rope_scaling` and a base outside it as versions before did.
//!
//! | `rope_type` | honoured |
//! |---|---|
//! | `default` | |
//! | `linear` | positions are divided by `factor` |
//! | `yarn` | as transformers does |
//! | `dynamic` | it changes nothing up to `max_position_embeddings`, and texts are not longer |
//! | `ntk`, of GTE alone | the base grows by `factor`, and frequencies are divided by `factor^(2 / size)` |

use super::settings::Settings;
use crate::model::config::{Config, Rope, Yarn, YarnSettings};
use crate::text::json::{Object, Read, Value};

/// What rotary settings refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadSizes {
    pub(super) head: usize,
    pub(super) positions: usize,
}

impl HeadSizes {
    pub(super) const fn of(config: &Config) -> Self {
        Self { head: config.heads.size, positions: config.positions }
    }

    /// Whole heads, turned in halves, by frequencies of this base.
    pub(super) const fn rope(self, base: f32) -> Rope {
        Rope::new(self.head, base, self.positions)
    }
}

impl<'t> Settings<'_, 't> {
    /// The rotary settings of a family that has the same in all layers.
    pub(super) fn rope(&self, sizes: HeadSizes, usual_base: f32, has_ntk: bool) -> Read<'t, Rope> {
        self.even_head(sizes)?;
        self.whole_heads()?;
        let base = self.positive("rope_theta")?.unwrap_or(usual_base);
        match self.rope_object()? {
            Some(said) => read_rope(&said, sizes, base, has_ntk),
            None => Ok(sizes.rope(base)),
        }
    }

    /// Refuses heads whose elements are no pairs.
    pub(super) fn even_head(&self, sizes: HeadSizes) -> Read<'t, ()> {
        let bad = || self.object.bad("num_attention_heads", "heads have no pairs to turn");
        sizes.head.is_multiple_of(2).then_some(()).ok_or_else(bad)
    }

    /// Refuses heads that are turned in part.
    fn whole_heads(&self) -> Read<'t, ()> {
        let is_whole = |value: Value<'t>| value.as_f64() == Some(1.0);
        let only = "only whole heads (1) are turned";
        self.object.neutral("partial_rotary_factor", only, is_whole)
    }

    /// What says how positions turn heads: one of two members, or both if they say the same.
    pub(super) fn rope_object(&self) -> Read<'t, Option<Object<'t>>> {
        let [old, new] =
            [self.object.object("rope_scaling")?, self.object.object("rope_parameters")?];
        // One that says nothing is as good as none.
        let [old, new] = [old, new].map(|it| it.filter(|it| it.value().members().count() > 0));
        match (old, new) {
            (Some(old), Some(new)) if old.value().spelling() != new.value().spelling() => {
                let only = "beside another `rope_scaling` it is not honoured";
                Err(self.object.unsupported("rope_parameters", only))
            }
            (old, new) => Ok(old.or(new)),
        }
    }
}

const ONLY: &str = "only default, linear, dynamic and yarn are honoured";

/// Reads an object of rotary settings; a base in it counts more than the one outside.
pub(super) fn read_rope<'t>(
    said: &Object<'t>,
    sizes: HeadSizes,
    base: f32,
    has_ntk: bool,
) -> Read<'t, Rope> {
    let settings = Settings { object: said };
    let base = settings.positive("rope_theta")?.unwrap_or(base);
    settings.whole_heads()?;
    let kinds = [said.get("rope_type"), said.get("type")];
    let name = if kinds.first().is_some_and(Option::is_some) { "rope_type" } else { "type" };
    let kind = kinds.into_iter().flatten().next();
    let is = |text: &str| kind.is_some_and(|kind| kind.is_text(text));
    let rope = sizes.rope(base);
    let rope = if kind.is_none() || is("default") {
        rope
    } else if is("dynamic") {
        said.number("factor")?;
        rope
    } else if is("linear") {
        Rope { position_divisor: factor(&settings)?, ..rope }
    } else if is("ntk") && has_ntk {
        settings.absent(&["mixed_b"])?;
        ntk(rope, factor(&settings)?)
    } else if is("yarn") {
        yarn(&settings, rope, sizes)?
    } else {
        return Err(said.unsupported(name, ONLY));
    };
    said.finish(&[])?;
    Ok(rope)
}

fn factor<'t>(settings: &Settings<'_, 't>) -> Read<'t, f32> {
    settings.object.needed("factor", settings.positive("factor")?)
}

fn ntk(rope: Rope, factor: f32) -> Rope {
    #[allow(clippy::cast_precision_loss)] // heads are small
    let exponent = 2.0 / rope.dimensions as f64;
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    let divisor = libm::pow(factor.into(), exponent) as f32;
    Rope { base: rope.base * factor, position_divisor: divisor, ..rope }
}

/// As transformers reads YaRN's settings, where 0 is as good as nothing.
fn yarn<'t>(settings: &Settings<'_, 't>, rope: Rope, sizes: HeadSizes) -> Read<'t, Rope> {
    let said = settings.object;
    let given = |name| Ok(said.number(name)?.filter(|number| *number != 0.0));
    let original = settings.optional("original_max_position_embeddings")?;
    let original = original.unwrap_or(sizes.positions);
    #[allow(clippy::cast_precision_loss)] // at most 2²⁴
    let [positions, original] = [sizes.positions as f64, original as f64];
    let factor = given("factor")?.unwrap_or(positions / original);
    let yarn = YarnSettings {
        factor,
        original_positions: original,
        beta_fast: given("beta_fast")?.unwrap_or(32.0),
        beta_slow: given("beta_slow")?.unwrap_or(1.0),
        truncate: settings.truth("truncate", true)?,
    };
    let attention =
        match (said.number("attention_factor")?, given("mscale")?, given("mscale_all_dim")?) {
            (Some(factor), ..) => factor,
            (None, Some(one), Some(all)) => {
                Yarn::attention_factor(factor, one) / Yarn::attention_factor(factor, all)
            }
            _ => Yarn::attention_factor(factor, 1.0),
        };
    let found = Yarn::new(&yarn, rope.dimensions, rope.base);
    if found.is_none() || !(attention.is_finite() && attention > 0.0) {
        return Err(said.bad("factor", "it makes no sense with the others"));
    }
    #[allow(clippy::cast_possible_truncation)] // models are not this precise
    Ok(Rope { yarn: found, attention_factor: attention as f32, ..rope })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const SIZES: HeadSizes = HeadSizes { head: 64, positions: 8192 };

    fn read(config: &str) -> Read<'_, Rope> {
        let object = Object::new(Value::parse(config, 0).unwrap()).unwrap();
        Settings { object: &object }.rope(SIZES, 10_000.0, true)
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

    /// As `NTKScalingRotaryEmbedding` of GTE's own code: the base times 8, and frequencies over
    /// 8^(2 / 64).
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
        let fault = Settings { object: &object }.rope(odd, 1e4, false).unwrap_err();
        assert_eq!(fault.error.kind(), ErrorKind::BadMetadata);
        let ntk = r#"{"type": "ntk", "factor": 2}"#;
        let object = Object::new(Value::parse(ntk, 0).unwrap()).unwrap();
        assert_eq!(read_rope(&object, SIZES, 1e4, false).unwrap_err().key, "type");
    }
}

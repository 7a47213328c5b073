//! Llama, and Mistral, Phi-3, Qwen 2 and 3, which differ from it in few settings.

use super::{DecoderFamily, DecoderModel};
use crate::model::config::{Attention, Config, QueryKeyNorm, Rotary};
use crate::model::family::llama::Biases;
use crate::model::family::settings::{Kinds, LlamaUsual, RotaryRules, Settings, Usual, UsualHeads};
use crate::text::json::Read;

/// The default window and key heads of the first Mistral.
const MISTRAL_WINDOW: usize = 4096;
const MISTRAL_KEYS: usize = 8;

pub(super) fn read<'t>(
    settings: &Settings<'_, 't>,
    family: DecoderFamily,
) -> Read<'t, DecoderModel<'t>> {
    if family != DecoderFamily::Llama {
        settings.off(&["mlp_bias"])?;
    }
    let (config, rotary) = settings.llama(usual(family))?;
    let limit = limit(settings, family)?.filter(|limit| *limit < config.positions);
    let positions = limit.unwrap_or(config.positions);
    let rope = rotary.stored_rope(positions);
    let attention = Attention {
        query_key_norm: (family == DecoderFamily::Qwen3).then_some(QueryKeyNorm::Head),
        ..config.attention
    };
    Ok(DecoderModel {
        family,
        // Texts are limited to the window: beyond it, a token would attend to more here than in the
        // model.
        config: Config {
            positions,
            rotary: Some(Rotary { global: rope, local: rope }),
            attention,
            ..config
        },
        biases: biases(settings, family)?,
        is_tied: settings.truth("tie_word_embeddings", false)?,
        limit,
        rotary,
    })
}

/// The defaults of a family.
const fn usual(family: DecoderFamily) -> LlamaUsual {
    let heads = match family {
        DecoderFamily::Mistral => {
            UsualHeads { key_value: Usual::Size(MISTRAL_KEYS), ..UsualHeads::EVEN }
        }
        DecoderFamily::Qwen2 => UsualHeads { key_value: Usual::Needed, ..UsualHeads::EVEN },
        DecoderFamily::Qwen3 => UsualHeads::NEEDED,
        _ => UsualHeads::EVEN,
    };
    let (kinds, epsilon) = match family {
        DecoderFamily::Phi3 => (Kinds::Phi3, 1e-5),
        _ => (Kinds::Decoders, 1e-6),
    };
    LlamaUsual { heads, rotary: RotaryRules { base: 1e4, kinds }, epsilon }
}

/// The window, if the model has one. It limits the length of texts, so it does not matter that some
/// layers have none.
fn limit<'t>(settings: &Settings<'_, 't>, family: DecoderFamily) -> Read<'t, Option<usize>> {
    const NAME: &str = "sliding_window";
    settings.kinds_of_layers()?;
    let is_qwen = matches!(family, DecoderFamily::Qwen2 | DecoderFamily::Qwen3);
    if is_qwen && !settings.truth("use_sliding_window", false)? {
        settings.known(&[NAME]);
        return Ok(None);
    }
    let is_usual = family == DecoderFamily::Mistral && !settings.has(NAME);
    Ok(settings.optional(NAME)?.or(is_usual.then_some(MISTRAL_WINDOW)))
}

/// The layers that have biases.
fn biases<'t>(settings: &Settings<'_, 't>, family: DecoderFamily) -> Read<'t, Biases> {
    let is = |name| settings.truth(name, false);
    let (attention, feed_forward) = match family {
        DecoderFamily::Llama => (is("attention_bias")?, is("mlp_bias")?),
        DecoderFamily::Qwen2 => {
            // Qwen 2 has the same biases regardless of this member.
            is("attention_bias")?;
            return Ok(Biases { query_key_value: true, ..Biases::NONE });
        }
        DecoderFamily::Mistral | DecoderFamily::Phi3 => {
            settings.off(&["attention_bias"])?;
            (false, false)
        }
        DecoderFamily::Qwen3 | DecoderFamily::Gemma3 => (is("attention_bias")?, false),
    };
    Ok(Biases { query_key_value: attention, attention_output: attention, feed_forward })
}

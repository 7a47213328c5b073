//! The ChatML form, for models that have its tokens and no template.

use nanoembed_core::owned::TextSession;
use nanoembed_core::token::SpecialTokens::AsTokens;

use super::encoded::{Part, encode_parts};
use crate::error::{Error, Result};
use crate::generator::message::Message;
use crate::open::causal::Causal;

/// The tokens that stand around a message.
const BEGIN: &str = "<|im_start|>";
const END: &str = "<|im_end|>";

/// The ids of messages and of the beginning of an answer.
pub(super) fn encode(causal: &Causal, messages: &[Message<'_>]) -> Result<Vec<u32>> {
    check_markers(causal)?;
    let mut parts = Vec::new();
    for Message { role, content } in messages {
        parts.push(Part::Tokens(BEGIN.to_owned()));
        parts.push(Part::Text(format!("{role}\n{content}")));
        parts.push(Part::Tokens(END.to_owned()));
        parts.push(Part::Text("\n".to_owned()));
    }
    parts.push(Part::Tokens(BEGIN.to_owned()));
    parts.push(Part::Text("assistant\n".to_owned()));
    let tokenizer = &causal.model().tokenizer;
    let ends = tokenizer.ends();
    let inner = encode_parts(tokenizer, &parts).map_err(|error| causal.failure(error))?;
    Ok(ends.begin.into_iter().chain(inner).chain(ends.append).collect())
}

/// Refuses messages for a model that would read the letters of the tokens around them.
fn check_markers(causal: &Causal) -> Result<()> {
    let tokenizer = &causal.model().tokenizer;
    let ends = tokenizer.ends();
    let around = [ends.begin, ends.append].iter().flatten().count();
    for marker in [BEGIN, END] {
        let ids = tokenizer.encode(marker, AsTokens, &mut TextSession::default());
        let ids = ids.map_err(|error| causal.failure(error))?;
        if ids.len() != around.saturating_add(1) {
            let message = format!(
                "there is no token {marker} and no chat template, so messages cannot be put in the ChatML form"
            );
            return Err(Error::usage(message).at(causal.name()).with_hint(
                "the model's own chat format can be given as a text: PROMPT without `--chat`",
            ));
        }
    }
    Ok(())
}

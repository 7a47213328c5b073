//! The `config.json` of a LogitScore module.

use crate::error::{Error, ErrorKind};
use crate::model::TokenScore;
use crate::text::json::{Fault, Object, Read};

const TRUE: &str = "true_token_id";
const FALSE: &str = "false_token_id";

/// Reads the tokens whose logits are the score.
pub(super) fn logit_score<'t>(config: &Object<'t>) -> Read<'t, TokenScore> {
    let id = |name| match config.integer(name)? {
        Some(id) => u32::try_from(id).map(Some).map_err(|_| config.bad(name, NO_TOKEN)),
        None => Ok(None),
    };
    let (yes, no) = (config.needed(TRUE, id(TRUE)?)?, id(FALSE)?);
    config.neutral("module_input_name", "only \"causal_logits\" are scored", |name| {
        name.is_text("causal_logits")
    })?;
    config.finish(&[])?;
    Ok(TokenScore { yes, no, rows: None })
}

/// Rejects tokens that a model with so many tokens does not have.
pub(super) fn check_tokens(score: TokenScore, tokens: usize) -> Result<(), Fault<'static>> {
    let named = [(TRUE, Some(score.yes)), (FALSE, score.no)];
    let is_unknown = |id: u32| usize::try_from(id).is_ok_and(|id| id >= tokens);
    match named.into_iter().find(|(_, id)| id.is_some_and(is_unknown)) {
        None => Ok(()),
        Some((key, _)) => {
            Err(Fault { error: Error::new(0, ErrorKind::BadMetadata), key, only: NO_TOKEN })
        }
    }
}

const NO_TOKEN: &str = "the model has no such token";

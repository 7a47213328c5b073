#![doc = include_str!("../README.md")]
//!
//! | file | role |
//! |---|---|
//! | `embed` | texts to vectors |
//! | `cosine` | how alike two vectors are |

mod cosine;
mod embed;

use std::sync::Arc;

use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;
use nanoembed::{Encoder, Role};

use cosine::Cosine;
use embed::Embed;

/// Adds all functions to a context.
pub fn register(context: &SessionContext, encoder: &Encoder) {
    functions(encoder).into_iter().for_each(|function| context.register_udf(function));
}

/// Adds all functions to any registry.
///
/// # Errors
///
/// What the registry says.
pub fn register_all(
    registry: &mut dyn FunctionRegistry,
    encoder: &Encoder,
) -> datafusion::error::Result<()> {
    for function in functions(encoder) {
        registry.register_udf(function.into())?;
    }
    Ok(())
}

/// The functions: `embed`, `embed_query`, `embed_document` and `cosine`.
#[must_use]
pub fn functions(encoder: &Encoder) -> [ScalarUDF; 4] {
    let encoder = Arc::new(encoder.clone());
    let embed = |name, role| ScalarUDF::from(Embed::new(name, Arc::clone(&encoder), role));
    [
        embed("embed", Role::Text),
        embed("embed_query", Role::Query),
        embed("embed_document", Role::Document),
        cosine(),
    ]
}

/// A function of this name that embeds texts of a role: several models may have one each.
#[must_use]
pub fn embed(name: &str, encoder: &Encoder, role: Role) -> ScalarUDF {
    ScalarUDF::from(Embed::new(name, Arc::new(encoder.clone()), role))
}

/// The cosine of the angle between two vectors.
#[must_use]
pub fn cosine() -> ScalarUDF {
    ScalarUDF::from(Cosine::new())
}

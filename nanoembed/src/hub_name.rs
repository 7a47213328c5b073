//! Names of models on the Hugging Face hub.

use std::path::Path;

/// True for a name as models on the hub have it, an organisation and a model, unless it may be meant as
/// a path: there is something called like the organisation.
pub(crate) fn is_hub_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        part.bytes().all(of_name) && part.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    name.split_once('/').is_some_and(|(organisation, model)| {
        is_part(organisation) && is_part(model) && !Path::new(organisation).exists()
    })
}

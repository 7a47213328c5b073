//! An encoder's sizes in the words of an AMB configuration.

use crate::format::amb::Amb;
use crate::text::json::{Kind, Tokens, is, number_u64};

/// What an `.amb` file's configuration answers to a key of [`BertConfig::from_metadata`](super::BertConfig::from_metadata).
///
/// | key | member |
/// |---|---|
/// | `num_layers` | `n_layers` |
/// | `num_attention_heads` | `n_heads` |
/// | `hidden_size`, `embedding_dim` | `n_embd` |
/// | `vocab_size` | `n_vocab` |
/// | `max_position_emb` | `max_seq_len` |
/// | all others | of the same name |
///
/// Numbers, truth values and strings are given as they are spelled. A member that is there twice is not there.
#[must_use]
pub fn amb_config_value<'a>(amb: &Amb<'a>, key: &str) -> Option<&'a str> {
    let member = match key {
        "num_layers" => "n_layers",
        "num_attention_heads" => "n_heads",
        "hidden_size" | "embedding_dim" => "n_embd",
        "vocab_size" => "n_vocab",
        "max_position_emb" => "max_seq_len",
        other => other,
    };
    let token = amb.config_value(member).ok().flatten()?;
    let is_scalar = matches!(token.kind, Kind::String | Kind::Number | Kind::Bool(_));
    is_scalar.then_some(token.spelling)
}

/// The elements of an `.amb` file's configuration that `key` lists, whole numbers; other elements are left out.
pub fn amb_config_numbers<'a>(amb: &Amb<'a>, key: &'a str) -> impl Iterator<Item = u64> + 'a {
    let mut tokens = Tokens::new(amb.config().as_bytes(), 0);
    tokens.next();
    // Members of the outermost object that are called otherwise are passed over with their values.
    loop {
        match tokens.next() {
            Some(Ok(token)) if token.kind == Kind::Key && is(token.spelling, key) => break,
            Some(Ok(token)) if token.kind == Kind::Key => {
                tokens.skip_value();
            }
            _ => break,
        }
    }
    let is_list = matches!(tokens.next(), Some(Ok(token)) if token.kind == Kind::BeginArray);
    let elements = tokens.map_while(Result::ok).take_while(|token| token.kind != Kind::EndArray);
    let elements = elements.filter(move |token| is_list && token.kind == Kind::Number);
    elements.filter_map(|token| number_u64(token.spelling))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::event::Mode;

    #[test]
    fn numbers_are_those_of_the_member_that_is_a_list() {
        let file = |config: &str| {
            let mut bytes = Vec::from(*b"AMBEE\x01\0\0");
            for size in [2, config.len() as u32, 0, 0, 0] {
                bytes.extend(size.to_le_bytes());
            }
            bytes.extend(b"{}");
            bytes.extend(config.bytes());
            bytes
        };
        let numbers = |config: &str| {
            let bytes = file(config);
            let amb = Amb::parse(&bytes, Mode::Lenient).unwrap();
            amb_config_numbers(&amb, "ids").collect::<Vec<_>>()
        };
        assert_eq!(numbers(r#"{"a":{"ids":[9]},"ids":[3,"x",4.5,17],"b":[1]}"#), [3, 17]);
        assert_eq!(numbers(r#"{"ids":5,"b":[1]}"#), []);
        assert_eq!(numbers(r#"{"b":[1]}"#), []);
    }
}

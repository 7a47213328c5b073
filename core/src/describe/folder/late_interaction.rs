//! The members of `config_sentence_transformers.json` by which PyLate makes tokens of texts for late
//! interaction.

use crate::limit::Limit;
use crate::text::json::{LexemeKind, Object, Read, Value};

const MEMBERS: [&str; 7] = [
    "query_prefix",
    "document_prefix",
    "query_length",
    "document_length",
    "do_query_expansion",
    "attend_to_expansion_tokens",
    "skiplist_words",
];

/// The tokens of texts in a model for late interaction, as PyLate makes them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LateInteraction<'a> {
    /// The token that is put after the first one of a query, as JSON spells it; none if empty.
    pub query_prefix: &'a str,
    /// The same for a document.
    pub document_prefix: &'a str,
    /// The number of tokens of a query.
    pub query_length: usize,
    /// The number of tokens of a document that are used.
    pub document_length: usize,
    /// True if queries are filled up with mask tokens, whose vectors count.
    pub expands_queries: bool,
    /// True if these tokens are attended to.
    pub attends_to_expansion: bool,
    /// The tokens of documents whose vectors are left out: a list of texts; ASCII punctuation if
    /// `None`.
    pub skipped: Option<Value<'a>>,
}

/// Punctuation in ASCII, a letter each.
pub const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

impl<'a> LateInteraction<'a> {
    /// The defaults of PyLate.
    pub(super) const DEFAULT: Self = Self {
        query_prefix: "[Q] ",
        document_prefix: "[D] ",
        query_length: 32,
        document_length: 180,
        expands_queries: true,
        attends_to_expansion: false,
        skipped: None,
    };

    /// Reads the members; `None` if there are none.
    pub(super) fn from_config(config: &Object<'a>) -> Read<'a, Option<Self>> {
        let [query, document, query_length, document_length, expands, attends, skipped] = MEMBERS;
        let usual = Self::DEFAULT;
        let length = |name, usual| -> Read<'a, usize> {
            let Some(length) = config.integer(name)? else { return Ok(usual) };
            let within = Limit::SIZE.check(length).ok().filter(|length| *length >= LEAST_TOKENS);
            within.ok_or_else(|| {
                config.bad(name, "at least 3 tokens are needed, and no more than models have")
            })
        };
        let read = Self {
            query_prefix: config.text(query)?.unwrap_or(usual.query_prefix),
            document_prefix: config.text(document)?.unwrap_or(usual.document_prefix),
            query_length: length(query_length, usual.query_length)?,
            document_length: length(document_length, usual.document_length)?,
            expands_queries: config.truth(expands)?.unwrap_or(usual.expands_queries),
            attends_to_expansion: config.truth(attends)?.unwrap_or(usual.attends_to_expansion),
            skipped: config.get(skipped),
        };
        if let Some(list) = read.skipped
            && !(list.kind() == LexemeKind::BeginArray
                && list.items().all(|word| word.as_text().is_some()))
        {
            return Err(config.bad(skipped, "a list of texts is needed"));
        }
        Ok(MEMBERS.iter().any(|name| config.get(name).is_some()).then_some(read))
    }
}

/// The fewest tokens of a text: its first and its last one, and a prefix.
const LEAST_TOKENS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind::BadMetadata;
    use crate::text::json::tests::check;

    #[test]
    fn what_is_not_stated_is_as_in_pylate() {
        let object = |text| Object::new(Value::parse(text, 0).unwrap()).unwrap();
        let none = object(r#"{"prompts": {}}"#);
        assert!(LateInteraction::from_config(&none).unwrap().is_none());
        let some = object(r#"{"query_length": 48, "do_query_expansion": false}"#);
        let found = LateInteraction::from_config(&some).unwrap().unwrap();
        assert_eq!((found.query_prefix, found.document_prefix), ("[Q] ", "[D] "));
        assert_eq!((found.query_length, found.document_length), (48, 180));
        assert_eq!((found.expands_queries, found.attends_to_expansion), (false, false));
        assert!(found.skipped.is_none());
    }

    #[test]
    fn members_are_refused_where_they_are_wrong() {
        let rows = [
            ("query_prefix", "@1", BadMetadata, "query_prefix"),
            ("query_length", "@2", BadMetadata, "query_length"),
            ("document_length", "@1e15", BadMetadata, "document_length"),
            ("do_query_expansion", "@1", BadMetadata, "do_query_expansion"),
            ("attend_to_expansion_tokens", "@\"no\"", BadMetadata, "attend_to_expansion_tokens"),
            ("skiplist_words", "@{}", BadMetadata, "skiplist_words"),
            ("skiplist_words", "@[1]", BadMetadata, "skiplist_words"),
        ];
        let usual = [("query_prefix", "\"[Q] \"")];
        check(&usual, &rows, |config| LateInteraction::from_config(config).map(drop));
    }
}

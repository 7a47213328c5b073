//! The tokens of texts for late interaction: as PyLate states them in
//! `config_sentence_transformers.json`, or sentence-transformers in the settings of its modules.

use super::texts::{ReadText, TextPath};
use super::{ARTIFACT, CONFIG_SENTENCE_TRANSFORMERS, SENTENCE_BERT_CONFIG};
use crate::leaf;
use crate::limit::Limit;
use crate::text::json::{LexemeKind, Object, Read, Value};

/// The members by which PyLate states them.
const MEMBERS: [&str; 7] = [
    "query_prefix",
    "document_prefix",
    "query_length",
    "document_length",
    "do_query_expansion",
    "attend_to_expansion_tokens",
    "skiplist_words",
];

/// The tokens of texts in a model for late interaction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LateInteraction<'a> {
    /// The tokens of texts that ask.
    pub query: SideTokens<'a>,
    /// The tokens of texts that answer.
    pub document: SideTokens<'a>,
    /// The tokens that queries are filled up with, whose vectors count.
    pub expansion: Option<Expansion<'a>>,
    /// The tokens whose vectors are left out on the sides that skip them.
    pub skipped: Skipped<'a>,
    /// The files that state all this.
    pub origin: LateOrigin,
    pub(super) built_in: leaf::Pipeline,
}

/// What the modules of a model for late interaction state about the tokens of texts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LateModules<'a> {
    /// Nothing: one of them is a Dense of PyLate, which writes all of it to
    /// `config_sentence_transformers.json`.
    PyLate(#[doc(hidden)] leaf::Pipeline),
    /// The tokens whose vectors count. The rest is in the settings of the encoder's module.
    Masked(TokenMask<'a>),
    /// All of it: the modules are made of `artifact.metadata`.
    Artifact(LateInteraction<'a>),
}

impl<'a> LateModules<'a> {
    /// The tokens of texts: by these modules, the `settings` of the encoder's module and what is
    /// `stated` in `config_sentence_transformers.json`.
    pub(super) fn with_settings(
        self,
        settings: LateSettings<'a>,
        stated: Option<LateInteraction<'a>>,
    ) -> ReadText<'a, LateInteraction<'a>> {
        match (self, stated) {
            (Self::PyLate(leaf), stated) => Ok(stated.unwrap_or(LateInteraction::pylate(leaf))),
            (Self::Masked(mask), None) => Ok(LateInteraction::from_modules(settings, mask)),
            (Self::Artifact(stated), None) => Ok(stated),
            (_, Some(_)) => {
                let only = "other files of the model state what `query_prefix`, `query_length` and their like do";
                Err(TextPath::own(CONFIG_SENTENCE_TRANSFORMERS).unsupported(MEMBERS[0], only))
            }
        }
    }
}

/// The files that state the tokens of late interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateOrigin {
    /// `config_sentence_transformers.json`, as PyLate has it.
    PyLate,
    /// The settings of modules, as sentence-transformers has it.
    Modules,
    /// `artifact.metadata`, as ColBERT's authors have it.
    Artifact,
}

impl LateOrigin {
    /// The file, and its settings of the tokens that are put before queries, put before documents,
    /// and that queries are filled up with.
    #[must_use]
    pub const fn settings(self) -> (&'static str, [&'static str; 3]) {
        match self {
            Self::PyLate => {
                let [query, document, .., expands, _, _] = MEMBERS;
                (CONFIG_SENTENCE_TRANSFORMERS, [query, document, expands])
            }
            Self::Modules => (SENTENCE_BERT_CONFIG, ["", "", EXPANSION]),
            Self::Artifact => (ARTIFACT, ["query_token_id", "doc_token_id", "query_maxlen"]),
        }
    }
}

/// The member with the tokens that queries are filled up with, in the settings of modules.
const EXPANSION: &str = "query_expansion";

/// The tokens of texts on one side of late interaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SideTokens<'a> {
    /// The token that is put after the first one, as JSON spells it; none if empty.
    pub prefix: &'a str,
    /// The number of tokens that are used, if stated.
    pub length: Option<usize>,
    /// True if the vectors of skipped tokens are left out.
    pub skips: bool,
}

/// The tokens that short queries are filled up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expansion<'a> {
    /// The number of tokens that a query has at least.
    pub length: usize,
    /// True if the tokens are attended to.
    pub is_attended: bool,
    /// The token, as JSON spells it; the tokenizer's mask token if `None`.
    pub token: Option<&'a str>,
}

/// Tokens whose vectors are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Skipped<'a> {
    /// Those of ASCII punctuation, a letter each.
    Punctuation,
    /// A list of texts; none if `None`.
    Listed(Option<Value<'a>>),
}

/// Punctuation in ASCII, a letter each.
pub const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

impl<'a> LateInteraction<'a> {
    /// The defaults of PyLate.
    pub(super) const fn pylate(built_in: leaf::Pipeline) -> Self {
        Self {
            query: SideTokens { prefix: "[Q] ", length: Some(32), skips: false },
            document: SideTokens { prefix: "[D] ", length: Some(180), skips: true },
            expansion: Some(Expansion { length: 32, is_attended: false, token: None }),
            skipped: Skipped::Punctuation,
            origin: LateOrigin::PyLate,
            built_in,
        }
    }

    /// Reads the members of PyLate; `None` if there are none.
    pub(super) fn from_config(
        config: &Object<'a>,
        built_in: leaf::Pipeline,
    ) -> Read<'a, Option<Self>> {
        let [query, document, query_length, document_length, expands, attends, skipped] = MEMBERS;
        let usual = Self::pylate(built_in);
        let side = |prefix, length, usual: SideTokens<'a>| -> Read<'a, SideTokens<'a>> {
            let prefix = config.text(prefix)?.unwrap_or(usual.prefix);
            Ok(SideTokens {
                prefix,
                length: most_tokens(config, length)?.or(usual.length),
                ..usual
            })
        };
        let query = side(query, query_length, usual.query)?;
        let document = side(document, document_length, usual.document)?;
        let expands = config.truth(expands)?.unwrap_or(true);
        let is_attended = config.truth(attends)?.unwrap_or(false);
        let expansion = query.length.map(|length| Expansion { length, is_attended, token: None });
        let skipped = match words(config, skipped)? {
            None => usual.skipped,
            listed => Skipped::Listed(listed),
        };
        let expansion = expansion.filter(|_| expands);
        let read = Self { query, document, expansion, skipped, ..usual };
        Ok(MEMBERS.iter().any(|name| config.get(name).is_some()).then_some(read))
    }

    /// As the modules of sentence-transformers have them: prefixes are prompts there.
    pub(super) fn from_modules(settings: LateSettings<'a>, mask: TokenMask<'a>) -> Self {
        let side = |length, skips| SideTokens { prefix: "", length, skips };
        let LateSettings { query_length, document_length, expansion } = settings;
        Self {
            query: side(query_length, mask.skips_in_queries),
            document: side(document_length, mask.skips_in_documents),
            expansion,
            skipped: Skipped::Listed(mask.skipped),
            origin: LateOrigin::Modules,
            built_in: mask.built_in,
        }
    }
}

/// The settings of a transformer whose tokens are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LateSettings<'a> {
    query_length: Option<usize>,
    document_length: Option<usize>,
    expansion: Option<Expansion<'a>>,
}

impl<'a> LateSettings<'a> {
    /// Reads the members of the encoder's module that are for late interaction alone.
    pub(super) fn from_object(settings: &Object<'a>) -> Read<'a, Self> {
        let mut query_length = most_tokens(settings, "query_length")?;
        let document_length = most_tokens(settings, "document_length")?;
        let Some(read) = settings.object(EXPANSION)? else {
            return Ok(Self { query_length, document_length, expansion: None });
        };
        let bad = |only| settings.bad(EXPANSION, only);
        let length = most_tokens(&read, "length")?;
        let length = length.ok_or_else(|| bad("a length is needed"))?;
        match read.text("strategy")? {
            Some("fixed") if query_length.is_none_or(|most| most >= length) => {
                query_length = Some(length);
            }
            Some("min") if query_length.is_none_or(|most| most >= length) => {}
            Some("fixed" | "min") => {
                let only = "it is less than the length that queries are filled up to";
                return Err(settings.bad("query_length", only));
            }
            _ => return Err(settings.unsupported(EXPANSION, "fixed and min are known")),
        }
        let is_attended = read.truth("attend")?.unwrap_or(false);
        let expansion = Expansion { length, is_attended, token: read.text("token")? };
        read.finish(&[])?;
        Ok(Self { query_length, document_length, expansion: Some(expansion) })
    }

    /// Returns true if queries are filled up with no other token than the tokenizer's mask token.
    pub(super) fn names_no_token(&self) -> bool {
        self.expansion.is_none_or(|expansion| expansion.token.is_none())
    }
}

/// The settings of a `MultiVectorMask`: the tokens whose vectors count.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenMask<'a> {
    skipped: Option<Value<'a>>,
    skips_in_queries: bool,
    skips_in_documents: bool,
    built_in: leaf::Pipeline,
}

impl<'a> TokenMask<'a> {
    pub(super) fn from_config(config: &Object<'a>, built_in: leaf::Pipeline) -> Read<'a, Self> {
        const TASKS: &str = "skiplist_tasks";
        let skipped = words(config, "skiplist_words")?;
        let only = "only the tokens of texts are compared";
        config.neutral("keep_only_token_ids", only, |ids| ids.items().next().is_none())?;
        let tasks = config.get(TASKS);
        let has = |name| tasks.is_some_and(|tasks| tasks.items().any(|task| task.is_text(name)));
        if tasks.is_some_and(|tasks| {
            tasks.kind() != LexemeKind::BeginArray
                || !tasks
                    .items()
                    .all(|task| ["query", "document"].iter().any(|it| task.is_text(it)))
        }) {
            return Err(config.unsupported(TASKS, "query and document are known"));
        }
        config.finish(&[])?;
        Ok(Self {
            skipped,
            skips_in_queries: has("query"),
            skips_in_documents: tasks.is_none() || has("document"),
            built_in,
        })
    }
}

/// The fewest tokens of a text: its first and its last one, and a prefix.
const LEAST_TOKENS: usize = 3;

/// The largest number of a text's tokens, if stated.
pub(super) fn most_tokens<'t>(config: &Object<'t>, name: &'static str) -> Read<'t, Option<usize>> {
    let Some(length) = config.integer(name)? else { return Ok(None) };
    let within = Limit::SIZE.check(length).ok().filter(|length| *length >= LEAST_TOKENS);
    let only = "at least 3 tokens are needed, and no more than models have";
    within.map(Some).ok_or_else(|| config.bad(name, only))
}

/// A list of texts.
fn words<'t>(config: &Object<'t>, name: &'static str) -> Read<'t, Option<Value<'t>>> {
    let Some(list) = config.get(name).filter(|list| !list.is_null()) else { return Ok(None) };
    let is_list = list.kind() == LexemeKind::BeginArray;
    if is_list && list.items().all(|word| word.as_text().is_some()) {
        return Ok(Some(list));
    }
    Err(config.bad(name, "a list of texts is needed"))
}

#[cfg(all(test, feature = "pipeline"))]
mod tests {
    use super::*;
    use crate::error::ErrorKind::{BadMetadata, UnsupportedSetting};
    use crate::text::json::tests::check;

    const BUILT_IN: leaf::Pipeline = leaf::Pipeline::BuiltIn;

    fn object(text: &str) -> Object<'_> {
        Object::new(Value::parse(text, 0).unwrap()).unwrap()
    }

    #[test]
    fn what_is_not_stated_is_as_in_pylate() {
        let none = object(r#"{"prompts": {}}"#);
        assert!(LateInteraction::from_config(&none, BUILT_IN).unwrap().is_none());
        let some = object(r#"{"query_length": 48, "do_query_expansion": false}"#);
        let found = LateInteraction::from_config(&some, BUILT_IN).unwrap().unwrap();
        assert_eq!((found.query.prefix, found.document.prefix), ("[Q] ", "[D] "));
        assert_eq!((found.query.length, found.document.length), (Some(48), Some(180)));
        assert_eq!((found.expansion, found.skipped), (None, Skipped::Punctuation));
        let some = object(r#"{"query_length": 48}"#);
        let found = LateInteraction::from_config(&some, BUILT_IN).unwrap().unwrap();
        let expansion = Expansion { length: 48, is_attended: false, token: None };
        assert_eq!(found.expansion, Some(expansion));
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
        check(&usual, &rows, |config| LateInteraction::from_config(config, BUILT_IN).map(drop));
    }

    #[test]
    fn expansions_have_a_length_and_a_strategy() {
        let read = |text| LateSettings::from_object(&object(text)).unwrap();
        let fixed = read(
            r#"{"query_length": null, "query_expansion": {"strategy": "fixed", "length": 32, "attend": true, "token": null}}"#,
        );
        let expansion = Expansion { length: 32, is_attended: true, token: None };
        assert_eq!((fixed.query_length, fixed.expansion), (Some(32), Some(expansion)));
        let least = read(
            r#"{"document_length": 300, "query_expansion": {"strategy": "min", "length": 16, "token": "<pad>"}}"#,
        );
        let expansion = Expansion { length: 16, is_attended: false, token: Some("<pad>") };
        assert_eq!((least.query_length, least.expansion), (None, Some(expansion)));
        assert_eq!(least.document_length, Some(300));
        assert_eq!(read(r#"{"query_expansion": null}"#), LateSettings::default());
        let rows = [
            ("query_length", "@16", BadMetadata, "query_length"),
            ("query_expansion", "@1", BadMetadata, "query_expansion"),
            ("query_expansion", r#"@{"strategy": "fixed"}"#, BadMetadata, "query_expansion"),
            (
                "query_expansion",
                r#"@{"strategy": "max", "length": 8}"#,
                UnsupportedSetting,
                "query_expansion",
            ),
            ("query_expansion", r#"{"strategy": "min", "length": @0}"#, BadMetadata, "length"),
            (
                "query_expansion",
                r#"{"strategy": "min", "length": 8, "odd": @1}"#,
                UnsupportedSetting,
                "odd",
            ),
        ];
        let usual = [("query_expansion", r#"{"strategy": "fixed", "length": 32}"#)];
        check(&usual, &rows, |config| LateSettings::from_object(config).map(drop));
    }

    #[test]
    fn masks_skip_words_on_some_sides() {
        let sides = |text| {
            let mask = TokenMask::from_config(&object(text), BUILT_IN).unwrap();
            (mask.skips_in_queries, mask.skips_in_documents)
        };
        assert_eq!(sides(r#"{"skiplist_words": ["."]}"#), (false, true));
        assert_eq!(sides(r#"{"skiplist_tasks": ["query", "document"]}"#), (true, true));
        assert_eq!(sides(r#"{"skiplist_tasks": []}"#), (false, false));
        let rows = [
            ("skiplist_words", "@[1]", BadMetadata, "skiplist_words"),
            ("skiplist_tasks", "@[\"odd\"]", UnsupportedSetting, "skiplist_tasks"),
            ("skiplist_tasks", "@1", UnsupportedSetting, "skiplist_tasks"),
            ("keep_only_token_ids", "@[1]", UnsupportedSetting, "keep_only_token_ids"),
            ("odd", "@1", UnsupportedSetting, "odd"),
        ];
        let usual = [("skiplist_words", "[]"), ("keep_only_token_ids", "null")];
        check(&usual, &rows, |config| TokenMask::from_config(config, BUILT_IN).map(drop));
    }
}

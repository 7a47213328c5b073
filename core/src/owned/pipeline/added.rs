//! Added tokens: those that a text spells and that are taken out of it before anything else happens
//! to it, or before it is cut into pieces, as `AddedVocabulary` of Hugging Face `tokenizers` has
//! it.

use alloc::string::String;
use alloc::vec::Vec;

use super::automaton::{Automaton, Found};
use super::normalizer::{self, Marks, Normalizer};
use super::text::{Allowance, Text, owned};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{append, push, reserved};
use crate::text::json::{Fault, Read};
use crate::token::added_parts::{Part, cut};
use crate::token::spec::{self, AddedTokenSpecs};
use crate::token::{AddedIndex, AddedRules, AddedTable, AddedToken, SpecialTokens};

/// An added token.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub(super) id: u32,
    pub(super) content: String,
    /// The result of the normaliser, if the token is found in normalised text and that is something
    /// else.
    normalized: Option<String>,
    rules: AddedRules,
    is_normalized: bool,
    is_special: bool,
}

/// All added tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct AddedVocabulary {
    /// In the order of their ids.
    tokens: Vec<Added>,
    /// Those that are found in the text as it is, and those in normalised text.
    pub(super) written: Table,
    pub(super) normalized: Table,
}

/// Tokens that are looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    spellings: Vec<u8>,
    tokens: Vec<AddedToken>,
    index: AddedIndex,
    /// The byte that all tokens begin with, if there is one, as with most tokenizers.
    first: Option<u8>,
    /// Finds the tokens where some are long.
    automaton: Option<Automaton>,
}

/// Tables with longer tokens have an automaton: the others look at each place of a text as often at
/// most.
const LONG: usize = 64;

/// Success, or the place of a token that is at fault, with the error.
type Indexed = core::result::Result<(), (Option<usize>, Error)>;

/// A token of the list.
struct Entry<'t> {
    content: String,
    spec: spec::AddedTokenSpec<'t>,
}

/// The tokens of a list.
fn entries<'t>(listed: &AddedTokenSpecs<'t>) -> Read<'t, Vec<Entry<'t>>> {
    let mut entries = Vec::new();
    for token in listed.iter() {
        let spec = token?;
        let entry = owned(spec.content).map(|content| Entry { content, spec });
        let pushed = entry.and_then(|entry| push(&mut entries, entry));
        pushed.map_err(|error| spec.place.met("added_tokens", error))?;
    }
    Ok(entries)
}

impl AddedVocabulary {
    /// Numbers the tokens: `find` knows those of the model, of which there are `count`.
    pub(super) fn new<'t>(
        listed: &AddedTokenSpecs<'t>,
        normalizer: &[Normalizer],
        count: usize,
        find: impl Fn(&str) -> Option<u32>,
    ) -> Read<'t, Self> {
        let mut next = count as u32;
        let mut entries = entries(listed)?;
        let mut all = reserved(entries.len()).map_err(Fault::from_error)?;
        for twins in twins(&entries).map_err(Fault::from_error)? {
            // Of a token that is there twice the last counts.
            let entry = &mut entries[twins.last];
            let content = core::mem::take(&mut entry.content);
            let id = find(&content).unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            let (rules, is_normalized) = (entry.spec.rules, entry.spec.normalized);
            let (normalized, is_special) = (None, twins.is_special);
            let token = Added { id, content, normalized, rules, is_normalized, is_special };
            all.push((twins.last, token));
        }
        all.sort_unstable_by_key(|(_, token)| token.id);
        let mut vocabulary = Self::default();
        let tokens = reserved(all.len());
        vocabulary.tokens = tokens.map_err(Fault::from_error)?;
        let mut places: Vec<usize> = reserved(all.len()).map_err(Fault::from_error)?;
        for (entry, token) in all {
            places.push(entry);
            vocabulary.tokens.push(token);
        }
        vocabulary.index(normalizer).map_err(|(token, error)| {
            match token.and_then(|token| places.get(token)) {
                Some(entry) => entries[*entry].spec.place.met("content", error),
                None => Fault::from_error(error),
            }
        })?;
        Ok(vocabulary)
    }

    /// Finds the same tokens in the results of another normaliser.
    pub(super) fn renormalize(&mut self, normalizer: &[Normalizer]) -> Result<()> {
        self.index(normalizer).map_err(|(_, error)| error)
    }

    /// Makes the tables of the tokens, some of which are found in the results of `normalizer`.
    ///
    /// # Errors
    ///
    /// The place of the token that is at fault, with the error.
    fn index(&mut self, normalizer: &[Normalizer]) -> Indexed {
        let (mut written, mut found) = (Table::default(), Table::default());
        for (place, token) in self.tokens.iter_mut().enumerate() {
            let added = match token.is_normalized {
                false => written.add(&token.content, token.id, token.rules),
                true => normalized(normalizer, &token.content).and_then(|spelling| {
                    // It would be found between any two characters.
                    if spelling.is_empty() {
                        return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
                    }
                    found.add(&spelling, token.id, token.rules)?;
                    token.normalized = Some(spelling).filter(|it| *it != token.content);
                    Ok(())
                }),
            };
            added.map_err(|error| (Some(place), error))?;
        }
        let sorted = written.sort().and_then(|()| found.sort());
        sorted.map_err(|error| (None, error))?;
        (self.written, self.normalized) = (written, found);
        Ok(())
    }

    /// The tokens in the order of their ids.
    pub(super) fn tokens(&self) -> &[Added] {
        &self.tokens
    }

    fn get(&self, id: u32) -> Option<&Added> {
        let place = self.tokens.binary_search_by_key(&id, |token| token.id).ok()?;
        self.tokens.get(place)
    }

    /// The id of a token.
    pub(super) fn find(&self, content: &str) -> Option<u32> {
        self.tokens.iter().find(|token| token.content == content).map(|token| token.id)
    }

    /// The token of an id as it was added.
    pub(super) fn content(&self, id: u32) -> Option<&str> {
        Some(self.get(id)?.content.as_str())
    }

    /// The token of an id as decoders see it, and whether it is taken for a special one: it is told
    /// by its text.
    pub(super) fn for_decoder(&self, id: u32) -> Option<(&str, bool)> {
        let token = self.get(id)?;
        let Some(normalized) = &token.normalized else {
            return Some((&token.content, token.is_special));
        };
        let is_special = |other: &Added| other.is_special && other.content == *normalized;
        Some((normalized, self.tokens.iter().any(is_special)))
    }

    fn is_special_id(&self, id: u32) -> bool {
        self.get(id).is_some_and(|token| token.is_special)
    }

    /// Calls `take` with the parts of `text`, in which the tokens of `table` are found.
    pub(super) fn parts(
        &self,
        table: &Table,
        text: &str,
        special: SpecialTokens,
        take: &mut dyn FnMut(Part) -> Result<()>,
    ) -> Result<()> {
        let is_text = |id| special == SpecialTokens::AsText && self.is_special_id(id);
        if !table.may_be_in(text) {
            return cut(text, |_| None, is_text, take);
        }
        let Some(automaton) = &table.automaton else {
            let tokens = AddedTable::resume(&table.spellings, &table.tokens, table.index);
            return cut(text, |at| tokens.next_in(text, at), is_text, take);
        };
        let (mut found, _) = automaton.find(text)?;
        let next = |at| {
            while let Some(Found { start, spelling }) = found.pop() {
                let token = table.tokens.get(spelling as usize).copied();
                if let Some(token) = token.filter(|_| start as usize >= at) {
                    return Some((token, start as usize));
                }
            }
            None
        };
        cut(text, next, is_text, take)
    }
}

impl Table {
    fn add(&mut self, spelling: &str, id: u32, rules: AddedRules) -> Result<()> {
        let token = AddedToken::new(self.spellings.len(), spelling.len(), id, rules)?;
        append(&mut self.spellings, spelling.as_bytes())?;
        push(&mut self.tokens, token)
    }

    fn sort(&mut self) -> Result<()> {
        self.index = AddedIndex::build(&self.spellings, &mut self.tokens)?;
        let mut firsts = self.tokens.iter().map(|token| token.first(&self.spellings));
        let first = firsts.next().flatten();
        self.first = first.filter(|_| firsts.all(|other| other == first));
        let tokens = self.tokens.get(..self.index.tokens()).unwrap_or_default();
        if tokens.iter().any(|token| token.bytes() > LONG) {
            let spelling = |token: &AddedToken| token.text(&self.spellings).unwrap_or_default();
            let mut spellings = tokens.iter().map(spelling);
            self.automaton = Some(Automaton::build(&mut spellings)?);
        }
        Ok(())
    }

    /// Returns false if a quick look at `text` shows that it has none of the tokens.
    fn may_be_in(&self, text: &str) -> bool {
        match self.first {
            Some(first) => text.as_bytes().contains(&first),
            None => self.index.tokens() > 0,
        }
    }
}

/// Entries of the same content.
#[derive(Clone, Copy)]
struct Twins {
    first: usize,
    last: usize,
    is_special: bool,
}

/// The entries with a content, those of the same one together, in the order of the first ones.
fn twins(entries: &[Entry<'_>]) -> Result<Vec<Twins>> {
    let mut all: Vec<Twins> = reserved(entries.len())?;
    for (place, entry) in entries.iter().enumerate() {
        if !entry.content.is_empty() {
            all.push(Twins { first: place, last: place, is_special: entry.spec.special });
        }
    }
    let content = |twins: &Twins| entries[twins.first].content.as_str();
    all.sort_unstable_by(|a, b| content(a).cmp(content(b)).then(a.first.cmp(&b.first)));
    all.dedup_by(|later, kept| {
        let is_twin = content(later) == content(kept);
        if is_twin {
            kept.last = later.last;
            kept.is_special |= later.is_special;
        }
        is_twin
    });
    all.sort_unstable_by_key(|twins| twins.first);
    Ok(all)
}

/// The result of the normaliser for a token's content.
fn normalized(normalizer: &[Normalizer], content: &str) -> Result<String> {
    let (mut text, mut next, mut held) = (Text::default(), Text::default(), Marks::default());
    text.set(content, 0, Allowance::for_text(content).left())?;
    normalizer::run(normalizer, &mut text, &mut next, &mut held)?;
    Ok(text.into_string())
}

//! The member `model` of a `tokenizer.json`.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Bpe, Model, Unigram, WordPiece, bpe, word_piece};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{Limit, collected, grow, reserved, write};
use crate::owned::pipeline::settings::{at, kind, one_of, refused, string};
use crate::owned::pipeline::tokens::TokenStrings;
use crate::text::character::utf8;
use crate::text::json::{Kind, Object, Read, Value, chars};

/// A model and what else its member says.
pub(in crate::owned::pipeline) struct ReadModel {
    pub(in crate::owned::pipeline) model: Model,
    pub(in crate::owned::pipeline) tokens: TokenStrings,
    /// How many tokens `tokenizers` counts, which numbers those that are added.
    pub(in crate::owned::pipeline) count: usize,
    /// Where the text has the vocabulary and the merges, in this order.
    pub(in crate::owned::pipeline) large: Vec<(Range<u64>, usize)>,
}

/// A vocabulary that does not lie in the JSON.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned::pipeline) struct Elsewhere<'a> {
    /// The tokens by id; an empty one is none.
    pub(in crate::owned::pipeline) tokens: &'a [&'a str],
    pub(in crate::owned::pipeline) scores: Option<&'a [f64]>,
    pub(in crate::owned::pipeline) merges: &'a [(u32, u32)],
}

/// Reads a model.
pub(in crate::owned::pipeline) fn read<'t>(
    value: Value<'t>,
    elsewhere: Option<Elsewhere<'_>>,
) -> Read<'t, ReadModel> {
    let model = Object::new(value)?;
    let vocabulary = Vocabulary::read(&model, elsewhere)?;
    let read = match kind_of(&model)? {
        Some("WordPiece") => word_piece(&model, vocabulary),
        Some("BPE") => bpe(&model, vocabulary, elsewhere),
        Some("Unigram") => unigram(&model, vocabulary),
        Some(_) => Err(refused(value, "only WordPiece, BPE and Unigram are known")),
        None => Err(model.bad("type", "the model's kind is needed")),
    }?;
    model.finish(&[])?;
    Ok(read)
}

/// The model's kind; old files do not say it.
fn kind_of<'t>(model: &Object<'t>) -> Read<'t, Option<&'t str>> {
    if model.get("type").is_some() {
        return Ok(Some(kind(model)?));
    }
    let has = |name: &str| model.value().member(name).is_some();
    Ok(match () {
        () if has("merges") => Some("BPE"),
        () if has("max_input_chars_per_word") => Some("WordPiece"),
        () if has("unk_id") => Some("Unigram"),
        () => None,
    })
}

/// The tokens of a model.
struct Vocabulary<'t> {
    value: Value<'t>,
    /// Whether the tokens are named in the JSON, which cannot name one twice.
    is_named: bool,
    tokens: TokenStrings,
    scores: Vec<f64>,
    count: usize,
}

impl<'t> Vocabulary<'t> {
    fn read(model: &Object<'t>, elsewhere: Option<Elsewhere<'_>>) -> Read<'t, Self> {
        let value = model.needed("vocab", model.get("vocab"))?;
        match (elsewhere, value.kind()) {
            (Some(elsewhere), Kind::BeginObject) => Self::lying_elsewhere(value, elsewhere),
            (None, Kind::BeginObject) => Self::of_ids(value),
            (None, Kind::BeginArray) => Self::of_scores(value),
            _ => Err(model.bad("vocab", "tokens with their ids or scores are needed")),
        }
    }

    /// Tokens with their ids, in any order.
    fn of_ids(value: Value<'t>) -> Read<'t, Self> {
        let (mut count, mut bytes, mut most) = (0_usize, 0_usize, 0_usize);
        for (token, id) in value.members() {
            let number = id.as_u64().ok_or_else(|| at(id, "vocab", id.bad()))?;
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            (count, bytes, most) = (count + 1, bytes + token.len(), most.max(number));
        }
        let far = Error::new(value.offset(), ErrorKind::OverLimit);
        let room = if count == 0 { 0 } else { most.saturating_add(1) };
        if room > Limit::ids_of(count) {
            return Err(at(value, "vocab", far));
        }
        let of = |error| at(value, "vocab", error);
        let mut by_id: Vec<&'t str> = Vec::new();
        grow(&mut by_id, room, "").map_err(of)?;
        for (token, id) in value.members() {
            let place = &mut by_id[id.as_u64().unwrap_or(0) as usize];
            if !place.is_empty() && *place != token {
                return Err(at(id, "vocab", Error::new(id.offset(), ErrorKind::BadVocabulary)));
            }
            *place = token;
        }
        let mut tokens = TokenStrings::with_room(room, bytes).map_err(of)?;
        by_id.iter().try_for_each(|token| tokens.push_spelled(token)).map_err(of)?;
        tokens.shrink();
        Ok(Self { value, is_named: true, tokens, scores: Vec::new(), count })
    }

    /// Tokens in the order of their ids, with their scores.
    fn of_scores(value: Value<'t>) -> Read<'t, Self> {
        let of = |error| at(value, "vocab", error);
        let count = value.items().count();
        let mut tokens = TokenStrings::with_room(count, 0).map_err(of)?;
        let mut scores = reserved(count).map_err(of)?;
        for pair in value.items() {
            let mut parts = pair.items();
            let parts = (parts.next(), parts.next(), parts.next());
            let (token, score) = match parts {
                (Some(token), Some(score), None) => (token.as_text(), score.as_f64()),
                _ => (None, None),
            };
            let (Some(token), Some(score)) = (token, score) else {
                return Err(at(pair, "vocab", pair.bad()));
            };
            tokens.push_spelled(token).map_err(of)?;
            scores.push(score);
        }
        tokens.shrink();
        Ok(Self { value, is_named: false, tokens, scores, count })
    }

    /// Tokens of which the JSON says only how many there are.
    fn lying_elsewhere(value: Value<'t>, elsewhere: Elsewhere<'_>) -> Read<'t, Self> {
        let of = |error| at(value, "vocab", error);
        let said = Object::new(value)?;
        let ids = said.needed("ids", said.integer("ids")?)?;
        let count = said.needed("count", said.integer("count")?)?;
        said.finish(&[])?;
        let bad = Error::new(value.offset(), ErrorKind::BadVocabulary);
        let ids = usize::try_from(ids).ok().and_then(|ids| elsewhere.tokens.get(..ids));
        let ids = ids.ok_or_else(|| of(bad))?;
        let count = usize::try_from(count).ok().filter(|count| *count <= ids.len());
        let mut tokens = TokenStrings::with_room(ids.len(), ids.iter().map(|it| it.len()).sum());
        let tokens = tokens.as_mut().map_err(|error| of(*error))?;
        ids.iter().try_for_each(|token| tokens.push(token)).map_err(of)?;
        let scores = elsewhere.scores.unwrap_or_default();
        let scores = scores.get(..ids.len()).unwrap_or_default();
        Ok(Self {
            value,
            is_named: false,
            tokens: core::mem::take(tokens),
            scores: collected(scores.iter().copied()).map_err(of)?,
            count: count.ok_or_else(|| of(bad))?,
        })
    }

    /// The member of the text that the tokens stand in, and the highest id's successor.
    fn place(&self) -> (Range<u64>, usize) {
        (range(self.value), self.tokens.len())
    }

    /// Refuses names that are there twice: `find` gives the id of only one of them. In lists of
    /// tokens the last one counts.
    fn refuse_twins(&self, find: impl Fn(&str) -> Option<u32>) -> Read<'t, ()> {
        let mut tokens = self.tokens.iter();
        let twin = tokens.find(|(id, token)| self.is_named && find(token) != Some(*id));
        let Some((id, _)) = twin else { return Ok(()) };
        let member = self.value.members().find(|(_, value)| value.as_u64() == Some(id.into()));
        let place = member.map_or(self.value, |(_, value)| value);
        Err(at(place, "vocab", Error::new(place.offset(), ErrorKind::BadVocabulary)))
    }
}

fn range(value: Value<'_>) -> Range<u64> {
    value.offset()..value.offset().saturating_add(value.spelling().len() as u64)
}

fn word_piece<'t>(model: &Object<'t>, vocabulary: Vocabulary<'t>) -> Read<'t, ReadModel> {
    let most = model.integer("max_input_chars_per_word")?;
    let settings = word_piece::Settings {
        unknown: model.needed("unk_token", string(model, "unk_token")?)?,
        prefix: model
            .needed("continuing_subword_prefix", string(model, "continuing_subword_prefix")?)?,
        most_characters: usize::try_from(model.needed("max_input_chars_per_word", most)?)
            .unwrap_or(usize::MAX),
    };
    let of = |error| at(vocabulary.value, "vocab", error);
    let read = WordPiece::new(&vocabulary.tokens, &settings).map_err(of)?;
    vocabulary.refuse_twins(|token| read.trie.find(token))?;
    let large = one_of(vocabulary.place()).map_err(of)?;
    let Vocabulary { tokens, count, .. } = vocabulary;
    Ok(ReadModel { model: Model::WordPiece(read), tokens, count, large })
}

fn unigram<'t>(model: &Object<'t>, vocabulary: Vocabulary<'t>) -> Read<'t, ReadModel> {
    let count = vocabulary.tokens.len();
    if vocabulary.scores.len() != count {
        return Err(model.bad("vocab", "tokens with their scores are needed"));
    }
    let unknown = match model.integer("unk_id")? {
        None => None,
        Some(id) => {
            let id = u32::try_from(id).ok().filter(|id| (*id as usize) < count);
            Some(id.ok_or_else(|| model.bad("unk_id", "an id of the vocabulary is needed"))?)
        }
    };
    let byte_fallback = model.truth("byte_fallback")?.unwrap_or(false);
    let value = vocabulary.value;
    let of = |error| at(value, "vocab", error);
    let large = one_of(vocabulary.place()).map_err(of)?;
    let Vocabulary { tokens, scores, count, .. } = vocabulary;
    let read = Unigram::new(&tokens, scores, unknown, byte_fallback).map_err(of)?;
    Ok(ReadModel { model: Model::Unigram(read), tokens, count, large })
}

fn bpe<'t>(
    model: &Object<'t>,
    vocabulary: Vocabulary<'t>,
    elsewhere: Option<Elsewhere<'_>>,
) -> Read<'t, ReadModel> {
    let only = "only merging all that can be merged is honoured";
    model.neutral("dropout", only, |dropout| dropout.as_f64() == Some(0.0))?;
    let settings = bpe::Settings {
        unknown: string(model, "unk_token")?,
        prefix: string(model, "continuing_subword_prefix")?.unwrap_or_default(),
        suffix: string(model, "end_of_word_suffix")?.unwrap_or_default(),
        fuses_unknown: model.truth("fuse_unk")?.unwrap_or(false),
        byte_fallback: model.truth("byte_fallback")?.unwrap_or(false),
        ignores_merges: model.truth("ignore_merges")?.unwrap_or(false),
    };
    let of = |error| at(vocabulary.value, "vocab", error);
    let tokens = &vocabulary.tokens;
    let read = Bpe::over(tokens, settings).map_err(of)?;
    vocabulary.refuse_twins(|token| read.find(tokens, token))?;
    let list = model.needed("merges", model.get("merges"))?;
    let pairs;
    let merges = match elsewhere {
        Some(elsewhere) => elsewhere.merges,
        None => {
            pairs = merges_of(model, list, |token| read.find(tokens, token))?;
            &pairs
        }
    };
    let read = read.merging(tokens, merges).map_err(|(rank, error)| {
        let place = lines(list).nth(rank).unwrap_or(list);
        at(place, "merges", Error::new(place.offset(), error.kind()))
    })?;
    let large = collected([vocabulary.place(), (range(list), merges.len())]).map_err(of)?;
    let Vocabulary { tokens, count, .. } = vocabulary;
    Ok(ReadModel { model: Model::Bpe(read), tokens, count, large })
}

/// The merges of a list, without its first line in files of old.
fn lines<'t>(list: Value<'t>) -> impl Iterator<Item = Value<'t>> {
    let is_version = |line: &Value<'_>| line.as_text().is_some_and(|it| it.starts_with("#version"));
    list.items().filter(move |line| !is_version(line))
}

/// The ids of all merges: two tokens, or a string of both with a space between.
fn merges_of<'t>(
    model: &Object<'t>,
    list: Value<'t>,
    find: impl Fn(&str) -> Option<u32>,
) -> Read<'t, Vec<(u32, u32)>> {
    if list.kind() != Kind::BeginArray {
        return Err(model.bad("merges", "a list is needed"));
    }
    let of = |error| at(list, "merges", error);
    let mut pairs = reserved(lines(list).count()).map_err(of)?;
    let mut room = String::new();
    for line in lines(list) {
        let pair = match line.as_text() {
            Some(spelling) => {
                unescape(spelling, &mut room).map_err(of)?;
                let (left, right) = room.split_once(' ').unwrap_or_default();
                let is_pair = !right.contains(' ');
                find(left).zip(find(right)).filter(|_| is_pair)
            }
            None => pair_of(line, &mut room, &find).map_err(of)?,
        };
        let bad = || at(line, "merges", Error::new(line.offset(), ErrorKind::BadVocabulary));
        pairs.push(pair.ok_or_else(bad)?);
    }
    Ok(pairs)
}

fn pair_of(
    line: Value<'_>,
    room: &mut String,
    find: impl Fn(&str) -> Option<u32>,
) -> Result<Option<(u32, u32)>> {
    let mut items = line.items();
    let mut id = || {
        let Some(spelling) = items.next().and_then(|item| item.as_text()) else { return Ok(None) };
        unescape(spelling, room)?;
        Ok(find(room))
    };
    let pair = id()?.zip(id()?);
    Ok(pair.filter(|_| items.next().is_none()))
}

fn unescape(spelling: &str, out: &mut String) -> Result<()> {
    out.clear();
    chars(spelling).try_for_each(|c| write(out, utf8(c, &mut [0; 4])))
}

//! Unicode's normalisation forms.
//!
//! A character that has no decomposition and no combining class ends what is held back: marks
//! behind a starter, which are put in the order of their classes, and composed with it if that is
//! asked for.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Properties, tables};

/// A normalisation form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Canonical decomposition.
    Nfd,
    /// Canonical decomposition, then composition.
    Nfc,
    /// Compatibility decomposition.
    Nfkd,
    /// Compatibility decomposition, then canonical composition.
    Nfkc,
}

impl Form {
    const fn is_compatible(self) -> bool {
        matches!(self, Self::Nfkd | Self::Nfkc)
    }

    const fn composes(self) -> bool {
        matches!(self, Self::Nfc | Self::Nfkc)
    }

    /// Whether a look at each character of `text` shows that it is in this form.
    pub(crate) fn has(self, text: &str) -> bool {
        let stays = |c: char| {
            let properties = Properties::of(c);
            let changes = match self {
                Self::Nfd => properties.decomposes(),
                Self::Nfkd => properties.decomposes_compatibly(),
                Self::Nfc => properties.is_recomposed() || properties.composes(),
                Self::Nfkc => properties.is_recomposed_compatibly() || properties.composes(),
            };
            !changes && !properties.moves()
        };
        text.is_ascii() || text.chars().all(|c| c.is_ascii() || stays(c))
    }
}

/// Characters whose order is not settled: a starter, and marks behind it with their classes.
pub(crate) type Held = Vec<(u8, char)>;

/// Writes `text` in a form behind `out`, without the characters beyond ASCII that `keep` is false of
/// once they are in their places. `held` is memory for marks.
pub(crate) fn write_form(
    form: Form,
    text: &str,
    held: &mut Held,
    out: &mut String,
    keep: impl Fn(char) -> bool,
) {
    held.clear();
    let flush = |held: &mut Held, out: &mut String| {
        if form.composes() {
            compose(held);
        }
        out.extend(held.drain(..).map(|(_, c)| c).filter(|c| keep(*c)));
    };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // Of a run of ASCII only the last character may yet change.
        let run = rest.bytes().take_while(u8::is_ascii).count();
        if let Some(last) = run.checked_sub(1) {
            sort(held);
            flush(held, out);
            out.push_str(&rest[..last]);
            held.push((0, char::from(rest.as_bytes()[last])));
            rest = &rest[run..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        decompose(form, c, |part, properties| {
            let class = if properties.moves() { combining_class(part) } else { 0 };
            // A starter may yet compose with what is held back.
            if class == 0 && !(form.composes() && properties.composes()) {
                sort(held);
                flush(held, out);
            } else if class == 0 {
                sort(held);
            }
            held.push((class, part));
        });
    }
    sort(held);
    flush(held, out);
}

/// Puts the marks behind the last starter in their order.
fn sort(held: &mut Held) {
    let starter = held.iter().rposition(|(class, _)| *class == 0).map_or(0, |at| at + 1);
    held[starter..].sort_by_key(|(class, _)| *class);
}

/// Calls `take` with what a character becomes.
fn decompose(form: Form, c: char, mut take: impl FnMut(char, Properties)) {
    let properties = Properties::of(c);
    let decomposes = match form.is_compatible() {
        true => properties.decomposes_compatibly(),
        false => properties.decomposes(),
    };
    if !decomposes {
        return take(c, properties);
    }
    if let Some(parts) = syllable(c) {
        for part in parts.into_iter().flatten() {
            take(part, Properties::of(part));
        }
        return;
    }
    let canonical =
        (&tables::CANONICAL_CODES[..], &tables::CANONICAL_ENDS[..], tables::CANONICAL_PARTS);
    let compatible =
        (&tables::COMPATIBLE_CODES[..], &tables::COMPATIBLE_ENDS[..], tables::COMPATIBLE_PARTS);
    let parts = form.is_compatible().then(|| find(c, compatible)).flatten();
    let parts = parts.or_else(|| find(c, canonical));
    for part in parts.unwrap_or_default().chars() {
        take(part, Properties::of(part));
    }
}

fn find(c: char, (codes, ends, parts): (&[u32], &[u16], &'static str)) -> Option<&'static str> {
    let at = codes.binary_search(&u32::from(c)).ok()?;
    let start = at.checked_sub(1).map_or(0, |before| ends[before]);
    parts.get(usize::from(start)..usize::from(ends[at]))
}

fn combining_class(c: char) -> u8 {
    let code = u32::from(c);
    let after = tables::COMBINING_CLASSES.partition_point(|run| run >> 8 <= code);
    after.checked_sub(1).map_or(0, |at| (tables::COMBINING_CLASSES[at] & 0xFF) as u8)
}

// Hangul syllables are composed by arithmetic (the Unicode Standard, section 3.12).
const SYLLABLES: u32 = 0xAC00;
const SYLLABLE_COUNT: u32 = 11_172;
const LEADING: u32 = 0x1100;
const LEADING_COUNT: u32 = 19;
const VOWEL: u32 = 0x1161;
const VOWEL_COUNT: u32 = 21;
const TRAILING: u32 = 0x11A7;
const TRAILING_COUNT: u32 = 28;

fn syllable(c: char) -> Option<[Option<char>; 3]> {
    let index = u32::from(c).checked_sub(SYLLABLES).filter(|index| *index < SYLLABLE_COUNT)?;
    let trailing = index % TRAILING_COUNT;
    Some([
        char::from_u32(LEADING + index / (VOWEL_COUNT * TRAILING_COUNT)),
        char::from_u32(VOWEL + index / TRAILING_COUNT % VOWEL_COUNT),
        char::from_u32(TRAILING + trailing).filter(|_| trailing > 0),
    ])
}

/// What two characters become, if they compose.
fn composed(first: char, second: char) -> Option<char> {
    let (a, b) = (u32::from(first), u32::from(second));
    let within =
        |code: u32, start: u32, count: u32| code.checked_sub(start).filter(|it| *it < count);
    if let (Some(leading), Some(vowel)) =
        (within(a, LEADING, LEADING_COUNT), within(b, VOWEL, VOWEL_COUNT))
    {
        return char::from_u32(SYLLABLES + (leading * VOWEL_COUNT + vowel) * TRAILING_COUNT);
    }
    if let (Some(index), Some(trailing)) =
        (within(a, SYLLABLES, SYLLABLE_COUNT), within(b, TRAILING + 1, TRAILING_COUNT - 1))
        && index % TRAILING_COUNT == 0
    {
        return char::from_u32(a + trailing + 1);
    }
    let pair = tables::COMPOSITIONS.binary_search_by_key(&(a, b), |(a, b, _)| (*a, *b)).ok()?;
    char::from_u32(tables::COMPOSITIONS[pair].2)
}

/// Composes what is held back: a mark with the last starter unless one of its own class or higher
/// lies between them.
fn compose(held: &mut Held) {
    let Some(mut starter) = held.iter().position(|(class, _)| *class == 0) else { return };
    let mut kept = starter + 1;
    let mut between = None;
    for at in starter + 1..held.len() {
        let (class, c) = held[at];
        let is_blocked = between.is_some_and(|last| last >= class);
        let composed = if is_blocked { None } else { composed(held[starter].1, c) };
        if let Some(composed) = composed {
            held[starter].1 = composed;
            continue;
        }
        held[kept] = (class, c);
        (starter, between) = if class == 0 { (kept, None) } else { (starter, Some(class)) };
        kept += 1;
    }
    held.truncate(kept);
}

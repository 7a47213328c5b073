//! Unicode's normalisation forms.
//!
//! A character that has no decomposition and no combining class ends what is held back: marks
//! after a starter, which are put in the order of their classes, and composed with it if that is
//! asked for.

use super::tables::DECOMPOSITION_BLOCK;
use super::{Properties, tables};
use crate::token::hangul;

/// A normalisation form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// True if characters are composed canonically after decomposition.
    composes: bool,
    /// Decompositions beyond the canonical ones. A form brings its table with it: programs do not
    /// have that of forms that they do not use.
    compatible: Option<&'static Decompositions>,
}

impl Form {
    /// Canonical decomposition.
    pub(crate) const NFD: Self = Self { composes: false, compatible: None };
    /// Canonical decomposition, then composition.
    pub(crate) const NFC: Self = Self { composes: true, compatible: None };
    /// Compatibility decomposition.
    pub(crate) const NFKD: Self = Self { composes: false, compatible: Some(&COMPATIBLE) };
    /// Compatibility decomposition, then canonical composition.
    pub(crate) const NFKC: Self = Self { composes: true, compatible: Some(&COMPATIBLE) };

    /// Returns true if a look at each character of `text` shows that it is in this form.
    pub(crate) fn has(self, text: &str) -> bool {
        let stays = |c: char| {
            let properties = Properties::from_char(c);
            let changes = match (self.compatible.is_some(), self.composes) {
                (false, false) => properties.decomposes(),
                (true, false) => properties.decomposes_compatibly(),
                (false, true) => properties.is_recomposed() || properties.composes(),
                (true, true) => properties.is_recomposed_compatibly() || properties.composes(),
            };
            !changes && !properties.moves()
        };
        text.is_ascii() || text.chars().all(|c| c.is_ascii() || stays(c))
    }
}

/// Characters whose order is not settled: a starter, and marks after it with their classes.
pub(crate) trait MarkBuffer: AsMut<[(u8, char)]> {
    /// Holds one more.
    fn hold(&mut self, class: u8, c: char);

    /// Holds no more than the first `length`.
    fn keep(&mut self, length: usize);

    /// Puts those from `start` on in the order of their classes; equal ones stay as they are.
    fn sort(&mut self, start: usize) {
        sort_few(self.as_mut().get_mut(start..).unwrap_or_default());
    }
}

/// Puts a few marks in the order of their classes; equal ones stay as they are.
pub(crate) fn sort_few(marks: &mut [(u8, char)]) {
    for end in 1..marks.len() {
        // The last one moves before those of a higher class.
        for at in (0..end).rev() {
            let Some([a, b]) = marks.get_mut(at..=at.saturating_add(1)) else { break };
            if a.0 <= b.0 {
                break;
            }
            core::mem::swap(a, b);
        }
    }
}

/// Receives the written text.
pub(crate) trait Output {
    /// Writes a character.
    fn character(&mut self, c: char);

    /// Writes a text.
    fn text(&mut self, text: &str);
}

/// Writes `text` in a form after `out`, without the characters beyond ASCII that `keep` is false of
/// once they are in their places. `held` is memory for marks.
pub(crate) fn write_form(
    form: Form,
    text: &str,
    held: &mut impl MarkBuffer,
    out: &mut impl Output,
    keep: impl Fn(char) -> bool,
) {
    held.keep(0);
    let flush = |held: &mut _, out: &mut _| flush(form, held, out, &keep);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // Of a run of ASCII only the last character may yet change.
        let run = rest.bytes().take_while(u8::is_ascii).count();
        if let Some((plain, more)) = rest.split_at_checked(run)
            && let Some(last) = plain.bytes().next_back()
        {
            sort(held);
            flush(held, out);
            out.text(plain.get(..run.saturating_sub(1)).unwrap_or_default());
            held.hold(0, char::from(last));
            rest = more;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        decompose(form, c, |part, properties| {
            let class = if properties.moves() { combining_class(part) } else { 0 };
            // A starter may yet compose with what is held back.
            if class == 0 && !(form.composes && properties.composes()) {
                sort(held);
                flush(held, out);
            } else if class == 0 {
                sort(held);
            }
            held.hold(class, part);
        });
    }
    sort(held);
    flush(held, out);
}

/// Writes what is held back.
fn flush(
    form: Form,
    held: &mut impl MarkBuffer,
    out: &mut impl Output,
    keep: &impl Fn(char) -> bool,
) {
    if form.composes {
        let kept = compose(held.as_mut());
        held.keep(kept);
    }
    held.as_mut().iter().map(|(_, c)| *c).filter(|c| keep(*c)).for_each(|c| out.character(c));
    held.keep(0);
}

/// Puts the marks after the last starter in their order.
fn sort(held: &mut impl MarkBuffer) {
    let starter = held.as_mut().iter().rposition(|(class, _)| *class == 0);
    held.sort(starter.map_or(0, |at| at.saturating_add(1)));
}

/// Calls `take` with what a character becomes.
fn decompose(form: Form, c: char, mut take: impl FnMut(char, Properties)) {
    let (few, text) = parts(form.compatible, c);
    for part in few.into_iter().flatten().chain(text.chars()) {
        take(part, Properties::from_char(part));
    }
}

/// The decomposition of a character, canonical or `compatible`: characters, and then a text.
fn parts(
    compatible: Option<&'static Decompositions>,
    c: char,
) -> ([Option<char>; 3], &'static str) {
    let properties = Properties::from_char(c);
    let decomposes = match compatible {
        Some(_) => properties.decomposes_compatibly(),
        None => properties.decomposes(),
    };
    if !decomposes {
        return ([Some(c), None, None], "");
    }
    if let Some(letters) = hangul::letters(c) {
        return (letters, "");
    }
    let text = compatible.and_then(|compatible| compatible.find(c));
    ([None; 3], text.or_else(|| CANONICAL.find(c)).unwrap_or_default())
}

/// The first three characters of the canonical decomposition of `c` that are no non-spacing marks;
/// `'\0'` is none.
#[cfg(any(test, target_family = "wasm"))]
pub(in crate::token) fn without_marks(c: char) -> [char; 3] {
    let mut kept = ['\0'; 3];
    let (few, text) = parts(None, c);
    let all = few.into_iter().flatten().chain(text.chars());
    let letters = all.filter(|part| !Properties::from_char(*part).is_non_spacing());
    kept.iter_mut().zip(letters).for_each(|(place, letter)| *place = letter);
    kept
}

/// Characters that decompose, and what they become.
#[derive(Debug)]
struct Decompositions {
    /// The first characters of runs.
    runs: &'static [u32],
    /// How many characters are before each run.
    firsts: &'static [u16],
    /// The bytes of what each character becomes.
    lengths: &'static [u8],
    /// Where what the first character of each block becomes starts in `parts`.
    starts: &'static [u16],
    parts: &'static str,
}

static CANONICAL: Decompositions = Decompositions {
    runs: &tables::CANONICAL_RUNS,
    firsts: &tables::CANONICAL_FIRSTS,
    lengths: &tables::CANONICAL_LENGTHS,
    starts: &tables::CANONICAL_STARTS,
    parts: tables::CANONICAL_PARTS,
};

/// Those that canonical decomposition does not change, or changes into something else.
static COMPATIBLE: Decompositions = Decompositions {
    runs: &tables::COMPATIBLE_RUNS,
    firsts: &tables::COMPATIBLE_FIRSTS,
    lengths: &tables::COMPATIBLE_LENGTHS,
    starts: &tables::COMPATIBLE_STARTS,
    parts: tables::COMPATIBLE_PARTS,
};

impl Decompositions {
    /// The decomposition of `c`.
    fn find(&self, c: char) -> Option<&'static str> {
        let code = u32::from(c);
        let after = self.runs.partition_point(|first| *first <= code);
        let run = after.checked_sub(1)?;
        let first = |run: usize| self.firsts.get(run).map(|first| usize::from(*first));
        let within = code.checked_sub(*self.runs.get(run)?)? as usize;
        let at = first(run)?.checked_add(within)?;
        if at >= first(after).unwrap_or(self.lengths.len()) {
            return None;
        }
        self.text(at)
    }

    /// The decomposition of the character that has so many before it.
    fn text(&self, at: usize) -> Option<&'static str> {
        let block = at / DECOMPOSITION_BLOCK;
        let before = self.lengths.get(block.checked_mul(DECOMPOSITION_BLOCK)?..at)?;
        let start = usize::from(*self.starts.get(block)?);
        let start = before.iter().fold(start, |sum, bytes| sum.saturating_add((*bytes).into()));
        let end = start.checked_add(usize::from(*self.lengths.get(at)?))?;
        self.parts.get(start..end)
    }

    /// The character that has so many before it.
    fn character(&self, at: usize) -> Option<char> {
        let after = self.firsts.partition_point(|first| usize::from(*first) <= at);
        let run = after.checked_sub(1)?;
        let within = at.checked_sub(usize::from(*self.firsts.get(run)?))?;
        char::from_u32(self.runs.get(run)?.checked_add(u32::try_from(within).ok()?)?)
    }
}

fn combining_class(c: char) -> u8 {
    let code = u32::from(c);
    let after = tables::COMBINING_CLASSES.partition_point(|run| run >> 8 <= code);
    let run = after.checked_sub(1).and_then(|at| tables::COMBINING_CLASSES.get(at));
    run.map_or(0, |run| (run & 0xFF) as u8)
}

/// The composition of two characters, if there is one.
fn composed(first: char, second: char) -> Option<char> {
    if let Some(syllable) = hangul::composed(first, second) {
        return Some(syllable);
    }
    if !Properties::from_char(second).composes() {
        return None;
    }
    // Two characters compose into the one that has the decomposition of both.
    let (few, text) = parts(None, first);
    let both = || few.into_iter().flatten().chain(text.chars()).chain([second]);
    let text = |at: u16| CANONICAL.text(at.into()).unwrap_or_default().chars();
    let before = tables::COMPOSITIONS.partition_point(|at| text(*at).lt(both()));
    let at = tables::COMPOSITIONS.get(before).filter(|at| text(**at).eq(both()))?;
    CANONICAL.character(usize::from(*at))
}

/// Composes what is held back: a mark with the last starter unless one of its own class or higher
/// lies between them.
/// Answers how many are left.
fn compose(held: &mut [(u8, char)]) -> usize {
    let Some(mut starter) = held.iter().position(|(class, _)| *class == 0) else {
        return held.len();
    };
    let mut at = starter.saturating_add(1);
    let mut kept = at;
    let mut between = None;
    while let Some((class, c)) = held.get(at).copied() {
        at = at.saturating_add(1);
        let is_blocked = between.is_some_and(|last| last >= class);
        let first = held.get_mut(starter).filter(|_| !is_blocked);
        let composed = first.and_then(|(_, first)| Some((composed(*first, c)?, first)));
        if let Some((composed, first)) = composed {
            *first = composed;
            continue;
        }
        if let Some(place) = held.get_mut(kept) {
            *place = (class, c);
        }
        (starter, between) = if class == 0 { (kept, None) } else { (starter, Some(class)) };
        kept = kept.saturating_add(1);
    }
    kept
}

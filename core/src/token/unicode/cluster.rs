//! Extended grapheme clusters (UAX #29): what a reader takes for one character.

use super::{look_up, tables};

/// The class of a character in the rules of clusters; the numbers are those of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Other,
    CarriageReturn,
    LineFeed,
    Control,
    Joiner,
    /// Extends, and links conjuncts of Indic scripts.
    Linker,
    /// Extends, also within conjuncts.
    Extend,
    /// Extends, but ends a conjunct.
    ExtendAlone,
    SpacingMark,
    Prepend,
    Regional,
    Pictographic,
    Consonant,
    Leading,
    Vowel,
    Trailing,
    SyllableOpen,
    SyllableClosed,
}

impl Break {
    const ALL: [Self; 18] = [
        Self::Other,
        Self::CarriageReturn,
        Self::LineFeed,
        Self::Control,
        Self::Joiner,
        Self::Linker,
        Self::Extend,
        Self::ExtendAlone,
        Self::SpacingMark,
        Self::Prepend,
        Self::Regional,
        Self::Pictographic,
        Self::Consonant,
        Self::Leading,
        Self::Vowel,
        Self::Trailing,
        Self::SyllableOpen,
        Self::SyllableClosed,
    ];

    #[cfg_attr(target_family = "wasm", inline)]
    fn from_char(c: char) -> Self {
        let tables = (&tables::BREAK_ROOT[..], &tables::BREAK_MIDDLES[..]);
        let class = look_up(c, tables, &tables::BREAK_LEAVES);
        Self::ALL.get(usize::from(class)).copied().unwrap_or(Self::Other)
    }

    const fn is_control(self) -> bool {
        matches!(self, Self::CarriageReturn | Self::LineFeed | Self::Control)
    }

    const fn extends(self) -> bool {
        matches!(self, Self::Linker | Self::Extend | Self::ExtendAlone)
    }
}

/// The clusters of a text, in order.
pub(crate) struct Clusters<'t> {
    text: &'t str,
    state: State,
}

/// The characters before a place.
#[derive(Clone, Copy, Default)]
struct State {
    before: Option<Break>,
    /// An odd number of regional indicators.
    half_flag: bool,
    /// A pictograph and what extends it; with a joiner at the end.
    emoji: Seen,
    /// A consonant and what extends it; with a linker among it.
    conjunct: Seen,
}

/// How much of a sequence that keeps clusters together has been seen.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    Nothing,
    Start,
    Whole,
}

impl State {
    /// Returns true if a cluster ends before a character of class `next`.
    fn ends_before(&self, next: Break) -> bool {
        use Break::*;
        let Some(before) = self.before else { return false };
        match (before, next) {
            (CarriageReturn, LineFeed) => false,
            (a, b) if a.is_control() || b.is_control() => true,
            (Leading, Leading | Vowel | SyllableOpen | SyllableClosed)
            | (SyllableOpen | Vowel, Vowel | Trailing)
            | (SyllableClosed | Trailing, Trailing) => false,
            (_, next) if next.extends() => false,
            (_, Joiner | SpacingMark) | (Prepend, _) => false,
            (_, Consonant) => self.conjunct != Seen::Whole,
            (Joiner, Pictographic) => self.emoji != Seen::Whole,
            (Regional, Regional) => !self.half_flag,
            _ => true,
        }
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn pass(&mut self, next: Break) {
        self.half_flag = next == Break::Regional && !self.half_flag;
        self.emoji = match (self.emoji, next) {
            (_, Break::Pictographic) => Seen::Start,
            (Seen::Start, next) if next.extends() => Seen::Start,
            (Seen::Start, Break::Joiner) => Seen::Whole,
            _ => Seen::Nothing,
        };
        self.conjunct = match (self.conjunct, next) {
            (_, Break::Consonant) => Seen::Start,
            (Seen::Start, Break::Linker) => Seen::Whole,
            (seen, Break::Linker | Break::Extend | Break::Joiner) => seen,
            _ => Seen::Nothing,
        };
        self.before = Some(next);
    }
}

impl<'t> Clusters<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, state: State::default() }
    }

    /// Takes the characters away that come next as long as they are printable, of ASCII, clusters
    /// of their own, and not in the set `changes`.
    pub(crate) fn plain(&mut self, changes: u128) -> &'t str {
        let is_plain = |byte: &u8| matches!(*byte, b' '..=b'~') && changes >> *byte & 1 == 0;
        let run = self.text.bytes().take_while(is_plain).count();
        // The last one may be extended by what follows.
        let alone = if run == self.text.len() { run } else { run.saturating_sub(1) };
        if alone > 0 {
            self.state = State::default();
        }
        let (plain, rest) = self.text.split_at_checked(alone).unwrap_or_default();
        self.text = rest;
        plain
    }
}

impl<'t> Iterator for Clusters<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let mut characters = self.text.char_indices();
        let (_, first) = characters.next()?;
        let mut state = self.state;
        // What the cluster begins with was passed when the one before it ended.
        if state.before.is_none() {
            state.pass(Break::from_char(first));
        }
        let end = characters.find(|(_, c)| {
            let next = Break::from_char(*c);
            let ends = state.ends_before(next);
            state.pass(next);
            ends
        });
        self.state = state;
        let end = end.map_or(self.text.len(), |(at, _)| at);
        let (cluster, rest) = self.text.split_at_checked(end)?;
        self.text = rest;
        Some(cluster)
    }
}

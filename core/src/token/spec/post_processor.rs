//! The tokens around texts.

use super::Spelling;

/// The most parts of a template.
pub const MOST_ITEMS: usize = 16;

/// The most different tokens of the templates of a tokenizer.
pub const MOST_SPECIAL: usize = if cfg!(feature = "small") { 8 } else { 16 };

/// What is written for one text, and for two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostProcessor<'a> {
    /// The tokens that the templates have.
    pub special: heapless::Vec<SpecialToken<'a>, MOST_SPECIAL>,
    /// What one text becomes.
    pub single: Template,
    /// What two texts become.
    pub pair: Template,
}

/// A token of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialToken<'a> {
    /// Its id.
    pub id: u32,
    /// Its name in the templates, which is its text as a rule.
    pub name: Spelling<'a>,
}

/// What one or two texts become.
pub type Template = heapless::Vec<TemplateItem, MOST_ITEMS>;

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateItem {
    /// What stands there.
    pub part: TemplatePart,
    /// The type of its tokens.
    pub kind: u8,
}

/// What stands in a place of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// The tokens of the first text.
    First,
    /// The tokens of the second text.
    Second,
    /// A token, by its place in [`PostProcessor::special`].
    Special(u8),
}

impl Default for PostProcessor<'_> {
    /// Nothing is added.
    fn default() -> Self {
        let mut this =
            Self { special: heapless::Vec::new(), single: Template::new(), pair: Template::new() };
        let item = |part, kind| TemplateItem { part, kind };
        // There is room for them.
        let _ = this.single.push(item(TemplatePart::First, 0));
        let _ = this.pair.push(item(TemplatePart::First, 0));
        let _ = this.pair.push(item(TemplatePart::Second, 1));
        this
    }
}

impl<'a> PostProcessor<'a> {
    /// The processor that puts these tokens around and between texts, as BERT and its relatives do:
    /// one before texts, one after each of them, and, unless tokens have `types`, one more before the
    /// second text.
    #[must_use]
    pub fn around(
        first: Option<SpecialToken<'a>>,
        last: Option<SpecialToken<'a>>,
        types: bool,
    ) -> Self {
        let mut special = heapless::Vec::new();
        let mut place = |token: Option<SpecialToken<'a>>| {
            let known = special.iter().position(|known| Some(*known) == token);
            let place = known.or_else(|| {
                special.push(token?).ok()?;
                special.len().checked_sub(1)
            });
            place.and_then(|place| u8::try_from(place).ok()).map(TemplatePart::Special)
        };
        let [first, last] = [place(first), place(last)];
        let (a, b) = (Some(TemplatePart::First), Some(TemplatePart::Second));
        let between = last.filter(|_| !types);
        let items = |parts: &[(Option<TemplatePart>, u8)]| {
            let mut template = Template::new();
            for (part, kind) in parts {
                if let Some(part) = *part {
                    // There is room for them.
                    let _ = template.push(TemplateItem { part, kind: *kind });
                }
            }
            template
        };
        let second = u8::from(types);
        Self {
            special,
            single: items(&[(first, 0), (a, 0), (last, 0)]),
            pair: items(&[
                (first, 0),
                (a, 0),
                (last, 0),
                (between, 0),
                (b, second),
                (last, second),
            ]),
        }
    }

    /// The token of a part, if it is one.
    #[must_use]
    pub fn token(&self, part: TemplatePart) -> Option<SpecialToken<'a>> {
        match part {
            TemplatePart::Special(place) => self.special.get(usize::from(place)).copied(),
            _ => None,
        }
    }
}

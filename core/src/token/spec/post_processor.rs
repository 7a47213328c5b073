//! The tokens around texts.

use super::SpelledText;

/// The most parts of a template.
pub const MOST_ITEMS: usize = 16;

/// The most different tokens of the templates of a tokenizer.
pub const MOST_SPECIAL: usize = if cfg!(feature = "small") { 8 } else { 16 };

/// The templates of one text and of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostProcessor<'a> {
    /// The tokens that the templates have.
    pub special: heapless::Vec<SpecialToken<'a>, MOST_SPECIAL>,
    /// The template of one text.
    pub single: Template,
    /// The template of two texts.
    pub pair: Template,
}

/// A token of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialToken<'a> {
    /// Its id.
    pub id: u32,
    /// Its name in the templates, which is its text as a rule.
    pub name: SpelledText<'a>,
}

/// The parts that one or two texts become.
pub type Template = heapless::Vec<TemplateItem, MOST_ITEMS>;

/// A part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateItem {
    /// The content.
    pub part: TemplatePart,
    /// The type of its tokens.
    pub kind: u8,
}

/// The content of a place of a template.
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

    /// The tokens before and after one text, if there is at most one of each.
    #[must_use]
    pub fn ends(&self) -> Option<[Option<SpecialToken<'a>>; 2]> {
        let (mut ends, mut texts) = ([None; 2], 0_usize);
        for item in &self.single {
            if item.part == TemplatePart::First {
                texts = texts.saturating_add(1);
            } else if ends.get_mut(texts)?.replace(self.token(item.part)?).is_some() {
                return None;
            }
        }
        (texts == 1).then_some(ends)
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

//! The generated character tables against an independent source (ICU4X).

use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizer;
use icu_properties::props::{GeneralCategory, WhiteSpace};
use icu_properties::{CodePointMapData, CodePointSetData};
use nanoembed_core::token::Normalization;
use nanoembed_core::token::words::TextWords;
use regex_syntax::hir::{Class, ClassUnicode, HirKind};

/// BERT's basic tokenisation by ICU4X and the original's rules, character by character.
struct Reference {
    nfd: icu_normalizer::DecomposingNormalizerBorrowed<'static>,
    case: icu_casemap::CaseMapperBorrowed<'static>,
    category: icu_properties::CodePointMapDataBorrowed<'static, GeneralCategory>,
    white_space: icu_properties::CodePointSetDataBorrowed<'static>,
}

impl Reference {
    fn new() -> Self {
        Self {
            nfd: DecomposingNormalizer::new_nfd(),
            case: CaseMapper::new(),
            category: CodePointMapData::<GeneralCategory>::new(),
            white_space: CodePointSetData::new::<WhiteSpace>(),
        }
    }

    fn words(&self, text: &str, steps: Normalization) -> Vec<String> {
        let mut clean = String::new();
        for c in text.chars().filter(|&c| !self.is_removed(c)) {
            match c {
                _ if self.white_space.contains(c) => clean.push(' '),
                _ if is_ideograph(c) => clean.extend([' ', c, ' ']),
                _ => clean.push(c),
            }
        }
        if steps.strip_accents {
            clean = self.nfd.normalize(&clean).into_owned();
            clean.retain(|c| self.category.get(c) != GeneralCategory::NonspacingMark);
        }
        if steps.lower_case {
            clean = clean.chars().map(|c| self.lower(c)).collect();
        }
        let mut split = String::new();
        for c in clean.chars() {
            if self.is_punctuation(c) {
                split.extend([' ', c, ' ']);
            } else {
                split.push(c);
            }
        }
        split.split(' ').filter(|word| !word.is_empty()).map(String::from).collect()
    }

    fn is_removed(&self, c: char) -> bool {
        use GeneralCategory::{Control, Format, PrivateUse};
        c == '\u{fffd}'
            || !matches!(c, '\t' | '\n' | '\r')
                && matches!(self.category.get(c), Control | Format | PrivateUse)
    }

    fn is_punctuation(&self, c: char) -> bool {
        use GeneralCategory as G;
        c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
            || matches!(
                self.category.get(c),
                G::ConnectorPunctuation
                    | G::DashPunctuation
                    | G::OpenPunctuation
                    | G::ClosePunctuation
                    | G::InitialPunctuation
                    | G::FinalPunctuation
                    | G::OtherPunctuation
            )
    }

    fn lower(&self, c: char) -> String {
        if c == '\u{130}' { "i\u{307}".into() } else { self.case.simple_lowercase(c).into() }
    }
}

/// As in `tokenizers`, which has 2B920 where the original has 2B820.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF
        | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F | 0x2B920..=0x2CEAF | 0x2F800..=0x2FA1F)
}

/// The characters that a class of `regex-syntax` matches, such as those of a Unicode version and
/// earlier ones.
fn characters(class: &str) -> ClassUnicode {
    match regex_syntax::parse(class).unwrap().into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        other => panic!("{class} is no class but {other:?}"),
    }
}

fn words(text: &str, steps: Normalization) -> Vec<String> {
    let mut words = TextWords::new(text, steps);
    let mut all = Vec::new();
    while let Some(word) = words.next_word() {
        all.push(word.start.to_string());
    }
    all
}

fn is_in(class: &ClassUnicode, c: char) -> bool {
    let after = class.ranges().partition_point(|range| range.start() <= c);
    after > 0 && class.ranges()[after - 1].end() >= c
}

/// A text whose words reveal whether `c` is removed, separates, changes, and its order among marks.
fn probe(c: char) -> String {
    format!("A{c}\u{1D16D}{c}\u{302E}{c}\u{1D165}B")
}

/// Characters whose general category has changed since Unicode 8.0, which the tables use.
const RECATEGORISED: [(char, &str); 7] = [
    ('\u{166D}', "punctuation then, a symbol now"),
    ('\u{1734}', "a non-spacing mark then, a spacing one now"),
    ('\u{1885}', "a letter then, a non-spacing mark now"),
    ('\u{1886}', "a letter then, a non-spacing mark now"),
    ('\u{A9BD}', "a spacing mark then, a non-spacing one now"),
    ('\u{111C9}', "punctuation then, a non-spacing mark now"),
    ('\u{1171E}', "a non-spacing mark then, a spacing one now"),
];

#[test]
fn characters_of_unicode_8_are_normalised_as_by_icu() {
    let reference = Reference::new();
    let of_unicode_8 = characters(r"\p{Age=8.0}");
    let mut differing = Vec::new();
    let mut count = 0;
    for c in ('\0'..=char::MAX).filter(|&c| is_in(&of_unicode_8, c)) {
        let text = probe(c);
        let differs = |steps| words(&text, steps) != reference.words(&text, steps);
        if differs(Normalization::UNCASED) || differs(Normalization::CASED) {
            differing.push(c);
        }
        count += 1;
    }
    // All of Unicode 8.0 except surrogates: characters, controls, private use, noncharacters.
    assert_eq!(count, 120_672 + 65 + 137_468 + 66);
    assert_eq!(differing, RECATEGORISED.map(|(c, _)| c));
}

#[test]
fn younger_characters_are_letters_of_which_only_the_case_is_known() {
    let reference = Reference::new();
    let of_unicode_8 = characters(r"\p{Age=8.0}");
    let of_unicode_16 = characters(r"\p{Age=16.0}");
    let mut with_case = 0;
    for c in ('\0'..=char::MAX).filter(|&c| !is_in(&of_unicode_8, c)) {
        // Data that the tables take from Unicode 17.0, the newest version, is compared with ICU's
        // for characters that both know.
        let lower =
            if is_in(&of_unicode_16, c) { reference.lower(c) } else { c.to_lowercase().collect() };
        with_case += usize::from(!lower.starts_with(c));
        let expected = if is_ideograph(c) {
            vec!["a".into(), lower, "b".into()]
        } else {
            vec![format!("a{lower}b")]
        };
        assert_eq!(words(&format!("A{c}B"), Normalization::UNCASED), expected, "{c:?}");
    }
    assert!(with_case > 200, "scripts with two cases were added in every second version");
}

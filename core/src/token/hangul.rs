//! Hangul syllables are decomposed and composed by arithmetic (the Unicode Standard, section 3.12).

const SYLLABLES: u32 = 0xAC00;
const SYLLABLE_COUNT: u32 = 11_172;
const LEADING: u32 = 0x1100;
const LEADING_COUNT: u32 = 19;
const VOWEL: u32 = 0x1161;
const VOWEL_COUNT: u32 = 21;
const TRAILING: u32 = 0x11A7;
const TRAILING_COUNT: u32 = 28;

/// The two or three letters of a syllable; `None` of what is none.
pub(super) fn letters(c: char) -> Option<[Option<char>; 3]> {
    let index = u32::from(c).checked_sub(SYLLABLES).filter(|index| *index < SYLLABLE_COUNT)?;
    let (pair, trailing) = (index / TRAILING_COUNT, index % TRAILING_COUNT);
    let letter = |first: u32, at: u32| char::from_u32(first.saturating_add(at));
    Some([
        letter(LEADING, pair / VOWEL_COUNT),
        letter(VOWEL, pair % VOWEL_COUNT),
        letter(TRAILING, trailing).filter(|_| trailing > 0),
    ])
}

/// The syllable of two letters, or of a syllable of two and a third letter.
pub(super) fn composed(first: char, second: char) -> Option<char> {
    let (a, b) = (u32::from(first), u32::from(second));
    let within =
        |code: u32, start: u32, count: u32| code.checked_sub(start).filter(|it| *it < count);
    if let (Some(leading), Some(vowel)) =
        (within(a, LEADING, LEADING_COUNT), within(b, VOWEL, VOWEL_COUNT))
    {
        let pair = leading.saturating_mul(VOWEL_COUNT).saturating_add(vowel);
        return char::from_u32(SYLLABLES.saturating_add(pair.saturating_mul(TRAILING_COUNT)));
    }
    let index = within(a, SYLLABLES, SYLLABLE_COUNT)?;
    let trailing = within(b, TRAILING, TRAILING_COUNT)?;
    // The first of the third letters stands for none.
    let is_open = index % TRAILING_COUNT == 0 && trailing > 0;
    char::from_u32(a.saturating_add(trailing)).filter(|_| is_open)
}

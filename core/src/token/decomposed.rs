//! Characters for BERT, without their accents.
//!
//! The data are canonical decompositions of Unicode 9.0, as those of normalisation forms
//! ([`unicode`](super::unicode)) are. These tables take 5.6 kB, and are faster.

use super::decomposed_tables as tables;
use super::hangul;

/// The canonical decomposition of `c` without its non-spacing marks; `'\0'` fills up to three.
///
/// Only for characters whose class says that they decompose.
pub(super) fn without_marks(c: char) -> [char; 3] {
    if let Some(letters) = hangul::letters(c) {
        return letters.map(Option::unwrap_or_default);
    }
    let code = u32::from(c);
    let single = u16::try_from(code).map_or_else(|_| ideograph(code), decomposed_below_10000);
    if let Some(single) = single {
        return [single, '\0', '\0'];
    }
    tables::DECOMPOSED_LONG
        .binary_search_by_key(&code, |&(from, _)| from)
        .ok()
        .and_then(|at| tables::DECOMPOSED_LONG.get(at))
        .map_or([c, '\0', '\0'], |&(_, parts)| parts)
}

fn decomposed_below_10000(code: u16) -> Option<char> {
    let after = tables::DECOMPOSED_RANGES.partition_point(|&(start, _)| start <= code);
    let &(start, index) = tables::DECOMPOSED_RANGES.get(after.checked_sub(1)?)?;
    let at = usize::from(index).wrapping_add(usize::from(code.wrapping_sub(start)));
    let value = *tables::DECOMPOSED.get(at)?;
    if value == 0 { None } else { char::from_u32(u32::from(value)) }
}

fn ideograph(code: u32) -> Option<char> {
    let index = code.checked_sub(tables::IDEOGRAPHS_START)? as usize;
    let value = *tables::IDEOGRAPHS.get(index)?;
    let bits = *tables::IDEOGRAPHS_IN_PLANE_2.get(index / 8)?;
    let plane = u32::from(bits >> (index % 8) & 1) << 17;
    char::from_u32(plane | u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::super::characters::Class;
    use super::super::unicode;
    use super::*;

    #[test]
    fn normalisation_forms_have_the_same_data() {
        let decomposes = |c: &char| {
            matches!(
                Class::from_char(*c),
                Class::PunctuationDecomposed
                    | Class::Decomposed
                    | Class::UpperDecomposed
                    | Class::IdeographDecomposed
            )
        };
        let all = (0..=0x10_FFFF).filter_map(char::from_u32).filter(decomposes);
        for c in all {
            assert_eq!(without_marks(c), unicode::without_marks(c), "{c:?}");
        }
    }
}

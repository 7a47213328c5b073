//! The share of meaning beside words in the score of a passage.

use crate::Passages;
use crate::script::Letters;
use crate::term::may_be_english;

/// The share of meaning, which won on questions to FAQs and on code.
pub const WEIGHT: f32 = 0.7;

/// The same for the built-in model and questions in other languages than English.
const OTHER_LANGUAGES: f32 = 0.3;

/// The same for the built-in model and other scripts than the Latin, of which it knows next to
/// nothing.
const OTHER_SCRIPTS: f32 = 0.1;

/// The share of meaning that the built-in model deserves, which knows English: less than [`WEIGHT`]
/// if the query is in another language, or most letters of it or of the passages in another script
/// than the Latin.
#[must_use]
pub fn weight_of_built_in(query: &str, passages: &impl Passages) -> f32 {
    match () {
        () if !Letters::from_text(query).are_latin() || !passages.are_latin() => OTHER_SCRIPTS,
        () if !may_be_english(query) => OTHER_LANGUAGES,
        () => WEIGHT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_index::tests::index_from;

    #[test]
    fn the_built_in_model_counts_less_where_it_knows_little() {
        for (query, text, expected) in [
            ("how to open a file", "Größe 日本", WEIGHT),
            ("die cast", "123", WEIGHT),
            ("wie kann man die Datei öffnen", "die Datei", OTHER_LANGUAGES),
            ("wie kann man die Datei öffnen", "файл.rs", OTHER_SCRIPTS),
            ("日本語", "a file", OTHER_SCRIPTS),
            ("file", "日本語 a", OTHER_SCRIPTS),
        ] {
            assert_eq!(weight_of_built_in(query, &index_from(&[text])), expected, "{query} {text}");
        }
    }
}

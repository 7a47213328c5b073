//! Words that say nothing about a text's topic, by language.

/// The languages beside English: their words in lower case, and how many of them a query has at
/// least. `die` and `de` are also parts of names.
const OTHERS: [(&[&str], usize); 7] = [
    (GERMAN, 2),
    (FRENCH, 2),
    (ITALIAN, 2),
    (SPANISH, 2),
    (PORTUGUESE, 2),
    (DUTCH, 2),
    (RUSSIAN, 1),
];

const ENGLISH: &[&str] = &[
    "a", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "may", "me", "my", "no", "not", "of", "on", "or", "our",
    "she", "should", "so", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "would", "you", "your",
];

const GERMAN: &[&str] = &[
    "als", "am", "an", "auch", "auf", "aus", "bei", "das", "dass", "dem", "den", "der", "des",
    "die", "ein", "eine", "einem", "einen", "einer", "eines", "er", "es", "für", "haben", "hat",
    "ich", "ihr", "im", "in", "ist", "kann", "man", "mein", "meine", "mit", "muss", "nach",
    "nicht", "noch", "nur", "oder", "sich", "sie", "sind", "so", "über", "um", "und", "uns",
    "unter", "von", "vor", "wann", "warum", "was", "welche", "wenn", "wer", "werden", "wie", "wir",
    "wird", "wo", "zu", "zum", "zur",
];

const FRENCH: &[&str] = &[
    "au", "aux", "avec", "c", "ce", "ces", "cette", "comment", "d", "dans", "de", "des", "du",
    "elle", "en", "est", "et", "il", "ils", "j", "je", "l", "la", "le", "les", "leur", "ma",
    "mais", "mes", "mon", "n", "ne", "nous", "on", "ont", "ou", "où", "par", "pas", "peut", "plus",
    "pour", "pourquoi", "qu", "quand", "que", "quel", "quelle", "qui", "quoi", "s", "sa", "se",
    "ses", "si", "son", "sont", "sur", "un", "une", "vous", "y", "à",
];

const ITALIAN: &[&str] = &[
    "a", "ai", "al", "alla", "anche", "che", "chi", "ci", "come", "con", "cosa", "cui", "da",
    "dal", "dalla", "degli", "dei", "del", "della", "delle", "di", "dove", "e", "gli", "ha", "ho",
    "i", "il", "in", "io", "la", "le", "lo", "ma", "mi", "mio", "nel", "nella", "non", "o", "per",
    "perché", "più", "posso", "quale", "quando", "si", "sono", "su", "sul", "sulla", "un", "una",
    "è",
];

const SPANISH: &[&str] = &[
    "a", "al", "como", "con", "cuando", "cuál", "cómo", "de", "del", "donde", "dónde", "el", "en",
    "es", "está", "esta", "este", "la", "las", "lo", "los", "me", "mi", "más", "no", "o", "para",
    "pero", "por", "puedo", "que", "qué", "se", "ser", "si", "sin", "son", "su", "sus", "un",
    "una", "y", "yo",
];

const PORTUGUESE: &[&str] = &[
    "a", "ao", "as", "com", "como", "da", "das", "de", "do", "dos", "e", "em", "entre", "esta",
    "este", "eu", "mais", "mas", "me", "meu", "minha", "na", "nas", "no", "nos", "não", "o",
    "onde", "os", "ou", "para", "pela", "pelo", "por", "posso", "qual", "quando", "que", "se",
    "ser", "seu", "sua", "são", "um", "uma", "é", "à",
];

const DUTCH: &[&str] = &[
    "aan", "als", "bij", "dat", "de", "deze", "die", "dit", "een", "en", "er", "geen", "het",
    "hoe", "ik", "in", "is", "je", "kan", "kunnen", "maar", "met", "mijn", "naar", "niet", "nog",
    "of", "om", "ook", "op", "over", "te", "tot", "uit", "van", "voor", "waar", "waarom",
    "wanneer", "wat", "we", "welke", "wie", "worden", "wordt", "zijn", "zo",
];

const RUSSIAN: &[&str] = &[
    "а",
    "без",
    "бы",
    "был",
    "была",
    "были",
    "в",
    "во",
    "вот",
    "все",
    "где",
    "да",
    "для",
    "до",
    "его",
    "ее",
    "если",
    "есть",
    "же",
    "за",
    "и",
    "из",
    "или",
    "как",
    "какие",
    "какой",
    "когда",
    "кто",
    "ли",
    "мне",
    "мой",
    "можно",
    "мы",
    "на",
    "не",
    "ни",
    "но",
    "о",
    "об",
    "он",
    "она",
    "они",
    "от",
    "по",
    "под",
    "почему",
    "при",
    "с",
    "со",
    "так",
    "такое",
    "там",
    "то",
    "у",
    "что",
    "чтобы",
    "это",
    "этот",
    "я",
];

/// True unless a text has more stop words of another language than of English.
pub(crate) fn may_be_english(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    StopWords::for_words(words.filter(|word| !word.is_empty())).is_english
}

/// The language of a query as far as its stop words tell it.
pub(super) struct StopWords {
    words: &'static [&'static str],
    is_english: bool,
}

impl StopWords {
    /// The stop words of the language that has most of `words`, the first among equals.
    pub(super) fn for_words<'w>(words: impl Iterator<Item = &'w str> + Clone) -> Self {
        let count =
            |language: &[&str]| words.clone().filter(|word| language.contains(word)).count();
        let mut best = Self { words: ENGLISH, is_english: true };
        let mut most = count(ENGLISH);
        for (words, least) in OTHERS {
            let found = count(words);
            if found > most && found >= least {
                (best, most) = (Self { words, is_english: false }, found);
            }
        }
        best
    }

    pub(super) fn contain(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn the_language_of_a_query_is_that_of_its_stop_words() {
        let kept = |query: &str| {
            let words = query.split(' ');
            let stop = StopWords::for_words(words.clone());
            words.filter(|word| !stop.contain(word)).collect::<Vec<_>>().join(" ")
        };
        for (query, expected) in [
            ("how do i reset my password", "reset password"),
            ("wie kann man die datei öffnen", "datei öffnen"),
            ("comment ouvrir un fichier avec le clavier", "ouvrir fichier clavier"),
            ("как открыть файл", "открыть файл"),
            ("die cast parts", "die cast parts"),
            ("de bruijn index", "de bruijn index"),
        ] {
            assert_eq!(kept(query), expected);
        }
    }
}

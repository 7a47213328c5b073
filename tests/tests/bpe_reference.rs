//! Byte-level BPE against Hugging Face `tokenizers`: see `tools/bpe_reference.py`.

use nanoembed_core::token::bpe::merge::{Join, Word, merge};
use nanoembed_core::token::bpe::{
    Bpe, Merge, MergeScratch, MergeTable, Pattern, PreTokenizer, TokenDecoder,
};
use nanoembed_core::token::{
    AddedRules, AddedTable, AddedToken, Entries, HashVocabulary, LengthPrefix, Vocabulary,
};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data::{self, read};
use serde_json::Value;

/// The contents of a reference file.
struct Reference {
    tokens: Vec<String>,
    merges: Vec<(String, String)>,
    added: Vec<(String, u32)>,
    texts: Vec<(String, Vec<u32>, String)>,
}

fn reference(name: &str) -> Reference {
    parse(&read(&format!("bpe/{name}.json")))
}

fn parse(json: &[u8]) -> Reference {
    let json: Value = serde_json::from_slice(json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let id = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let list = |key: &str| json[key].as_array().unwrap().clone();
    Reference {
        tokens: list("tokens").iter().map(text).collect(),
        merges: list("merges").iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        added: list("added").iter().map(|pair| (text(&pair[0]), id(&pair[1]))).collect(),
        texts: list("texts")
            .iter()
            .map(|it| {
                let ids = it["ids"].as_array().unwrap().iter().map(id).collect();
                (text(&it["text"]), ids, text(&it["decoded"]))
            })
            .collect(),
    }
}

/// The tokens in a file's layout.
fn entries(tokens: &[String]) -> Vec<u8> {
    tokens
        .iter()
        .flat_map(|token| {
            let length = u16::try_from(token.len()).unwrap().to_le_bytes();
            length.into_iter().chain(token.bytes())
        })
        .collect()
}

/// Calls `check` with the tokenizer of a reference file.
fn with_tokenizer(
    reference: &Reference,
    pattern: Pattern,
    check: impl FnOnce(&Bpe<'_>, &HashVocabulary<'_, Entries<'_>>),
) {
    let bytes = entries(&reference.tokens);
    let count = u32::try_from(reference.tokens.len()).unwrap();
    let mut samples = vec![0; Entries::samples_needed(count)];
    let mut slots = vec![0; HashVocabulary::<Entries<'_>>::slots_needed(count)];
    let tokens = Entries::sample(&bytes, 0, count, LengthPrefix::U16, &mut samples).unwrap();
    let vocabulary = HashVocabulary::build(tokens, &mut slots).unwrap();
    let id = |token: &str| vocabulary.find(token.as_bytes()).unwrap().unwrap();
    let merges: Vec<Merge> = reference
        .merges
        .iter()
        .map(|(left, right)| Merge {
            left: id(left),
            right: id(right),
            merged: id(&format!("{left}{right}")),
        })
        .collect();
    let mut slots = vec![0; MergeTable::slots_needed(merges.len())];
    let table = MergeTable::build(&merges, &mut slots).unwrap();
    let spellings: String = reference.added.iter().map(|(text, _)| text.as_str()).collect();
    let mut start = 0;
    let token = |(text, id): &(String, u32)| {
        let token = AddedToken::new(start, text.len(), *id, AddedRules::default()).unwrap();
        start += text.len();
        token
    };
    let mut added: Vec<AddedToken> = reference.added.iter().map(token).collect();
    let added = AddedTable::build(spellings.as_bytes(), &mut added).unwrap();
    check(&Bpe::new(&vocabulary, table, pattern, added).unwrap(), &vocabulary);
}

fn encode(bpe: &Bpe<'_>, text: &str, room: usize) -> Result<(Vec<u32>, usize), Error> {
    let mut symbols = vec![Default::default(); room];
    let mut heap = vec![Default::default(); MergeScratch::heap_needed(room)];
    let mut ids = vec![0; text.len()];
    let found = bpe.encode(text, &mut ids, &mut MergeScratch::new(&mut symbols, &mut heap))?;
    ids.truncate(found.tokens);
    Ok((ids, found.total))
}

/// Checks that ids and texts are those of the reference.
fn check(name: &str, reference: &Reference, pattern: Pattern) {
    assert!(reference.texts.len() > 1000);
    with_tokenizer(reference, pattern, |bpe, vocabulary| {
        for (text, ids, decoded) in &reference.texts {
            let (ours, total) = encode(bpe, text, text.len()).unwrap();
            assert_eq!((&ours, total), (ids, ids.len()), "{name}: {text:?}");
            let (mut out, mut decoder) = (String::new(), TokenDecoder::new());
            let mut add = |piece: &str| {
                out.push_str(piece);
                Ok(())
            };
            for id in ids {
                let mut token = [0; 256];
                let length = vocabulary.token(*id, &mut token).unwrap();
                decoder.token(&token[..length], &mut add).unwrap();
            }
            decoder.finish(&mut add).unwrap();
            assert_eq!(&out, decoded, "{name}");
        }
    });
}

#[test]
fn ids_and_texts_are_those_of_hugging_face() {
    for name in ["gpt-2", "smollm", "llama-bpe"] {
        check(name, &reference(name), PreTokenizer::from_name(name).unwrap().pattern);
    }
}

/// With the vocabulary and merges of SmolLM2 itself.
#[test]
fn ids_of_smollm2_are_those_of_hugging_face() {
    let test = "ids_of_smollm2_are_those_of_hugging_face";
    let Some(path) = data::environment("NANOEMBED_SMOLLM2_TOKENS", test) else { return };
    let reference = parse(&std::fs::read(path).unwrap());
    assert_eq!(reference.tokens.len(), 49_152);
    check("SmolLM2", &reference, Pattern::SmolLm);
}

/// Joins equal parts, and counts the calls.
struct Doubling {
    asked: usize,
}

impl Join for Doubling {
    type Part = u32;

    fn join(&mut self, left: u32, right: u32) -> Option<(u32, u32)> {
        self.asked += 1;
        (left == right).then_some((left, left + 1))
    }
}

#[test]
fn pairs_of_a_word_twice_as_long_are_looked_up_twice_as_often() {
    let asked = |length: usize| {
        let mut symbols = vec![Default::default(); length];
        let mut heap = vec![Default::default(); MergeScratch::heap_needed(length)];
        let mut word = Word { symbols: &mut symbols, heap: &mut heap };
        let mut join = Doubling { asked: 0 };
        let parts = merge(&mut join, std::iter::repeat_n(0, length), &mut word).unwrap();
        assert_eq!(parts.count(), length.count_ones() as usize);
        join.asked
    };
    let (short, long) = (asked(50_000), asked(100_000));
    assert!((50_000..=150_000).contains(&short) && long <= 2 * short + 100, "{short} {long}");
}

#[test]
fn long_words_need_no_more_memory_than_is_said() {
    let reference = reference("gpt-2");
    with_tokenizer(&reference, Pattern::Gpt2, |bpe, _| {
        let text = "they".repeat(25_000);
        let (ids, _) = encode(bpe, &text, text.len()).unwrap();
        assert!(ids.len() <= text.len() / 2);
        let error = encode(bpe, &text, text.len() - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    });
}

#[test]
fn what_does_not_fit_is_counted() {
    let reference = reference("smollm");
    with_tokenizer(&reference, Pattern::SmolLm, |bpe, _| {
        let (mut symbols, mut heap) = ([Default::default(); 16], [Default::default(); 48]);
        let mut scratch = MergeScratch::new(&mut symbols, &mut heap);
        let mut ids = [u32::MAX; 3];
        let found = bpe.encode("12345", &mut ids, &mut scratch).unwrap();
        assert_eq!((found.tokens, found.total), (3, 5));
    });
}

#[test]
fn merges_that_collide_are_refused() {
    let merges: Vec<Merge> = (0..40).map(|right| Merge { left: 1, right, merged: 2 }).collect();
    let error = MergeTable::build(&merges, &mut [0; 80]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    let table = vec![Merge { left: 1, right: 2, merged: 3 }; 9];
    let mut slots = vec![0; MergeTable::slots_needed(9)];
    assert_eq!(MergeTable::build(&table, &mut slots).unwrap().find(1, 2), Some((0, 3)));
}

#[test]
fn more_memory_than_needed_changes_nothing() {
    let merges: Vec<Merge> =
        (0..50).map(|left| Merge { left, right: left + 1, merged: left + 100 }).collect();
    let mut slots = vec![0; MergeTable::slots_needed(merges.len()) + 64];
    let longest_probe = MergeTable::build(&merges, &mut slots).unwrap().longest_probe();
    let table = MergeTable::resume(&merges, &slots, longest_probe);
    for (rank, merge) in (0..).zip(&merges) {
        assert_eq!(table.find(merge.left, merge.right), Some((rank, merge.merged)));
    }
}

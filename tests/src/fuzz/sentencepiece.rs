//! SentencePiece over any model and any text.

use std::collections::HashSet;

use nanoembed_core::owned::{PieceSession, SentencePieceModel};
use nanoembed_core::token::AddedTable;
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::token::sentencepiece::{Algorithm, PieceKind, PieceScratch};

use crate::sentencepiece_reference::Reference;

/// Asserts properties of every model:
///
/// * nothing panics, whatever the model's bytes, and memory is bounded by their number;
/// * every id is that of a piece, and ids can be decoded;
/// * memory of the stated size suffices.
///
/// For models built from the input, ids must also be those of a simple implementation.
///
/// The first byte chooses the kind of model, the next two are the length of the text; text and
/// model follow.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn sentencepiece(input: &[u8]) {
    let Some(([mode, low, high], rest)) = input.split_first_chunk::<3>() else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (text, model) = rest.split_at(length);
    let text = String::from_utf8_lossy(text);
    match mode & 1 {
        0 => any_model(model, &text),
        _ => made_model(*mode, model, &text),
    }
}

fn any_model(bytes: &[u8], text: &str) {
    if let Ok(model) = SentencePieceModel::open(bytes, 0) {
        if model.tokenizer().needs(text).is_ok() {
            let _ = check(&model, text);
        } else {
            let (mut session, mut ids) = (PieceSession::default(), Vec::new());
            model
                .encode(text, SpecialTokens::AsTokens, &mut session, &mut ids)
                .expect_err("over the limit");
        }
    }
}

/// Returns the ids.
fn check(model: &SentencePieceModel<&[u8]>, text: &str) -> Vec<u32> {
    let tokenizer = model.tokenizer();
    let needs = tokenizer.needs(text).expect("a text that rules do not blow up");
    let mut normalized = vec![0; needs.text];
    let mut symbols = vec![Default::default(); needs.symbols];
    let mut heap = vec![Default::default(); needs.heap];
    let mut steps = vec![Default::default(); needs.steps];
    let mut splits = vec![0; needs.splits];
    let mut scratch =
        PieceScratch::new(&mut normalized, &mut symbols, &mut heap, &mut steps, &mut splits);
    let mut few = [0; 3];
    let found =
        tokenizer.encode(text, &AddedTable::EMPTY, &mut few, &mut scratch).expect("enough memory");
    assert_eq!(found.tokens, found.total.min(3));
    let mut ids = Vec::new();
    model
        .encode(text, SpecialTokens::AsTokens, &mut PieceSession::default(), &mut ids)
        .expect("memory that grows");
    assert_eq!(ids.len(), found.total);
    assert_eq!(ids[..found.tokens], few[..found.tokens]);
    assert!(ids.iter().all(|id| tokenizer.piece(*id).is_some()));
    if !tokenizer.spec().denormalizes {
        model.decode(&ids).expect("ids of the model");
        let all: Vec<u32> = (0..tokenizer.spec().pieces().min(1000)).collect();
        model.decode(&all).expect("ids of the model");
    }
    ids
}

/// A model made of the lines of `bytes`: a byte for the kind, one for the score, the spelling.
fn made_model(mode: u8, bytes: &[u8], text: &str) {
    let mut pieces = vec![("<unk>".to_owned(), 0.0, PieceKind::Unknown)];
    pieces.push(("a".to_owned(), -1.0, PieceKind::Normal));
    let mut spellings: HashSet<String> = pieces.iter().map(|piece| piece.0.clone()).collect();
    let algorithm = if mode & 2 == 0 { Algorithm::Bpe } else { Algorithm::Unigram };
    for line in bytes.split(|byte| *byte == b'\n').take(300) {
        let [kind, score, spelling @ ..] = line else { continue };
        let kind = match kind % 8 {
            0 => PieceKind::Control,
            1 => PieceKind::UserDefined,
            // The treatment of unused pieces depends on the order of merging.
            2 if algorithm == Algorithm::Unigram => PieceKind::Unused,
            _ => PieceKind::Normal,
        };
        let spelling = String::from_utf8_lossy(spelling).replace('_', "▁").replace('\0', "");
        let is_short = (1..100).contains(&spelling.len());
        if is_short && spellings.insert(spelling.clone()) {
            pieces.push((spelling, -f32::from(*score) / 7.0, kind));
        }
    }
    if mode & 4 != 0 {
        pieces.extend((0..=u8::MAX).map(|b| (format!("<0x{b:02X}>"), 0.0, PieceKind::Byte)));
    }
    let reference = Reference {
        pieces,
        algorithm,
        dummy_prefix: mode & 8 == 0,
        suffix: mode & 16 != 0,
        remove_spaces: mode & 32 == 0,
    };
    let bytes = reference.model();
    // Spellings of bytes may be repeated.
    let Ok(model) = SentencePieceModel::open(bytes.as_slice(), 0) else { return };
    // A merge searches all pairs in the reference.
    let mut end = text.len().min(400);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    assert_eq!(check(&model, text), reference.encode(text), "{reference:?} {text:?}");
}

/// Seeds of [`sentencepiece`].
#[must_use]
pub fn sentencepiece_seeds() -> Vec<Vec<u8>> {
    let text = "they  said NewYork ab abab\u{1F600} ▁ é";
    let length = u16::try_from(text.len()).unwrap_or(0).to_le_bytes();
    let seed = |mode: u8, model: &[u8]| [&[mode][..], &length, text.as_bytes(), model].concat();
    let lines = "3\u{5}th\n3\u{4}the\n3\u{6}_th\n1\u{1}New\n3\u{9}ab\n3\u{2}_a\n3\u{7}b_\n2\u{7}ey\n3\u{3}_";
    let made = (0..32).map(|mode| seed(mode << 1 | 1, lines.as_bytes()));
    let trained = crate::data::files("sentencepiece", &["model"]);
    let trained = trained.iter().map(|(_, model)| seed(0, model));
    made.chain(trained).collect()
}

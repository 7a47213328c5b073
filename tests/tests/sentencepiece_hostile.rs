//! Deliberately invalid SentencePiece models, each rejected for the named reason.

use nanoembed_core::owned::{ModelProto, ModelSettings, PieceSession, SentencePieceModel};
use nanoembed_core::token::AddedTable;
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::token::sentencepiece::{
    Algorithm, PieceKind, PieceScratch, SentencePiece, Slot, Spec, Step,
};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::fuzz::{sentencepiece, sentencepiece_seeds};

const SETTINGS: ModelSettings<'_> = ModelSettings {
    algorithm: Algorithm::Unigram,
    byte_fallback: false,
    whitespace_as_suffix: false,
    add_dummy_prefix: true,
    remove_extra_whitespaces: true,
    names: [None; 3],
    rules: &[],
};

/// Bytes of the settings before the pieces, without names and rules.
const SETTINGS_BYTES: usize = 2 + 8 + 2 + 6;

fn model(settings: &ModelSettings<'_>, pieces: &[(&[u8], f32, PieceKind)]) -> Vec<u8> {
    let mut model = ModelProto::new(settings);
    model.piece(b"<unk>", 0.0, PieceKind::Unknown);
    for (spelling, score, kind) in pieces {
        model.piece(spelling, *score, *kind);
    }
    model.finish().expect("memory")
}

fn open(model: &[u8]) -> Result<SentencePieceModel<&[u8]>, Error> {
    SentencePieceModel::open(model, 1000)
}

fn refused(model: &[u8], kind: ErrorKind, offset: usize) {
    let error = open(model).expect_err("a refusal");
    assert_eq!(error, Error::new(1000 + offset as u64, kind));
}

const A: (&[u8], f32, PieceKind) = (b"a", -1.0, PieceKind::Normal);

#[test]
fn a_model_that_says_nothing_is_refused() {
    refused(b"", ErrorKind::BadVocabulary, 0);
    refused(&model(&SETTINGS, &[]), ErrorKind::BadVocabulary, 0);
    open(&model(&SETTINGS, &[A])).unwrap();
}

#[test]
fn a_model_may_be_cut_nowhere_within_a_field() {
    let whole = model(&SETTINGS, &[A, (b"bc", -2.0, PieceKind::Normal)]);
    let fields = [10, SETTINGS_BYTES, SETTINGS_BYTES + 16, SETTINGS_BYTES + 28];
    for cut in 1..whole.len() {
        match open(&whole[..cut]) {
            Ok(_) => assert!(fields.contains(&cut), "{cut}"),
            Err(error) => assert!(
                [ErrorKind::UnexpectedEnd, ErrorKind::BadVocabulary].contains(&error.kind()),
                "{cut}: {error}"
            ),
        }
    }
}

#[test]
fn pieces_are_refused_where_they_lie() {
    let first = SETTINGS_BYTES + 2 + 14;
    let at = first + 2;
    let with = |piece| model(&SETTINGS, &[piece, A]);
    refused(&with((b"", 0.0, PieceKind::Normal)), ErrorKind::BadField, at);
    refused(&with((b"x\xFFy", 0.0, PieceKind::Normal)), ErrorKind::InvalidUtf8, at + 3);
    refused(&with((b"x", f32::NAN, PieceKind::Normal)), ErrorKind::BadField, at + 3);
    refused(&with((b"x", f32::INFINITY, PieceKind::Normal)), ErrorKind::BadField, at + 3);
    refused(&with((b"x\0", 0.0, PieceKind::Normal)), ErrorKind::BadVocabulary, at);
    refused(&with((b"x", 0.0, PieceKind::Unknown)), ErrorKind::BadVocabulary, at);
    // Without byte fallback.
    refused(&with((b"<0x0A>", 0.0, PieceKind::Byte)), ErrorKind::BadVocabulary, at);
    refused(&with((&[b'x'; 8000], 0.0, PieceKind::Normal)), ErrorKind::BadField, at + 1);
    open(&with((&[b'x'; 7999], 0.0, PieceKind::Normal))).unwrap();
    // The second of two equal spellings.
    refused(&with((b"a", 0.0, PieceKind::UserDefined)), ErrorKind::BadVocabulary, at + 12);
}

#[test]
fn a_type_that_there_is_not_and_fields_of_other_types_are_refused() {
    // piece "x", type 7; a piece that is a number; a score that is a string.
    for (piece, offset) in [
        (&[0x0A, 5, 0x0A, 1, b'x', 0x18, 7][..], 5),
        (&[0x08, 5], 0),
        (&[0x0A, 5, 0x0A, 1, b'x', 0x12, 0], 5),
        (&[0x0A, 2, 0x0B, 0x0C], 2),
    ] {
        let mut bytes = model(&SETTINGS, &[A]);
        let before = bytes.len();
        bytes.extend(piece);
        refused(&bytes, ErrorKind::BadField, before + offset);
    }
}

#[test]
fn fields_that_nobody_knows_are_passed_over() {
    let mut bytes = model(&SETTINGS, &[A]);
    // 200: a string, 201: a number, 202: eight bytes, 203: four.
    bytes.extend([0xC2, 0x0C, 2, 1, 2, 0xC8, 0x0C, 1, 0xD1, 0x0C, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([0xDD, 0x0C, 0, 0, 0, 0]);
    assert_eq!(open(&bytes).unwrap().tokenizer().spec().pieces(), 2);
}

#[test]
fn models_of_words_and_of_characters_are_not_supported() {
    for kind in [3, 4] {
        let mut bytes = model(&SETTINGS, &[A]);
        let before = bytes.len();
        bytes.extend([0x12, 2, 0x18, kind]);
        refused(&bytes, ErrorKind::UnsupportedTokenizer, before + 2);
    }
}

#[test]
fn byte_fallback_asks_for_all_bytes() {
    let settings = ModelSettings { byte_fallback: true, ..SETTINGS };
    let spelled: Vec<String> = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut pieces = vec![A];
    pieces.extend(spelled.iter().map(|it| (it.as_bytes(), 0.0, PieceKind::Byte)));
    open(&model(&settings, &pieces)).unwrap();
    refused(&model(&settings, &pieces[..256]), ErrorKind::BadVocabulary, 0);
}

/// Rules with one unit: keys that begin with byte `x`.
fn rules(units: &[(usize, u32)], texts: &[u8]) -> Vec<u8> {
    let mut array = [0_u32; 256];
    array[0] = 1 << 10;
    for (at, unit) in units {
        array[*at] = *unit;
    }
    let bytes = array.iter().flat_map(|unit| unit.to_le_bytes());
    1024_u32.to_le_bytes().into_iter().chain(bytes).chain(texts.iter().copied()).collect()
}

#[test]
fn rules_that_lead_out_of_their_trie_are_refused() {
    let with = |rules: &[u8]| {
        let settings = ModelSettings { rules, ..SETTINGS };
        model(&settings, &[A])
    };
    // They follow the trainer's message.
    let at = 2 + 8 + 1;
    for broken in [&[0, 4, 0][..], &[0; 5], &[0, 1, 0, 0, 1, 2], &[0, 4, 0, 0, 1]] {
        assert!(open(&with(broken)).is_err());
    }
    let sound = rules(&[(1 ^ b'x' as usize, u32::from(b'x') | 1 << 8 | 2 << 10)], b"yes\0");
    let value_at = 1 ^ b'x' as usize ^ 2;
    let sound_with_value = |value: u32| {
        rules(
            &[(1 ^ b'x' as usize, u32::from(b'x') | 1 << 8 | 2 << 10), (value_at, 1 << 31 | value)],
            b"yes\0",
        )
    };
    let opened = with(&sound_with_value(1));
    let opened = open(&opened).unwrap();
    let mut ids = Vec::new();
    opened.encode("a", SpecialTokens::AsTokens, &mut PieceSession::default(), &mut ids).unwrap();
    assert_eq!(ids, [0, 1]);
    for broken in [
        sound,
        sound_with_value(4),
        rules(&[(5, 300 << 10)], b"yes\0"),
        rules(&[(0, 0)], b"yes\0"),
        rules(&[], b"no end"),
    ] {
        let error = open(&with(&broken)).map(drop).unwrap_err();
        assert!(error.offset().is_some_and(|offset| offset >= 1000 + at), "{error}");
        assert!([ErrorKind::OutOfBounds, ErrorKind::UnexpectedEnd].contains(&error.kind()));
    }
}

#[test]
fn too_little_memory_is_said() {
    let bytes = model(&SETTINGS, &[A]);
    let spec = Spec::read(&bytes, 0).unwrap();
    let (pieces, slots) = (spec.pieces() as usize, spec.slots_needed().unwrap());
    for (less_pieces, less_slots) in [(1, 0), (0, 1), (0, 0)] {
        let mut pieces = vec![Default::default(); pieces - less_pieces];
        let mut slots = vec![Slot::default(); slots - less_slots];
        let built = SentencePiece::build(&bytes, 0, &mut pieces, &mut slots);
        let kind = built.map(drop).map_err(|error| error.kind());
        let enough = less_pieces + less_slots == 0;
        assert_eq!(kind, if enough { Ok(()) } else { Err(ErrorKind::BufferTooSmall) });
    }
}

#[test]
fn more_memory_than_needed_changes_nothing() {
    let bytes = model(&SETTINGS, &[A, (b"ab", -0.5, PieceKind::Normal)]);
    let spec = Spec::read(&bytes, 0).unwrap();
    let mut pieces = vec![Default::default(); spec.pieces() as usize + 3];
    let mut slots = vec![Slot::default(); spec.slots_needed().unwrap() + 100];
    let built = SentencePiece::build(&bytes, 0, &mut pieces, &mut slots).unwrap();
    let index = built.index();
    let resumed = SentencePiece::resume(&bytes, &pieces, &slots, index);
    assert_eq!(resumed.piece(3), None);
    let (mut text, mut steps) = ([0; 16], [Step::default(); 17]);
    let mut scratch = PieceScratch::new(&mut text, &mut [], &mut [], &mut steps, &mut []);
    let mut ids = [0; 8];
    let found = resumed.encode("abaab", &AddedTable::EMPTY, &mut ids, &mut scratch).unwrap();
    // The added space is unknown.
    assert_eq!(&ids[..found.tokens], [0, 2, 1, 2]);
}

/// A model in which each piece is a prefix of the next, on a text of that letter.
#[test]
fn a_model_made_to_be_slow_comes_to_an_end() {
    for algorithm in [Algorithm::Bpe, Algorithm::Unigram] {
        let spelling = vec![b'a'; 1000];
        let pieces =
            (1..1000_u16).map(|n| (&spelling[..n.into()], -f32::from(n), PieceKind::Normal));
        let bytes = model(&ModelSettings { algorithm, ..SETTINGS }, &pieces.collect::<Vec<_>>());
        let model = open(&bytes).unwrap();
        let mut ids = Vec::new();
        model
            .encode(
                &"a".repeat(20_000),
                SpecialTokens::AsTokens,
                &mut PieceSession::default(),
                &mut ids,
            )
            .unwrap();
    }
}

/// Scores that are reset at every letter, and rules whose trie has a cycle, on a text so long that
/// quadratic work would not finish.
#[test]
fn long_texts_come_to_an_end_whatever_the_model_says() {
    let far = [(&b"a"[..], -200_000.0, PieceKind::Normal), (b"aa", -9e6, PieceKind::Normal)];
    let x = u32::from(b'x');
    let circle = rules(&[(1 ^ x as usize, x | x << 10)], b"\0");
    let circle = ModelSettings { rules: &circle, ..SETTINGS };
    for (bytes, letter, id) in [(model(&SETTINGS, &far), "a", 1), (model(&circle, &[A]), "x", 0)] {
        let model = open(&bytes).unwrap();
        let mut ids = Vec::new();
        model
            .encode(
                &letter.repeat(400_000),
                SpecialTokens::AsTokens,
                &mut PieceSession::default(),
                &mut ids,
            )
            .unwrap();
        assert_eq!((ids[0], *ids.last().unwrap()), (0, id));
    }
}

/// Changes every byte of the small models in turn, to a sample of values.
#[test]
fn models_with_a_changed_byte_are_refused_or_work() {
    for seed in sentencepiece_seeds().iter().filter(|seed| seed[0] == 0) {
        for at in (0..seed.len()).step_by(97) {
            let mut changed = seed.clone();
            changed[at] ^= 1 << (at % 8);
            sentencepiece(&changed);
        }
    }
}

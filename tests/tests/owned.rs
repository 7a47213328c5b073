//! Models that own their memory: their interface beyond computing.

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::{CausalModel, Encoder, FileWeights, TextSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_tests::data;

fn encoder() -> Encoder<FileWeights<Vec<u8>>> {
    Encoder::open(data::read("../../ffi/tests/data/small_bert.weights")).unwrap()
}

#[test]
fn a_session_for_more_than_there_is_memory_is_refused() {
    let encoder = encoder();
    for (tokens, jobs) in [(0, 1), (1, 0), (usize::MAX, 1), (1 << 48, 1), (1 << 40, usize::MAX)] {
        let kind = encoder.session(tokens, jobs).unwrap_err().kind();
        let expected = [ErrorKind::InvalidArgument, ErrorKind::NoMemory];
        assert!(expected.contains(&kind), "{tokens} {jobs} {kind:?}");
    }
}

#[test]
fn jobs_beyond_the_work_take_no_memory() {
    let encoder = encoder();
    let bytes = |jobs| encoder.session(64, jobs).unwrap().bytes();
    assert!(bytes(2) > bytes(1));
    assert_eq!(bytes(usize::MAX), bytes(8.max(encoder.network().config().unwrap().heads.query)));
}

#[test]
fn a_text_has_no_more_tokens_than_the_model_was_made_for_unless_asked() {
    let encoder = encoder();
    let most = encoder.usual_tokens();
    let text = "one two ".repeat(most);
    let mut session = TextSession::default();
    let cut = encoder.encode(&text, most, &mut session).unwrap();
    assert_eq!((cut.ids.len(), cut.truncated), (most, true));
    assert!(cut.total > most);
    let whole = encoder.encode(&text, usize::MAX, &mut session).unwrap();
    assert_eq!((whole.ids.len(), whole.truncated), (cut.total, false));
    assert_eq!(encoder.embed_text(&text).unwrap().len(), encoder.dimensions());
}

#[test]
fn a_model_of_the_other_kind_is_named_as_such() {
    let encoder = |path: &str| Encoder::open(data::read(path)).unwrap_err().error().kind();
    let causal = |path: &str| CausalModel::open(data::read(path)).unwrap_err().kind();
    assert_eq!(encoder("llama/tiny.gguf"), ErrorKind::OtherModel);
    assert_eq!(causal("cases/gguf-mean/model.gguf"), ErrorKind::OtherModel);
    let weights = data::read("../../ffi/tests/data/small_bert.weights");
    assert_eq!(CausalModel::open(weights).unwrap_err().kind(), ErrorKind::OtherModel);
}

#[test]
fn control_tokens_that_a_user_spells_are_text() {
    let model = CausalModel::open(data::read("llama/tiny.gguf")).unwrap();
    let end = model.ends().first().unwrap();
    let spelling = String::from_utf8(model.token(end).unwrap().to_vec()).unwrap();
    let ids = |special| model.tokenize(&format!("a{spelling}b"), special).unwrap();
    assert!(ids(SpecialTokens::AsTokens).contains(&end), "{spelling}");
    assert!(!ids(SpecialTokens::AsText).contains(&end), "{spelling}");
}

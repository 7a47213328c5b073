//! Decoders that skip tokens give the same results as others, wherever a file is cut, truncated or
//! damaged.

use nanoembed_core::event::{Decode, Mode};
use nanoembed_core::format::{amb, embd};
use nanoembed_tests::contract::Checked;
use nanoembed_tests::data;
use nanoembed_tests::events::{Outcome, Owned};
use nanoembed_tests::formats::chunks;
use nanoembed_tests::hostile::each_mutation;
use nanoembed_tests::sources::{by_push, by_slice};

const MODES: [Mode; 2] = [Mode::Lenient, Mode::Strict];
/// Larger files are not damaged at every byte.
const SMALL_BYTES: usize = 4096;

/// A format's decoders with and without tokens, and its test files.
struct Pair<D> {
    with: fn(Mode) -> D,
    without: fn(Mode) -> D,
    files: Vec<(String, Vec<u8>)>,
}

fn amb() -> Pair<amb::AmbDecoder<64>> {
    Pair {
        with: amb::AmbDecoder::new,
        without: |mode| amb::AmbDecoder::new(mode).without_tokens(),
        files: data::files("amb", &["amb"]),
    }
}

fn embd() -> Pair<embd::EmbdDecoder<64>> {
    Pair {
        with: embd::EmbdDecoder::new,
        without: |mode| embd::EmbdDecoder::new(mode).without_tokens(),
        files: data::files("embd", &["weights", "bin"]),
    }
}

fn is_token(event: &Owned) -> bool {
    matches!(event, Owned::Other(text) if text.starts_with("Token "))
}

impl<D: Decode> Pair<D> {
    /// The outcome with tokens, with these removed, and their number.
    fn expected(&self, file: &[u8], mode: Mode) -> (Outcome, usize) {
        let mut whole = by_slice(Checked::new((self.with)(mode)), file, true);
        let all = whole.events.len();
        whole.events.retain(|event| !is_token(event));
        let tokens = all - whole.events.len();
        (whole, tokens)
    }

    fn found(&self, file: &[u8], mode: Mode, cuts: &[usize]) -> Outcome {
        let decoder = Checked::new((self.without)(mode));
        by_push(decoder, chunks(file, cuts), file.len())
    }

    fn cuts_do_not_matter(&self) {
        let mut seen = 0;
        for (name, file) in &self.files {
            let stride = if file.len() <= SMALL_BYTES { 1 } else { file.len() / 256 };
            for mode in MODES {
                let (expected, tokens) = self.expected(file, mode);
                seen += tokens;
                for cut in (0..=file.len()).step_by(stride) {
                    let found = self.found(file, mode, &[cut]);
                    assert_eq!(found, expected, "{name}, {mode:?}, cut at {cut}");
                }
            }
        }
        assert!(seen > 0, "no file has tokens");
    }

    fn errors_are_the_same(&self) {
        for (name, file) in &self.files {
            if file.len() > SMALL_BYTES || self.expected(file, Mode::Lenient).1 == 0 {
                continue;
            }
            for length in 0..file.len() {
                let (expected, _) = self.expected(&file[..length], Mode::Strict);
                let found = self.found(&file[..length], Mode::Strict, &[length / 2]);
                assert_eq!(found, expected, "{name} of {length} bytes");
            }
            each_mutation(file, 0..file.len(), |damaged, at| {
                let (expected, _) = self.expected(damaged, Mode::Lenient);
                let found = self.found(damaged, Mode::Lenient, &[at]);
                assert_eq!(found, expected, "{name} damaged at {at}");
            });
        }
    }
}

#[test]
fn wherever_the_file_is_cut() {
    amb().cuts_do_not_matter();
    embd().cuts_do_not_matter();
}

#[test]
fn whatever_is_wrong_with_it() {
    amb().errors_are_the_same();
    embd().errors_are_the_same();
}

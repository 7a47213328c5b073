//! The C interface, called as from C.

mod causal;
mod memory;
mod model;
mod reading;
#[path = "../../../../ffi/tests/support"]
mod support {
    pub(crate) mod source;
    pub(crate) mod stored;
}
mod tokenizer;
mod words;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::source::nanoembed_source;
use nanoembed_ffi::status::{NANOEMBED_NO_OFFSET, NANOEMBED_OK, nanoembed_error, nanoembed_status};
use nanoembed_tests::data;

use support::source::in_memory;
use support::stored::Stored;

/// The text for tokenizers and models.
const TEXT: &str = "Hello, w\u{f6}rld! [MASK] 12";

/// Any file through every part of the interface: it returns a status with a meaning, at an offset
/// inside the file, and uses no byte beyond the given memory, which sanitisers check.
///
/// The first byte chooses the part, the next the source of the file, and two are options.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn run(input: &[u8]) {
    let Some(([part, place, first, second], file)) = input.split_first_chunk::<4>() else {
        return;
    };
    // In a separate allocation, so that sanitisers see reads beyond its end.
    let file: Box<[u8]> = file.into();
    let source = Source::new(&file, *place);
    let options = [*first, *second];
    let _: Option<()> = match part % 6 {
        0 => model::run(&source, options),
        1 => words::run(&source, options),
        2 => causal::run(&source, options),
        3 => tokenizer::run(&source),
        4 => reading::read(&source, options),
        _ => reading::verify(&source),
    };
}

/// A file in memory or accessed through a callback.
struct Source<'f> {
    file: &'f [u8],
    inner: nanoembed_source,
    /// The callback's context.
    #[allow(dead_code, reason = "the source has a pointer to it")]
    stored: Box<Stored<'f>>,
}

impl<'f> Source<'f> {
    /// The lowest bit of `place` is set for a file accessed through a callback; the others
    /// determine how it reads: few bytes at a time, and failing at one offset.
    fn new(file: &'f [u8], place: u8) -> Self {
        let (is_stored, fails, rest) = (place & 1 != 0, place & 2 != 0, place >> 2);
        let mut stored = Box::new(Stored::new(file, 1 + usize::from(rest) * 16));
        stored.fails_at = if fails { file.len() as u64 * u64::from(rest) / 64 } else { u64::MAX };
        let inner = if is_stored { stored.source() } else { in_memory(file) };
        Self { file, inner, stored }
    }
}

/// The status of a call, whose error is checked.
fn call(
    file: &[u8],
    function: impl FnOnce(*mut nanoembed_error) -> nanoembed_status,
) -> Result<(), nanoembed_status> {
    let mut error = nanoembed_error::default();
    let status = function(&raw mut error);
    if status == NANOEMBED_OK {
        return Ok(());
    }
    check(status);
    assert_eq!(error.status, status);
    let most = file.len().max(TEXT.len()) as u64;
    assert!(error.offset == NANOEMBED_NO_OFFSET || error.offset <= most, "{error:?}");
    assert!(error.name.contains(&0), "a name without an end");
    Err(status)
}

/// Panics for a status without a meaning.
fn check(status: nanoembed_status) {
    let of_core = ErrorKind::ALL.iter().any(|kind| u32::from(kind.code()) == status);
    assert!(of_core || matches!(status, 291..=297 | 901..=906), "status {status}");
}

/// Files for all parts, in memory and through a callback.
#[must_use]
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let mut add = |part: u8, files: Vec<(String, Vec<u8>)>| {
        for (name, file) in files {
            for place in [0, 1 | 63 << 2] {
                let seed = [&[part, place, 3, 1], &file[..]].concat();
                seeds.push((format!("{part}-{place}-{name}"), seed));
            }
        }
    };
    let ours = |endings: &[&str]| data::files("../../ffi/tests/data", endings);
    let models = ours(&["weights"]);
    let causal = ours(&["gguf"]);
    let words = ours(&["fifu"]);
    add(0, models.clone());
    add(1, words.clone());
    add(2, causal);
    add(3, vec![("tiny.gguf".to_owned(), data::read("llama/tiny.gguf"))]);
    add(3, models.clone());
    add(3, data::files("sentencepiece", &["model"]));
    for part in [4, 5] {
        add(part, data::files("gguf", &["gguf"]));
        add(part, data::files("amb", &["amb"]));
        add(part, data::files("uqff", &["uqff"]));
        add(part, words.clone());
        add(part, models.clone());
    }
    seeds.retain(|(_, seed)| seed.len() <= 128 << 10);
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts run to completion on valid files.
    #[test]
    fn honest_files_go_through_every_part() {
        // Miri runs some thousand times slower.
        let most = if cfg!(miri) { 36 << 10 } else { usize::MAX };
        let mut parts = [0; 6];
        for (name, seed) in seeds().into_iter().filter(|(_, seed)| seed.len() < most) {
            run(&seed);
            parts[usize::from(seed[0])] += 1;
            if let [part @ 0..=3, 0, ..] = seed[..] {
                let source = Source::new(&seed[4..], 0);
                let done = match part {
                    0 => model::run(&source, [3, 1]),
                    1 => words::run(&source, [3, 1]),
                    2 => causal::run(&source, [3, 1]),
                    _ => tokenizer::run(&source),
                };
                // Prompts need a heap, and so does a tokenizer described by a `tokenizer.json`.
                let needs_heap = [
                    (0, "default_prompt.weights"),
                    (3, "small_table.weights"),
                    (3, "small_unigram.weights"),
                ];
                let needs_heap = needs_heap.iter().any(|it| it.0 == part && name.ends_with(it.1));
                assert_eq!(done.is_some(), !needs_heap, "{name}");
            }
        }
        assert!(parts.iter().all(|count| *count > 0), "{parts:?}");
    }
}

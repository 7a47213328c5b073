//! The bodies of the fuzz targets: functions of arbitrary bytes that panic when a guarantee is
//! broken.

mod bpe;
mod causal;
mod models;
mod mutations;
mod pipeline;
mod replay;
mod seeds;
mod sentencepiece;
mod small;
mod targets;
mod tokenizer;
mod weights;

use nanoembed_core::Error;
use nanoembed_core::event::Mode;
use nanoembed_core::format::finalfusion::{BrokenUtf8, Finalfusion, FinalfusionDecoder};
use nanoembed_core::words::{Duplicates, IndexOptions, Memory, Words};

use crate::events::Outcome;
use crate::finalfusion as files;
use crate::formats::{FORMATS, FormatUnderTest, Source};

pub use bpe::bpe;
pub use causal::causal;
pub use models::{encoder, folder};
pub use mutations::mutated;
pub use pipeline::pipeline;
pub use replay::replay;
pub use sentencepiece::{sentencepiece, sentencepiece_seeds};
pub use small::{Files, small_model, small_uqff};
pub use targets::{TARGETS, Target};
pub use tokenizer::{tokenizer, tokenizer_seeds};
pub use weights::{blob, blocks, container, gguf, json, weights};

/// All sources agree on any file, wherever it is cut, in both modes; the decoder keeps its
/// contract.
///
/// The first byte chooses the format, the next six the cuts.
///
/// # Panics
///
/// If they disagree.
pub fn decoder(input: &[u8]) {
    let Some(([choice, a, b, c, d, e, f], file)) = input.split_first_chunk::<7>() else { return };
    let format = &FORMATS[usize::from(*choice) % FORMATS.len()];
    let mut cuts = [[a, b], [c, d], [e, f]]
        .map(|pair| usize::from(u16::from_le_bytes(pair.map(|byte| *byte))) % (file.len() + 1));
    cuts.sort_unstable();
    for mode in [Mode::Lenient, Mode::Strict] {
        sources_agree(format, file, mode, &cuts);
    }
}

/// Asserts that every source gives the same outcome for `file`, and returns it.
///
/// # Panics
///
/// If they disagree.
pub fn sources_agree(format: &FormatUnderTest, file: &[u8], mode: Mode, cuts: &[usize]) -> Outcome {
    let slice = (format.run)(file, mode, Source::Slice);
    let push = (format.run)(file, mode, Source::Push(cuts));
    // The push source yields `End` only after the end has been declared.
    assert_eq!(push, slice, "push and slice");
    let seek = (format.run)(file, mode, Source::Seek);
    assert_eq!(seek, slice, "seek and slice");
    let without_data = (format.run)(file, mode, Source::SliceWithoutData);
    assert_eq!(without_data.result, slice.result, "data seen and data passed over");
    let seek = (format.run)(file, mode, Source::SeekWithoutData);
    assert_eq!(seek, without_data, "seek and slice, data passed over");
    slice
}

/// A finalfusion file that opens can be rewritten without a relevant difference, and every word in
/// it, and one that is not, can be looked up and compared with the others, by index and by scan
/// with the same result.
///
/// # Panics
///
/// If any of that fails other than with an error.
pub fn finalfusion(file: &[u8]) {
    let decoder = FinalfusionDecoder::new(Mode::Lenient).broken_utf8(BrokenUtf8::Bytes);
    let Ok(read) = Finalfusion::parse_with(decoder, file) else { return };
    if let Ok(written) = files::rewritten(&read) {
        let layout = read.layout();
        let is_canonical = layout.norms.is_none() || layout.norms_listed;
        let mode = if is_canonical { Mode::Strict } else { Mode::Lenient };
        let decoder = FinalfusionDecoder::new(mode).broken_utf8(BrokenUtf8::Bytes);
        let again = Finalfusion::parse_with(decoder, &written).expect("what we wrote");
        assert!(again.words().eq(read.words()) && again.ngrams().eq(read.ngrams()));
        assert!(again.tensors().map(|t| t.data()).eq(read.tensors().map(|t| t.data())));
        assert_eq!((again.vocabulary(), again.metadata()), (read.vocabulary(), read.metadata()));
    }
    let options = IndexOptions { seed: 1, duplicates: Duplicates::First };
    let layout = *read.layout();
    let Ok(index) = files::index(&Memory(file), &layout, options, &mut []) else { return };
    let words = Words::with_index(Memory(file), layout, index);
    let scan = Words::scan(Memory(file), layout);
    let some = read.words().take(8).filter_map(|word| core::str::from_utf8(word).ok());
    for word in some.chain(["", "word", "\u{65e5}\u{672c}\u{8a9e}"]) {
        let found = files::vector(&words, word);
        let is_bits = |result: &Result<Option<(Vec<f32>, _)>, Error>| {
            let vector = result.as_ref().ok()?.as_ref()?;
            Some(vector.0.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
        };
        let scanned = files::vector(&scan, word);
        if layout.distinct_ngram_indices.is_some() && scanned.is_ok() {
            assert_eq!(is_bits(&found), is_bits(&scanned), "{word:?}");
        }
        if let Ok(Some((vector, _))) = found {
            let _ = files::search(&words, &vector, &[], 3, 0);
            let _ = files::search(&words, &[&vector[..], &vector].concat(), &[0], 3, 0);
        }
    }
    for (row, word) in (0..).zip(read.words()) {
        assert_eq!(words.word(row), Ok(word));
        let first = words.find(word).expect("a lookup").expect("a word of the file");
        assert_eq!(words.word(first), Ok(word));
        assert!(first <= row);
    }
}

//! What the fuzz targets call: functions of arbitrary bytes that panic when a promise is broken.

mod tokenizer;

use nanoembed_core::event::Mode;

use crate::events::Outcome;
use crate::formats::{FORMATS, FormatUnderTest, Source};

pub use tokenizer::tokenizer;

/// All sources agree on any file, wherever it is cut, in both modes; the decoder keeps its contract.
///
/// The first byte chooses the format, the next six the cuts.
///
/// # Panics
///
/// If they do not agree.
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
/// If they do not agree.
pub fn sources_agree(format: &FormatUnderTest, file: &[u8], mode: Mode, cuts: &[usize]) -> Outcome {
    let slice = (format.run)(file, mode, Source::Slice);
    let push = (format.run)(file, mode, Source::Push(cuts));
    // The push source says `End` only when told that there is no more.
    assert_eq!(push, slice, "push and slice");
    let seek = (format.run)(file, mode, Source::Seek);
    assert_eq!(seek, slice, "seek and slice");
    let without_data = (format.run)(file, mode, Source::SliceWithoutData);
    assert_eq!(without_data.result, slice.result, "data seen and data passed over");
    let seek = (format.run)(file, mode, Source::SeekWithoutData);
    assert_eq!(seek, without_data, "seek and slice, data passed over");
    slice
}

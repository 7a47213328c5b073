//! The table of formats for generic test suites.

use nanoembed_core::event::Mode;
use nanoembed_core::format::{amb, embd, finalfusion, gguf, safetensors, uqff};

use crate::contract::Checked;
use crate::events::Outcome;
use crate::{data, sources};

/// A source that passes a file to a decoder.
#[derive(Clone, Copy, Debug)]
pub enum Source<'c> {
    /// All at once.
    Slice,
    /// All at once, data skipped.
    SliceWithoutData,
    /// In chunks that end at these offsets, in rising order.
    Push(&'c [usize]),
    /// With random access.
    Seek,
    /// With random access, data skipped.
    SeekWithoutData,
    /// With random access, one byte at a time.
    SeekByByte,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct FormatUnderTest {
    /// The format's name, which is also that of its folder in `tests/data`.
    pub name: &'static str,
    /// The endings of its files.
    pub endings: &'static [&'static str],
    /// The size of its largest item.
    pub max_item_bytes: usize,
    /// Runs a contract-checking decoder over a file.
    pub run: fn(&[u8], Mode, Source<'_>) -> Outcome,
}

/// All formats.
pub const FORMATS: &[FormatUnderTest] = &[
    FormatUnderTest {
        name: "amb",
        endings: &["amb"],
        max_item_bytes: amb::MAX_ITEM_BYTES,
        run: |file, mode, source| {
            run(Checked::new(amb::AmbDecoder::<64>::new(mode)), amb::MAX_ITEM_BYTES, file, source)
        },
    },
    FormatUnderTest {
        name: "embd",
        endings: &["weights", "bin"],
        max_item_bytes: embd::MAX_ITEM_BYTES,
        run: |file, mode, source| {
            run(
                Checked::new(embd::EmbdDecoder::<64>::new(mode)),
                embd::MAX_ITEM_BYTES,
                file,
                source,
            )
        },
    },
    FormatUnderTest {
        name: "finalfusion",
        endings: &["fifu"],
        max_item_bytes: finalfusion::MAX_ITEM_BYTES,
        run: |file, mode, source| {
            let decoder = Checked::new(finalfusion::FinalfusionDecoder::new(mode));
            run(decoder, finalfusion::MAX_ITEM_BYTES, file, source)
        },
    },
    FormatUnderTest {
        name: "safetensors",
        endings: &["safetensors"],
        max_item_bytes: safetensors::MAX_ITEM_BYTES,
        run: |file, mode, source| {
            let mut entries = [safetensors::Entry::default(); 64];
            let decoder = safetensors::SafetensorsDecoder::new(mode, &mut entries);
            run(Checked::new(decoder), safetensors::MAX_ITEM_BYTES, file, source)
        },
    },
    FormatUnderTest {
        name: "uqff",
        endings: &["uqff"],
        max_item_bytes: uqff::MAX_ITEM_BYTES,
        run: |file, mode, source| {
            let mut entries = [safetensors::Entry::default(); 64];
            let decoder = uqff::UqffDecoder::new(mode, &mut entries);
            run(Checked::new(decoder), uqff::MAX_ITEM_BYTES, file, source)
        },
    },
    FormatUnderTest {
        name: "gguf",
        endings: &["gguf"],
        max_item_bytes: gguf::MAX_ITEM_BYTES,
        run: |file, mode, source| {
            let decoder = gguf::GgufDecoder::<64>::new(mode);
            run(Checked::new(decoder), gguf::MAX_ITEM_BYTES, file, source)
        },
    },
];

impl FormatUnderTest {
    /// The test files of this format.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        data::files(self.name, self.endings)
    }
}

fn run(
    decoder: impl nanoembed_core::event::Decode,
    max_item_bytes: usize,
    file: &[u8],
    source: Source<'_>,
) -> Outcome {
    // No more than the file's size is ever needed, and clearing large buffers would dominate small
    // files.
    let max_item_bytes = max_item_bytes.min(file.len());
    match source {
        Source::Slice => sources::by_slice(decoder, file, true),
        Source::SliceWithoutData => sources::by_slice(decoder, file, false),
        Source::Push(cuts) => sources::by_push(decoder, chunks(file, cuts), max_item_bytes),
        Source::Seek => sources::by_seek(decoder, file, max_item_bytes, true).0,
        Source::SeekWithoutData => sources::by_seek(decoder, file, max_item_bytes, false).0,
        Source::SeekByByte => {
            sources::by_seek(decoder, sources::OneByte(file), max_item_bytes, true).0
        }
    }
}

/// The parts of `file` between increasing cuts.
pub fn chunks<'a>(file: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let ends = cuts.iter().copied().chain([file.len()]);
    ends.scan(0, move |start, end| {
        let chunk = &file[*start..end];
        *start = end;
        Some(chunk)
    })
}

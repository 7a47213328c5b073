//! Every format through every source: cuts do not matter, truncation is found at the same byte,
//! hostile fields never cause panics.

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_tests::events::Owned;
use nanoembed_tests::formats::{FORMATS, Source};
use nanoembed_tests::fuzz::sources_agree;
use nanoembed_tests::hostile::each_mutation;
use proptest::prelude::*;

/// Files up to this size are cut at every byte.
const SMALL_BYTES: usize = 4096;

#[test]
fn every_single_cut_gives_the_same_events() {
    for format in FORMATS {
        for (name, file) in format.files() {
            // Every byte of a small file, some hundreds of a large one.
            let stride = if file.len() <= SMALL_BYTES { 1 } else { file.len() / 256 };
            for mode in [Mode::Lenient, Mode::Strict] {
                let whole = (format.run)(&file, mode, Source::Slice);
                for cut in (0..=file.len()).step_by(stride) {
                    let cut_once = (format.run)(&file, mode, Source::Push(&[cut]));
                    assert_eq!(cut_once, whole, "{name}, {mode:?}, cut at {cut}");
                }
            }
        }
    }
}

#[test]
fn byte_by_byte_gives_the_same_events() {
    for format in FORMATS {
        for (name, file) in format.files() {
            let whole = (format.run)(&file, Mode::Strict, Source::Slice);
            let cuts: Vec<_> = (0..file.len()).collect();
            assert_eq!(
                (format.run)(&file, Mode::Strict, Source::Push(&cuts)),
                whole,
                "{name} pushed"
            );
            assert_eq!((format.run)(&file, Mode::Strict, Source::SeekByByte), whole, "{name} read");
        }
    }
}

#[test]
fn truncation_at_every_byte_gives_the_same_error_from_all_sources() {
    for format in FORMATS {
        for (name, file) in format.files().into_iter().filter(|(_, file)| file.len() <= SMALL_BYTES)
        {
            let whole = (format.run)(&file, Mode::Strict, Source::Slice);
            if whole.result.is_err() {
                continue;
            }
            for length in 0..file.len() {
                let outcome = sources_agree(format, &file[..length], Mode::Strict, &[length / 2]);
                let error = outcome.result.expect_err("a truncated file");
                assert_eq!(error.kind(), ErrorKind::UnexpectedEnd, "{name} cut to {length}");
                assert!(error.offset().is_some_and(|offset| offset <= length as u64));
            }
        }
    }
}

#[test]
fn trailing_bytes_are_refused_in_strict_mode() {
    for format in FORMATS {
        for (name, mut file) in format.files() {
            if (format.run)(&file, Mode::Strict, Source::Slice).result.is_err() {
                continue;
            }
            let length = file.len();
            file.push(0);
            let outcome = sources_agree(format, &file, Mode::Strict, &[length]);
            let error = outcome.result.expect_err("a byte too many");
            assert_eq!(
                (error.kind(), error.offset()),
                (ErrorKind::TrailingBytes, Some(length as u64)),
                "{name}"
            );
        }
    }
}

#[test]
fn a_mutated_field_never_panics_and_all_sources_agree() {
    for format in FORMATS {
        // The data's bytes are never read, so changing them has no effect.
        for (name, file) in format.files().into_iter().filter(|(_, file)| file.len() <= SMALL_BYTES)
        {
            // Files that differ only in their padding give the same results.
            if name.contains("_pad") && !name.ends_with("_pad0.fifu") {
                continue;
            }
            let data = data_offsets(&(format.run)(&file, Mode::Lenient, Source::Slice).events);
            let places = (0..file.len()).filter(|at| !data.iter().any(|run| run.contains(at)));
            each_mutation(&file, places, |mutated, at| {
                sources_agree(format, mutated, Mode::Lenient, &[at]);
            });
        }
    }
}

fn data_offsets(events: &[Owned]) -> Vec<std::ops::Range<usize>> {
    events
        .iter()
        .filter_map(|event| match event {
            Owned::Data { offset, bytes } => {
                let start = usize::try_from(*offset).ok()?;
                Some(start..start + bytes.len())
            }
            Owned::Document { .. } | Owned::Other(_) => None,
        })
        .collect()
}

#[test]
fn every_format_has_a_good_file_and_a_bad_one() {
    for format in FORMATS {
        let results: Vec<_> = format
            .files()
            .iter()
            .map(|(_, file)| (format.run)(file, Mode::Strict, Source::Slice).result)
            .collect();
        assert!(results.iter().any(Result::is_ok) && results.iter().any(Result::is_err));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_cuts_give_the_same_events(mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        for format in FORMATS {
            for (name, file) in format.files() {
                let mut places: Vec<_> = cuts.iter_mut().map(|cut| cut.index(file.len() + 1)).collect();
                places.sort_unstable();
                let whole = (format.run)(&file, Mode::Lenient, Source::Slice);
                let pushed = (format.run)(&file, Mode::Lenient, Source::Push(&places));
                prop_assert_eq!(pushed, whole, "{}", name);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in prop::collection::vec(any::<u8>(), 0..300)) {
        nanoembed_tests::fuzz::decoder(&input);
        nanoembed_tests::fuzz::json(&input);
        nanoembed_tests::fuzz::weights(&input);
        nanoembed_tests::fuzz::blocks(&input);
    }
}

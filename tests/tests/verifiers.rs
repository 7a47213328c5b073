//! Verifiers read every byte, however a file arrives and whether or not its data is requested: the
//! same result through every source, and a changed byte is found.

use nanoembed_core::event::{Decode, Mode};
use nanoembed_core::format::amb::{Amb, AmbPlan, AmbTensorSpec, CHECKSUM};
use nanoembed_core::format::{amb, embd};
use nanoembed_core::tensor::{Dtype, Shape};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::amb::write;
use nanoembed_tests::data;
use nanoembed_tests::formats::chunks;
use nanoembed_tests::sources::{by_push, by_seek, by_slice};

/// The result of a verifier on a file through every source.
fn verdict<D: Decode>(
    verifier: impl Fn() -> D,
    file: &[u8],
    item_bytes: usize,
) -> Result<(), Error> {
    assert_eq!(verifier().skippable(), 0);
    assert_eq!(verifier().skip(u64::MAX), 0, "every byte counts");
    let whole = by_slice(verifier(), file, true);
    for cuts in [vec![1], vec![file.len() / 2], vec![file.len().saturating_sub(1)]] {
        let pushed = by_push(verifier(), chunks(file, &cuts), item_bytes);
        assert_eq!(pushed, whole, "{cuts:?}");
    }
    let (read, bytes) = by_seek(verifier(), file, item_bytes, true);
    assert_eq!(read, whole);
    assert!(read.result.is_err() || bytes == file.len() as u64);
    let without = by_slice(verifier(), file, false);
    assert_eq!(without.result, whole.result, "data that nobody wants");
    let (without, bytes) = by_seek(verifier(), file, item_bytes, false);
    assert_eq!(without.result, whole.result, "data that nobody wants");
    assert!(without.result.is_err() || bytes == file.len() as u64);
    whole.result
}

#[test]
fn a_weights_file_has_one_verdict() {
    let mut with_checksums = 0;
    for (name, file) in data::files("embd", &["weights", "bin"]) {
        for mode in [Mode::Lenient, Mode::Strict] {
            let verifier = || embd::EmbdVerifier::<64>::new(mode);
            let sound = verdict(verifier, &file, embd::MAX_ITEM_BYTES);
            let Ok(view) = embd::Embd::parse(&file, mode) else { continue };
            let Some(tensor) = view.tensors().last() else { continue };
            let header = tensor.header();
            let last = usize::try_from(header.offset + header.bytes).unwrap() - 1;
            let mut changed = file.clone();
            changed[last] ^= 0x10;
            let found = verdict(verifier, &changed, embd::MAX_ITEM_BYTES);
            if let (Ok(()), Err(error)) = (sound, found) {
                assert_eq!(error.kind(), ErrorKind::DataChecksum, "{name}");
                with_checksums += 1;
            }
        }
    }
    assert!(with_checksums >= 2, "{with_checksums}");
}

#[test]
fn an_amb_file_has_one_verdict() {
    // Other programs' files have no checksum: only their structure is verified.
    for (name, file) in data::files("amb", &["amb"]) {
        let verifier = || amb::AmbVerifier::<64>::new(Mode::Lenient);
        let sound = verdict(verifier, &file, amb::MAX_ITEM_BYTES);
        let structure = by_slice(amb::AmbDecoder::<64>::new(Mode::Lenient), &file, true).result;
        assert_eq!(sound.is_ok(), structure.is_ok(), "{name}");
    }
    // One of the project's files: two numbers at its end, after everything that they cover.
    let values = Shape::new(&[16]).unwrap();
    let spec = AmbTensorSpec { name: "w", dtype: Dtype::F32, shape: values, full_blocks: 0 };
    let file = write(AmbPlan::new("{}", &[spec]), &[7; 64]).unwrap();
    let verifier = || amb::AmbVerifier::<64>::new(Mode::Strict);
    assert_eq!(verdict(verifier, &file, amb::MAX_ITEM_BYTES), Ok(()));
    let view = Amb::parse(&file, Mode::Strict).unwrap();
    let headers: Vec<_> = view.tensors().map(|tensor| *tensor.header()).collect();
    let [data, checksum] = headers[..] else { panic!("{headers:?}") };
    assert_eq!((checksum.name, checksum.bytes), (CHECKSUM, 8));
    let at = |offset: u64| usize::try_from(offset).unwrap();
    // Bytes of the data, and of both numbers.
    let bytes = [data.offset, data.offset + 63, checksum.offset + 2, checksum.offset + 6];
    for place in bytes.map(at) {
        let mut changed = file.clone();
        changed[place] ^= 1;
        let expected = Error::new(checksum.offset, ErrorKind::FileChecksum);
        assert_eq!(verdict(verifier, &changed, amb::MAX_ITEM_BYTES), Err(expected), "{place}");
    }
}

/// No checksum covers a tensor after the checksum.
#[test]
fn a_tensor_after_the_checksum_is_refused_where_it_stands() {
    let [pair, one] = [2, 1].map(|elements| Shape::new(&[elements]).unwrap());
    let spec = |name, shape| AmbTensorSpec { name, dtype: Dtype::F32, shape, full_blocks: 0 };
    let specs = [spec(CHECKSUM, pair), spec("after", one)];
    let plan = AmbPlan { checksum: false, ..AmbPlan::new("{}", &specs) };
    let file = write(plan, &[0; 12]).unwrap();
    let view = Amb::parse(&file, Mode::Lenient).unwrap();
    let after = view.tensor("after").unwrap().header().offset;
    let verifier = || amb::AmbVerifier::<64>::new(Mode::Lenient);
    let expected = Error::new(after, ErrorKind::TrailingBytes);
    assert_eq!(verdict(verifier, &file, amb::MAX_ITEM_BYTES), Err(expected));
}

//! AMB and files written without the project: the specification's example, and the output of
//! `tools/amb_fixtures.py`.

use nanoembed_core::event::{Event, Mode, SpecialRole};
use nanoembed_core::format::amb::{
    Amb, AmbDecoder, AmbPlan, AmbTensorSpec, AmbTokenizerKind, AmbTokenizerSpec, AmbVerifier,
    CHECKSUM, Payload,
};
use nanoembed_core::quant::dequantize_weight;
use nanoembed_core::read::Slice;
use nanoembed_core::tensor::{Dtype, Encoding, Shape, TensorView, Weight};
use nanoembed_core::text::json::LexemeKind;
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::amb::write;
use nanoembed_tests::data::{read, read_f32};
use nanoembed_tests::values::bits;

fn weight<'a>(tensor: &TensorView<'a>) -> Weight<'a> {
    let encoding = Encoding::Plain { dtype: tensor.header().dtype, data: tensor.data() };
    Weight::new(tensor.header().shape, encoding).unwrap()
}

fn values(tensor: &TensorView<'_>) -> Vec<f32> {
    let weight = weight(tensor);
    let mut values = vec![0.0; usize::try_from(weight.elements()).unwrap()];
    dequantize_weight(&weight, 0, &mut values).unwrap();
    values
}

#[test]
fn the_specifications_example_files_have_the_values_that_were_written() {
    for name in ["example_writer_fp32_0", "example_writer_fp32_2"] {
        let file = read(&format!("amb/{name}.amb"));
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        let shapes: Vec<Vec<u64>> =
            amb.tensors().map(|tensor| tensor.header().shape.dims().to_vec()).collect();
        assert_eq!(shapes, [vec![8, 4], vec![3], vec![], vec![0, 4], vec![2, 3]], "{name}");
        let architecture = amb.config_value("architecture").unwrap().unwrap();
        assert_eq!(architecture.kind, LexemeKind::String);
        assert!(amb.tokenizer().is_none());
        let all: Vec<Vec<f32>> = amb.tensors().map(|tensor| values(&tensor)).collect();
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [32, 3, 1, 0, 6]);
        // `np.arange` in two orders: rows come first in both.
        let fortran = &all[4];
        assert!(fortran.windows(2).all(|pair| pair[0] < pair[1]), "{fortran:?}");
    }
}

#[test]
fn doubles_that_are_labelled_as_singles_are_refused_at_their_size() {
    let file = read("amb/example_writer_f64_mislabelled.amb");
    let error = Amb::parse(&file, Mode::Lenient).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SizeMismatch);
    let at = usize::try_from(error.offset().unwrap()).unwrap();
    assert_eq!(file[at..at + 8], 24_u64.to_le_bytes());
}

#[test]
fn every_type_dequantises_to_the_reference_values() {
    for name in ["floats", "int8", "int4", "int5", "interleaved", "adaptive", "wordpiece", "bpe"] {
        let file = read(&format!("amb/{name}.amb"));
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        let ours: Vec<f32> = amb.tensors().flat_map(|tensor| values(&tensor)).collect();
        let theirs = read_f32(&format!("amb/{name}.expected.f32"));
        assert_eq!(bits(&ours), bits(&theirs), "{name}");
    }
}

#[test]
fn any_range_of_elements_is_the_same_part_of_all() {
    for name in ["int8", "int4", "int5", "interleaved", "adaptive"] {
        let file = read(&format!("amb/{name}.amb"));
        for tensor in Amb::parse(&file, Mode::Strict).unwrap().tensors() {
            let (weight, all) = (weight(&tensor), values(&tensor));
            for first in 0..all.len() {
                for length in [0, 1, 2, 7, 8, 9, 33, all.len() - first] {
                    let mut part = vec![f32::NAN; length.min(all.len() - first)];
                    dequantize_weight(&weight, first, &mut part).unwrap();
                    assert_eq!(bits(&part), bits(&all[first..][..part.len()]));
                }
            }
            let error = dequantize_weight(&weight, all.len(), &mut [0.0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
    }
}

#[test]
fn tokenizers_come_as_they_were_written() {
    let file = read("amb/wordpiece.amb");
    let amb = Amb::parse(&file, Mode::Strict).unwrap();
    let tokenizer = amb.tokenizer().unwrap();
    assert_eq!(tokenizer.kind(), AmbTokenizerKind::WordPiece);
    assert_eq!(tokenizer.tokens().last(), Some("é".as_bytes()));
    assert_eq!(tokenizer.special(SpecialRole::Classify), Some(2));
    assert_eq!(tokenizer.special(SpecialRole::Mask), Some(4));
    assert_eq!(amb.metadata_value("name").unwrap().unwrap().spelling, "tiny");

    let file = read("amb/bpe.amb");
    let amb = Amb::parse(&file, Mode::Strict).unwrap();
    let tokenizer = amb.tokenizer().unwrap();
    assert_eq!(tokenizer.merges().collect::<Vec<_>>(), [("a", "b"), ("ab", "c")]);
    assert_eq!(tokenizer.tokens().last(), Some(&b"abc"[..]));
    assert_eq!(tokenizer.special(SpecialRole::Pad), None);

    let file = read("amb/sentencepiece.amb");
    let amb = Amb::parse(&file, Mode::Strict).unwrap();
    assert_eq!(amb.tokenizer().unwrap().payload(), b"\x0a\x0b not a model");
}

#[test]
fn special_tokens_come_as_events_where_a_tokenizer_has_them() {
    for (name, known) in
        [("wordpiece", &[(SpecialRole::Classify, 2), (SpecialRole::Mask, 4)][..]), ("bpe", &[])]
    {
        let file = read(&format!("amb/{name}.amb"));
        let mut source = Slice::new(AmbDecoder::<64>::new(Mode::Strict), &file);
        let mut found = Vec::new();
        loop {
            match source.next_event().unwrap() {
                Event::SpecialToken { role, id } => found.push((role, id)),
                Event::End => break,
                _ => {}
            }
        }
        assert!(known.iter().all(|token| found.contains(token)), "{name}: {found:?}");
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        let tokenizer = amb.tokenizer().unwrap();
        for role in SpecialRole::ALL {
            let event = found.iter().find(|token| token.0 == role).map(|token| token.1);
            assert_eq!(event, tokenizer.special(role), "{name}");
        }
    }
}

/// Rewrites what a file holds; without a checksum it is the same file.
#[test]
fn what_is_read_is_written_as_it_was() {
    for name in [
        "floats",
        "int8",
        "int4",
        "int5",
        "interleaved",
        "adaptive",
        "wordpiece",
        "bpe",
        "sentencepiece",
    ]
    .into_iter()
    .chain(["declared_only", "example_writer_fp32_0", "example_writer_fp32_2"])
    {
        let file = read(&format!("amb/{name}.amb"));
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        let tensors: Vec<AmbTensorSpec<'_>> = amb.tensors().map(|tensor| spec(&tensor)).collect();
        let data: Vec<u8> = amb.tensors().flat_map(|tensor| tensor.data().to_vec()).collect();
        let tokenizer = amb.tokenizer();
        let merges: Vec<_> =
            tokenizer.iter().flat_map(nanoembed_core::format::amb::AmbTokenizer::merges).collect();
        let tokens: Vec<_> =
            tokenizer.iter().flat_map(nanoembed_core::format::amb::AmbTokenizer::tokens).collect();
        let tokenizer = tokenizer.map(|tokenizer| AmbTokenizerSpec {
            special: [
                SpecialRole::Classify,
                SpecialRole::Separate,
                SpecialRole::Pad,
                SpecialRole::Unknown,
                SpecialRole::Mask,
            ]
            .map(|role| tokenizer.special(role)),
            payload: match tokenizer.kind() {
                AmbTokenizerKind::Bpe => Payload::Bpe { merges: &merges, tokens: &tokens },
                AmbTokenizerKind::WordPiece => Payload::WordPiece(&tokens),
                AmbTokenizerKind::SentencePiece => Payload::SentencePiece(tokenizer.payload()),
                AmbTokenizerKind::Custom => Payload::Custom(tokenizer.payload()),
                other => panic!("{other:?}"),
            },
        });
        let plan = AmbPlan {
            metadata: amb.metadata(),
            config: amb.config(),
            tokenizer,
            tensors: &tensors,
            checksum: false,
        };
        assert_eq!(write(plan, &data).unwrap(), file, "{name}");
        assert_eq!(plan.file_bytes().unwrap(), file.len() as u64);
        check_with_checksum(AmbPlan { checksum: true, ..plan }, &data);
    }
}

fn spec<'a>(tensor: &TensorView<'a>) -> AmbTensorSpec<'a> {
    let header = tensor.header();
    let full_blocks = match header.dtype {
        Dtype::Scaled(codes) => {
            codes.full_blocks(header.shape.elements().unwrap(), header.bytes).unwrap()
        }
        _ => 0,
    };
    AmbTensorSpec { name: header.name, dtype: header.dtype, shape: header.shape, full_blocks }
}

fn verify(file: &[u8]) -> Result<bool, Error> {
    let verified_by = |verifier| {
        let mut slice = Slice::<AmbVerifier<64>>::new(verifier, file);
        while slice.next_event()? != Event::End {}
        Ok(slice.decoder().has_checksum())
    };
    let verified = verified_by(AmbVerifier::new(Mode::Lenient));
    let without = verified_by(AmbVerifier::new(Mode::Lenient).without_tokens());
    assert_eq!(without, verified, "tokens seen and tokens passed over");
    verified
}

fn check_with_checksum(plan: AmbPlan<'_>, data: &[u8]) {
    let mut file = write(plan, data).unwrap();
    assert_eq!(verify(&file), Ok(true));
    let amb = Amb::parse(&file, Mode::Strict).unwrap();
    let stored = values(&amb.tensor(CHECKSUM).unwrap());
    let place = amb.tensor(CHECKSUM).unwrap().header().offset;
    let covered = &file[..usize::try_from(place).unwrap()];
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(covered);
    assert_eq!(stored, [(crc >> 16) as f32, (crc & 0xFFFF) as f32]);
    // Any bit on which the structure does not depend.
    let last = file.len() - 8;
    file[last] ^= 1;
    assert_eq!(verify(&file), Err(Error::new(place, ErrorKind::FileChecksum)));
    file[last] ^= 1;
    if !data.is_empty() {
        let first = Amb::parse(&file, Mode::Strict).unwrap();
        let first = first.tensors().find(|tensor| tensor.header().bytes > 0).unwrap();
        let at = usize::try_from(first.header().offset + first.header().bytes - 1).unwrap();
        file[at] ^= 0x10;
        assert_eq!(verify(&file), Err(Error::new(place, ErrorKind::FileChecksum)));
    }
}

#[test]
fn a_plan_that_the_format_cannot_hold_is_refused() {
    let one = AmbTensorSpec { name: "w", dtype: Dtype::F32, shape: Shape::SCALAR, full_blocks: 0 };
    fn plan<'a>(tensors: &'a [AmbTensorSpec<'a>]) -> AmbPlan<'a> {
        AmbPlan { metadata: "", config: "", tokenizer: None, tensors, checksum: true }
    }
    let refused = |tensors: &[AmbTensorSpec<'_>]| write(plan(tensors), &[0; 8]).unwrap_err().kind();
    assert_eq!(refused(&[one, one]), ErrorKind::DuplicateName);
    assert_eq!(refused(&[AmbTensorSpec { name: CHECKSUM, ..one }]), ErrorKind::DuplicateName);
    assert_eq!(refused(&[AmbTensorSpec { name: "", ..one }]), ErrorKind::InvalidArgument);
    assert_eq!(refused(&[AmbTensorSpec { dtype: Dtype::F64, ..one }]), ErrorKind::UnsupportedDtype);
    let wide = Shape::new(&[1 << 32]).unwrap();
    assert_eq!(refused(&[AmbTensorSpec { shape: wide, ..one }]), ErrorKind::InvalidArgument);
    assert_eq!(refused(&[AmbTensorSpec { full_blocks: 1, ..one }]), ErrorKind::InvalidArgument);
    let special = [Some(0xFFFF), None, None, None, None];
    let tokenizer = Some(AmbTokenizerSpec { special, payload: Payload::Custom(&[]) });
    let error = write(AmbPlan { tokenizer, ..plan(&[]) }, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(write(plan(&[one]), &[0; 3]).unwrap_err().kind(), ErrorKind::SizeMismatch);
    assert_eq!(write(plan(&[one]), &[0; 5]).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

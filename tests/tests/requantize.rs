//! Models in blocks whose linear layers are requantised to bytes when they are opened.

use std::sync::LazyLock;

use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::requantize::COLUMN_SCALES;
use nanoembed_core::model::{InOrder, Layer, LayerInput, Run, SliceWeights, Transformer, Weights};
use nanoembed_core::owned::{Encoder, FileWeights};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::agreement::{Agreement, compare};
use nanoembed_tests::data::DEFAULT_MODEL;
use nanoembed_tests::in_blocks::in_blocks;
use nanoembed_tests::minilm::{WIDTH, config, sentences};

static IN_BLOCKS: LazyLock<Vec<u8>> =
    LazyLock::new(|| in_blocks(&std::fs::read(DEFAULT_MODEL).unwrap(), 0).unwrap());

/// A file with this number of column scales.
fn with_scales(count: usize) -> Vec<u8> {
    in_blocks(&std::fs::read(DEFAULT_MODEL).unwrap(), count).unwrap()
}

fn open(kernels: Kernels) -> Encoder<FileWeights<&'static [u8]>> {
    Encoder::open(IN_BLOCKS.as_slice()).unwrap().with_kernels(kernels).unwrap()
}

fn embed(model: &Encoder<impl Weights + Sync>, count: usize) -> Vec<f32> {
    let texts: Vec<_> = sentences().iter().take(count).map(|text| text.truncated(256)).collect();
    let lengths: Vec<_> = texts.iter().map(Vec::len).collect();
    let mut session = model.session(256, 1).unwrap();
    let mut out = vec![0.0; count * WIDTH];
    model.embed(&mut session, &InOrder, &texts.concat(), &lengths, 0, &mut out).unwrap();
    out
}

fn agreement(model: &Encoder<impl Weights + Sync>, what: &str) -> Agreement {
    let result = compare(embed(model, sentences().len()), 256);
    println!(
        "{what}: cosine min {:.6} mean {:.6}, same neighbour {}",
        result.min_cosine, result.mean_cosine, result.same_neighbour
    );
    result
}

#[test]
fn embeddings_stay_near_the_reference() {
    let mut model = open(kernel::detect());
    assert!(model.plan(1).grouped);
    let before = agreement(&model, "in blocks");
    assert!(before.mean_cosine >= 0.998, "{}", before.mean_cosine);
    model.requantize().unwrap();
    let plan = model.plan(1);
    assert!(plan.quantized && !plan.grouped, "{plan:?}");
    let after = agreement(&model, "requantised");
    assert!(after.mean_cosine >= 0.997, "{}", after.mean_cosine);
    assert!(after.min_cosine >= 0.99, "{}", after.min_cosine);
    assert!(after.same_neighbour >= 95, "{}", after.same_neighbour);
    assert_ne!(before.embeddings, after.embeddings);
    // It is already done.
    model.requantize().unwrap();
    assert_eq!(embed(&model, 3), after.embeddings[..3 * WIDTH]);
}

#[test]
fn every_table_computes_the_same_bits() {
    let mut first = None;
    for kernels in kernel::available() {
        let name = kernels.name;
        let mut model = open(kernels);
        let before = embed(&model, 4);
        model.requantize().unwrap();
        let both = (before, embed(&model, 4));
        assert!(*first.get_or_insert(both.clone()) == both, "{name} computes other bits");
    }
}

#[test]
fn scales_in_the_file_are_taken_instead_of_observing() {
    let file = with_scales(config().scaled_columns());
    let mut model = Encoder::open(file.as_slice()).unwrap();
    model.requantize().unwrap();
    let with_scales = agreement(&model, "with scales");
    assert!(with_scales.mean_cosine >= 0.9975, "{}", with_scales.mean_cosine);
    // They were made from more than 14 words.
    let mut model = open(kernel::detect());
    model.requantize().unwrap();
    let observed = agreement(&model, "observed");
    assert!(with_scales.mean_cosine > observed.mean_cosine);
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    let count = config().scaled_columns();
    for count in [count - 1, 1] {
        let error = Encoder::open(with_scales(count)).unwrap_err().error();
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{count}");
    }
    let file = with_scales(count);
    let place = {
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        usize::try_from(amb.tensor(COLUMN_SCALES).unwrap().header().offset).unwrap()
    };
    for scale in [0.0, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE / 2.0] {
        let mut file = file.clone();
        file[place..place + 4].copy_from_slice(&scale.to_le_bytes());
        let mut model = Encoder::open(file).unwrap();
        assert_eq!(model.requantize().map_err(|error| error.kind()), Err(ErrorKind::BadScale));
        assert!(model.plan(1).grouped);
    }
}

#[test]
fn other_kernels_can_run_what_was_requantised() {
    let mut model = open(kernel::detect());
    model.requantize().unwrap();
    let vectors = embed(&model, 2);
    assert_eq!(embed(&model.clone(), 2), vectors);
    assert_eq!(embed(&model.with_kernels(Kernels::portable()).unwrap(), 2), vectors);
}

#[test]
fn bytes_stay_as_they_are() {
    let file = std::fs::read(DEFAULT_MODEL).unwrap();
    let mut model = Encoder::open(file).unwrap();
    let before = embed(&model, 2);
    model.requantize().unwrap();
    assert_eq!(embed(&model, 2), before);
}

#[test]
fn scales_that_are_no_numbers_are_refused_and_change_nothing() {
    let mut file = IN_BLOCKS.clone();
    let place = {
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        let name = "encoder.layer.3.output.dense.weight";
        usize::try_from(amb.tensor(name).unwrap().header().offset).unwrap()
    };
    file[place..place + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut model = Encoder::open(file).unwrap();
    let error = model.requantize().unwrap_err();
    assert_eq!(error, Error::new(place as u64, ErrorKind::BadScale));
    assert!(model.plan(1).grouped);
}

#[test]
fn too_little_room_is_refused() {
    let amb = Amb::parse(&IN_BLOCKS, Mode::Strict).unwrap();
    let weights =
        SliceWeights::new(&IN_BLOCKS, |name| amb.tensor(name).map(|tensor| *tensor.header()));
    let kernels = kernel::detect();
    let run = Run::new(&weights, &kernels);
    let open =
        || Transformer::open(&weights, *config(), vec![Layer::EMPTY; config().layers]).unwrap();
    let (floats, bytes) = (open().requantizing_floats(), open().requantized_bytes());
    let mut rms = vec![1.0; config().scaled_columns()];
    let (mut scratch, mut memory) = (vec![0.0; floats], vec![0; bytes]);
    let weights_and_scales = 6 * 12 * 384 * (384 + 4);
    assert_eq!(bytes, weights_and_scales + 6 * (2 * 384 + 1536) * 4);
    let kind = |rms: &[f32], scratch: &mut [f32], memory: &mut [u8]| {
        let mut columns = rms.to_vec();
        let scales = open().column_scales(&run, &mut columns, scratch);
        let coded = scales.and_then(|()| open().requantize(&run, &columns, scratch, memory));
        coded.map_err(|error| error.kind())
    };
    let too_small = Err(ErrorKind::BufferTooSmall);
    assert_eq!(kind(&rms[1..], &mut scratch, &mut memory), too_small);
    assert_eq!(kind(&rms, &mut scratch[1..], &mut memory), too_small);
    assert_eq!(kind(&rms, &mut scratch, &mut memory[1..]), too_small);
    assert_eq!(kind(&rms, &mut scratch, &mut memory), Ok(()));
    let last = LayerInput::Output.columns(&config(), 5).unwrap();
    assert_eq!(last.end, rms.len());
    rms[last].fill(f32::INFINITY);
    assert_eq!(kind(&rms, &mut scratch, &mut memory), Err(ErrorKind::BadScale));
}

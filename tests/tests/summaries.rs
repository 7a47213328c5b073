//! Row summaries of 8-bit weights, computed once per model.

use nanoembed_core::error::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::kernel::{self, Kernels, RowSummary};
use nanoembed_core::model::{Layer, SliceWeights, Transformer, Weights, summaries};
use nanoembed_core::source::stored::StoredWeights;
use nanoembed_core::tensor::TensorHeader;
use nanoembed_tests::data::DEFAULT_MODEL;
use nanoembed_tests::minilm::config;

/// Rows of the model's linear layers, those of the second feed-forward layer in four groups of
/// columns.
const SUMMARIES: usize = 6 * (4 * 384 + 1536 + 4 * 384);

fn open(weights: &impl Weights) -> Transformer<Vec<Layer>> {
    Transformer::open(weights, *config(), vec![Layer::EMPTY; config().layers]).unwrap()
}

/// A table that needs summaries.
fn wanting() -> Kernels {
    let last = kernel::available().filter(|table| table.summarize_row.is_some()).last();
    last.unwrap_or_else(|| {
        println!("skipped in part: no table of this CPU wants summaries");
        Kernels { summarize_row: Some(|_| RowSummary::EMPTY), ..Kernels::portable() }
    })
}

fn with_model(check: impl Fn(&[u8], &dyn Fn(&str) -> Option<TensorHeader<'static>>)) {
    let file = std::fs::read(DEFAULT_MODEL).unwrap();
    let model = Embd::parse(&file, Mode::Strict).unwrap();
    check(&file, &|name| {
        let header = *model.tensor(name)?.header();
        Some(TensorHeader { name: "", ..header })
    });
}

#[test]
fn summaries_are_those_of_the_rows_from_memory_and_from_storage() {
    with_model(|file, find| {
        let kernels = wanting();
        let in_memory = SliceWeights::new(file, find);
        let bert = open(&in_memory);
        assert_eq!(bert.summaries(&kernels), SUMMARIES);
        assert_eq!(summaries(&in_memory, &config(), &kernels), Ok(SUMMARIES));
        let mut all = vec![RowSummary::EMPTY; SUMMARIES];
        bert.summarize(&in_memory, &kernels, &mut [], &mut all).unwrap();

        // The last ones belong to the last 384 of 1536 columns of the last layer.
        let last = in_memory.matrix("encoder.layer.5.output.dense.weight").unwrap().unwrap();
        let start = usize::try_from(last.offset).unwrap();
        let codes = &file[start..start + 384 * 1536];
        let summarize_row = kernels.summarize_row.unwrap();
        let of_rows = codes.chunks(1536).map(|row| summarize_row(&row[3 * 384..]));
        assert!(of_rows.eq(all[SUMMARIES - 384..].iter().copied()));

        let stored = StoredWeights::new(file, find);
        let mut again = vec![RowSummary::EMPTY; SUMMARIES];
        bert.summarize(&stored, &kernels, &mut [0; 1536], &mut again).unwrap();
        assert_eq!(all, again);
    });
}

#[test]
fn too_little_room_is_refused() {
    with_model(|file, find| {
        let kernels = wanting();
        let (in_memory, stored) = (SliceWeights::new(file, find), StoredWeights::new(file, find));
        let bert = open(&in_memory);
        let mut all = vec![RowSummary::EMPTY; SUMMARIES];
        let short = &mut all[1..];
        let error = bert.summarize(&in_memory, &kernels, &mut [], short).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
        let error = bert.summarize(&stored, &kernels, &mut [0; 383], &mut all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    });
}

#[test]
fn tables_that_want_none_get_none() {
    with_model(|file, find| {
        let kernels = Kernels { summarize_row: None, ..Kernels::portable() };
        let weights = SliceWeights::new(file, find);
        let bert = open(&weights);
        assert_eq!(bert.summaries(&kernels), 0);
        assert_eq!(summaries(&weights, &config(), &kernels), Ok(0));
        bert.summarize(&weights, &kernels, &mut [], &mut []).unwrap();
    });
}

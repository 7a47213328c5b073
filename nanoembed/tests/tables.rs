//! Tables of texts in, tables with vectors out: interrupted anywhere, and from damaged files.

#![cfg(feature = "parquet")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use nanoembed::tables::{RowSource, Rows, TableForm, TableJob, TableOutput, TableSummary, Tables};
use nanoembed::{Encoder, Error, Kind, Precision, Prefix, Result, Silent};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

const WORDS: [&str; 6] = ["hello", "world", "the", "cat", "sing", "."];

fn encoder() -> Encoder {
    Encoder::open("../ffi/tests/data/small_bert.weights").unwrap()
}

fn text(row: usize) -> Option<String> {
    let words = (0..row * 7 % 5).map(|word| WORDS[(row + word * row) % WORDS.len()]);
    (row % 97 != 5).then(|| words.collect::<Vec<_>>().join(" "))
}

/// A Parquet file with texts of these rows.
fn write_texts(path: &Path, rows: std::ops::Range<usize>) {
    let texts: StringArray = rows.map(text).collect();
    let batch = RecordBatch::try_from_iter([("text", Arc::new(texts) as _)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1111)).build();
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn job(encoder: &Encoder) -> TableJob<'_> {
    TableJob {
        encoder,
        text_column: "text",
        vector_column: "embedding",
        precision: Precision::F32,
        leaves_out: false,
        fails: true,
        lossy: false,
    }
}

fn to_parquet(path: &Path, resume: bool) -> TableOutput {
    TableOutput { path: path.to_owned(), form: TableForm::Parquet, resume }
}

/// Rows that end in an error, as if the process were interrupted there.
struct Interrupted(Tables, u64);

impl RowSource for Interrupted {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn next_rows(&mut self) -> Result<Option<Rows>> {
        if self.1 == 0 {
            return Err(Error::bad_input("interrupted"));
        }
        let rows = self.0.next_rows()?;
        let count = rows.as_ref().map_or(0, Rows::len);
        self.1 = self.1.saturating_sub(count as u64);
        Ok(rows)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.0.skip(count)
    }

    fn put_back(&mut self, rows: Rows) {
        self.1 += rows.len() as u64;
        self.0.put_back(rows);
    }

    fn total(&self) -> Option<u64> {
        self.0.total()
    }

    fn fingerprint(&self) -> Option<u32> {
        self.0.fingerprint()
    }
}

/// Two files, and what comes of them at a stretch.
struct Whole {
    folder: TempDir,
    encoder: Encoder,
    inputs: [PathBuf; 2],
    bytes: Vec<u8>,
}

impl Whole {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let inputs = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
        write_texts(&inputs[0], 0..3001);
        write_texts(&inputs[1], 3001..9500);
        let encoder = encoder();
        let target = folder.path().join("whole.parquet");
        let mut this = Self { folder, encoder, inputs, bytes: Vec::new() };
        let summary = this.run(&target, false).unwrap();
        assert_eq!((summary.rows, summary.resumed, summary.without.rows), (9500, 0, 98));
        this.bytes = fs::read(target).unwrap();
        this
    }

    fn tables(&self) -> Tables {
        Tables::open(&self.inputs, "text").unwrap()
    }

    fn run(&self, target: &Path, resume: bool) -> Result<TableSummary> {
        job(&self.encoder).run(&mut self.tables(), &to_parquet(target, resume), &Silent)
    }

    /// Runs until as many rows have come as so many batches of 512 have, or all.
    fn interrupt(&self, target: &Path, batches: u64, resume: bool) {
        let mut rows = Interrupted(self.tables(), (batches * 512).min(9500));
        let run = job(&self.encoder).run(&mut rows, &to_parquet(target, resume), &Silent);
        assert_eq!(run.unwrap_err().message(), "interrupted");
        assert!(!target.exists());
    }
}

fn beside(target: &Path) -> [PathBuf; 2] {
    [".unfinished", ".unfinished.groups"]
        .map(|ending| PathBuf::from(format!("{}{ending}", target.display())))
}

#[test]
fn an_interrupted_file_is_continued_to_the_same_bytes() {
    let whole = Whole::new();
    let target = whole.folder.path().join("out.parquet");
    let mut done = Vec::new();
    for batches in [0, 1, 8, 9, 10, 18, 19] {
        whole.interrupt(&target, batches, false);
        let summary = whole.run(&target, true).unwrap();
        assert_eq!(summary.resumed + summary.rows, 9500);
        assert!(fs::read(&target).unwrap() == whole.bytes, "after {batches} batches");
        assert!(beside(&target).iter().all(|file| !file.exists()));
        done.push(summary.resumed);
        // Once more: nothing is done, nothing is written.
        assert!(whole.run(&target, true).unwrap().was_done);
        fs::remove_file(&target).unwrap();
    }
    assert_eq!((done[0], done[6]), (0, 8192));
    // Twice in a row, the second time in what the first had continued.
    whole.interrupt(&target, 10, false);
    whole.interrupt(&target, 10, true);
    assert_eq!(whole.run(&target, true).unwrap().resumed, 8192);
    assert!(fs::read(&target).unwrap() == whole.bytes);
}

#[test]
fn what_was_being_written_at_the_end_is_cut_off() {
    let whole = Whole::new();
    let target = whole.folder.path().join("out.parquet");
    whole.interrupt(&target, 19, false);
    let [data, records] = beside(&target);
    let (data_bytes, record_bytes) = (fs::read(&data).unwrap(), fs::read(&records).unwrap());
    let restored = |data_end: usize, record_end: usize, extra: &[u8]| {
        let _ = fs::remove_file(&target);
        fs::write(&data, [&data_bytes[..data_end], extra].concat()).unwrap();
        fs::write(&records, &record_bytes[..record_end]).unwrap();
        let summary = whole.run(&target, true).unwrap();
        assert!(fs::read(&target).unwrap() == whole.bytes, "{data_end} {record_end}");
        summary.resumed
    };
    // A group without a record, a record that was cut, and a file of groups that was just begun.
    let (data_end, record_end) = (data_bytes.len(), record_bytes.len());
    assert_eq!(restored(data_end, record_end, b"half a group"), 8192);
    assert_eq!(restored(data_end, record_end - 1, b""), 4096);
    assert_eq!(restored(data_end, record_end - 700, b"more"), 4096);
    for end in [0, 1, 20, 60] {
        assert_eq!(restored(data_end, end, b""), 0, "{end}");
    }
    // The other way round, which only a failing disk brings about: the group is made once more.
    assert_eq!(restored(data_end - 1, record_end, b""), 4096);
    assert_eq!(restored(0, record_end, b""), 0);
    // A record with a wrong bit counts for nothing, nor does what follows it.
    for at in (record_end - 40..record_end).step_by(7) {
        let _ = fs::remove_file(&target);
        let mut damaged = record_bytes.clone();
        damaged[at] ^= 16;
        fs::write(&data, &data_bytes).unwrap();
        fs::write(&records, damaged).unwrap();
        assert_eq!(whole.run(&target, true).unwrap().resumed, 4096);
        assert!(fs::read(&target).unwrap() == whole.bytes);
    }
}

#[test]
fn another_run_is_not_continued() {
    let whole = Whole::new();
    let target = whole.folder.path().join("out.parquet");
    whole.interrupt(&target, 10, false);
    let output = to_parquet(&target, true);
    let with = |job: TableJob<'_>| job.run(&mut whole.tables(), &output, &Silent).unwrap_err();
    let own = || job(&whole.encoder);
    let said = with(TableJob { precision: Precision::F16, ..own() }).to_string();
    assert!(said.contains("another `dtype`: f32, now f16"), "{said}");
    let said = with(TableJob { leaves_out: true, ..own() }).to_string();
    assert!(said.contains("rows_without_vector"), "{said}");
    let short = Encoder::options().truncate_dim(8).open("../ffi/tests/data/small_bert.weights");
    let short = short.unwrap();
    let said = with(TableJob { encoder: &short, ..own() }).to_string();
    assert!(said.contains("another `"), "{said}");
    // Only the fingerprint tells this model from the other.
    let prompted = whole.encoder.with_prompt(Prefix::Text("query: ".into())).unwrap();
    let said = with(TableJob { encoder: &prompted, ..own() }).to_string();
    assert!(said.contains("another `model_fingerprint`"), "{said}");
    assert!(said.contains(&prompted.fingerprint().unwrap().to_string()), "{said}");
    write_texts(&whole.inputs[1], 3001..9499);
    let said = with(own()).to_string();
    assert!(said.contains("another `input_fingerprint`"), "{said}");
    write_texts(&whole.inputs[1], 3001..9500);
    assert_eq!(whole.run(&target, true).unwrap().resumed, 4096);
    // Nor is a file that is whole taken for what it is not.
    let said = with(TableJob { precision: Precision::Int8, ..own() }).to_string();
    assert!(said.contains("another `dtype`: f32, now int8"), "{said}");
}

#[test]
fn vectors_are_those_of_the_encoder() {
    let whole = Whole::new();
    let target = whole.folder.path().join("out.parquet");
    whole.run(&target, false).unwrap();
    let file = fs::File::open(target).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut row = 0;
    for batch in reader {
        let batch = batch.unwrap();
        let vectors = batch["embedding"].as_fixed_size_list();
        let errors = batch["embedding_error"].as_string::<i32>();
        for at in 0..batch.num_rows() {
            let text = text(row);
            assert_eq!(vectors.is_null(at), text.is_none());
            assert_eq!(errors.is_null(at), text.is_some());
            if let Some(text) = text.filter(|_| row % 61 == 0) {
                let vector = vectors.value(at);
                let vector = vector.as_primitive::<Float32Type>().values();
                let expected = whole.encoder.embed(&text).unwrap();
                assert!(vector.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{row}");
            }
            row += 1;
        }
    }
    assert_eq!(row, 9500);
}

#[test]
fn a_table_without_rows_is_one() {
    let folder = TempDir::new().unwrap();
    let (input, target) = (folder.path().join("none.parquet"), folder.path().join("out.parquet"));
    write_texts(&input, 0..0);
    let encoder = encoder();
    for form in [TableForm::Parquet, TableForm::Arrow, TableForm::ArrowStream] {
        let output = TableOutput { path: target.clone(), form, resume: false };
        let mut tables = Tables::open(std::slice::from_ref(&input), "text").unwrap();
        job(&encoder).run(&mut tables, &output, &Silent).unwrap();
        let mut back = Tables::open(std::slice::from_ref(&target), "text").unwrap();
        assert_eq!(back.schema().fields().len(), 5);
        assert!(back.next_rows().unwrap().is_none());
    }
}

/// Reads all rows of a file.
fn read(path: &Path) -> Result<usize> {
    let mut tables = Tables::open(&[path.to_owned()], "text")?;
    let mut count = 0;
    while let Some(rows) = tables.next_lines(&[], false)? {
        count += rows.len();
    }
    Ok(count)
}

#[test]
fn damaged_files_are_errors() {
    let folder = TempDir::new().unwrap();
    for name in ["texts.parquet", "texts.arrow", "texts.arrows"] {
        let path = Path::new("../tests/data/tables").join(name);
        assert_eq!(read(&path).unwrap(), 7);
        let bytes = fs::read(path).unwrap();
        let damaged = folder.path().join(name);
        let mut refused = 0;
        for end in (0..bytes.len()).step_by(41) {
            fs::write(&damaged, &bytes[..end]).unwrap();
            match read(&damaged) {
                Err(error) => {
                    assert_eq!(error.kind(), Kind::BadInput, "{name} {end}: {error}");
                    refused += 1;
                }
                // A stream may end after any of its messages.
                Ok(count) => assert!(name == "texts.arrows" && count < 7, "{name} {end}"),
            }
        }
        assert!(refused > 100, "{name}");
        // Lengths, counts and offsets of any size, all of which have to be looked at first.
        for at in (0..bytes.len()).step_by(13) {
            for byte in [0x7f, 0xff] {
                let mut changed = bytes.clone();
                let end = (at + 3).min(changed.len());
                changed[at..end].fill(byte);
                fs::write(&damaged, changed).unwrap();
                // Some bytes mean nothing. Whatever is wrong is wrong with the file.
                if let Err(error) = read(&damaged) {
                    let is_about_input = matches!(error.code(), 104 | 602 | 603);
                    assert!(is_about_input, "{name} {at} {}: {error}", error.code());
                }
            }
        }
    }
}

#[test]
fn columns_that_cannot_be_used_are_named() {
    let path = PathBuf::from("../tests/data/tables/texts.parquet");
    let open = |column: &str| Tables::open(std::slice::from_ref(&path), column).map(|_| ());
    let missing = open("body").unwrap_err();
    assert_eq!(missing.kind(), Kind::NotFound);
    assert!(missing.hint().unwrap().contains("`id`, `text`, `large`"), "{missing:?}");
    assert!(open("nested").unwrap_err().to_string().contains("not texts"));
    let folder = TempDir::new().unwrap();
    let other = folder.path().join("other.parquet");
    write_texts(&other, 0..3);
    let mixed = Tables::open(&[other, path.clone()], "text").err().unwrap();
    assert!(mixed.to_string().contains("its columns are not those of"), "{mixed}");
    let (encoder, target) = (encoder(), folder.path().join("out.parquet"));
    let taken = TableJob { vector_column: "id", ..job(&encoder) };
    let mut tables = Tables::open(&[path], "text").unwrap();
    let taken = taken.run(&mut tables, &to_parquet(&target, false), &Silent).unwrap_err();
    assert!(taken.to_string().contains("a column `id` already"), "{taken}");
    assert!(!target.exists() && beside(&target).iter().all(|file| !file.exists()));
}

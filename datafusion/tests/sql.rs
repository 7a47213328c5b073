//! Functions in SQL over a Parquet table, against the library and the command line.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::types::Float32Type;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, FixedSizeListArray, Int8Array, RecordBatch, StringArray,
    StringViewArray,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use nanoembed::{Encoder, Role};
use tempfile::TempDir;

const TEXTS: [Option<&str>; 6] = [
    Some("I forgot my login credentials"),
    Some("The cat sleeps on the sofa"),
    None,
    Some(""),
    Some("Where can I choose a new passphrase?"),
    Some("Grüße aus Köln"),
];

fn encoder() -> Encoder {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/tests/data/small_bert.weights");
    Encoder::open(model).unwrap()
}

/// A context with a table `texts` of a Parquet file in `folder`, cut into batches of two rows.
async fn context(encoder: &Encoder, folder: &TempDir) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_batch_size(2));
    nanoembed_datafusion::register(&context, encoder);
    let ids: ArrayRef =
        Arc::new((0..TEXTS.len() as i64).collect::<datafusion::arrow::array::Int64Array>());
    let texts: ArrayRef = Arc::new(StringArray::from(TEXTS.to_vec()));
    let views: ArrayRef = Arc::new(StringViewArray::from(TEXTS.to_vec()));
    let batch =
        RecordBatch::try_from_iter([("id", ids), ("text", texts), ("view", views)]).unwrap();
    let path = folder.path().join("texts.parquet");
    let path = path.to_str().unwrap();
    let table = context.read_batch(batch).unwrap();
    table.write_parquet(path, DataFrameWriteOptions::new(), None).await.unwrap();
    context.register_parquet("texts", path, ParquetReadOptions::default()).await.unwrap();
    context
}

async fn rows(context: &SessionContext, sql: &str) -> RecordBatch {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn vector(array: &ArrayRef, row: usize) -> Option<Vec<f32>> {
    let list = array.as_fixed_size_list();
    let value = list.is_valid(row).then(|| list.value(row))?;
    Some(value.as_primitive::<Float32Type>().values().to_vec())
}

#[tokio::test]
async fn vectors_are_those_of_the_library_and_nulls_have_none() {
    let (encoder, folder) = (encoder(), TempDir::new().unwrap());
    let context = context(&encoder, &folder).await;
    for column in [
        "text",
        "view",
        "arrow_cast(text, 'LargeUtf8')",
        "arrow_cast(text, 'Dictionary(Int32, Utf8)')",
    ] {
        let rows = rows(&context, &format!("SELECT embed({column}) FROM texts ORDER BY id")).await;
        for (row, text) in TEXTS.iter().enumerate() {
            let expected = text.map(|text| encoder.embed(text).unwrap());
            let found = vector(rows.column(0), row);
            let near = |(a, b): (Vec<f32>, Vec<f32>)| {
                a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6)
            };
            assert_eq!(found.is_some(), expected.is_some(), "{column} {row}");
            assert!(found.zip(expected).is_none_or(near), "{column} {row}");
        }
    }
}

#[tokio::test]
async fn sql_ranks_a_table_by_meaning() {
    let (encoder, folder) = (encoder(), TempDir::new().unwrap());
    let context = context(&encoder, &folder).await;
    let question = "I forgot my login credentials";
    let rows = rows(
        &context,
        &format!(
            "SELECT id, cosine(embed(text), embed('{question}')) AS similarity FROM texts
             ORDER BY similarity DESC NULLS LAST"
        ),
    )
    .await;
    let query = encoder.embed(question).unwrap();
    let mut expected: Vec<(i64, f32)> = TEXTS
        .iter()
        .zip(0..)
        .filter_map(|(text, id)| {
            Some((id, nanoembed::cosine(&encoder.embed((*text)?).unwrap(), &query).unwrap()))
        })
        .collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1));
    let ids = rows.column(0).as_primitive::<datafusion::arrow::datatypes::Int64Type>();
    let found: Vec<i64> = ids.values().iter().copied().collect();
    let order: Vec<i64> = expected.iter().map(|(id, _)| *id).chain([2]).collect();
    assert_eq!(found, order);
    let similarities = rows.column(1).as_primitive::<Float32Type>();
    assert!((similarities.value(0) - 1.0).abs() < 1e-5 && similarities.is_null(5));
    for (row, (_, similarity)) in expected.iter().enumerate() {
        assert!((similarities.value(row) - similarity).abs() < 1e-5, "{row}");
    }
}

#[tokio::test]
async fn a_question_is_embedded_after_its_prompt() {
    let model =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/cases/default-prompt/model");
    let encoder = Encoder::open(model).unwrap();
    let context = SessionContext::new();
    nanoembed_datafusion::register(&context, &encoder);
    let rows = rows(&context, "SELECT embed_query('hello'), embed_document('hello')").await;
    let embedded = |role| encoder.embed_all_as(role, &["hello"]).unwrap().0.into_values();
    let (query, document) = (embedded(Role::Query), embedded(Role::Document));
    assert_ne!(query, document);
    assert_eq!(vector(rows.column(0), 0), Some(query));
    assert_eq!(vector(rows.column(1), 0), Some(document));
}

#[tokio::test]
async fn what_has_no_vector_or_cosine_is_refused() {
    let (encoder, folder) = (encoder(), TempDir::new().unwrap());
    let context = context(&encoder, &folder).await;
    let short = encoder.with_truncate_dim(8).unwrap();
    context.register_udf(nanoembed_datafusion::embed("short", &short, Role::Text));
    for (sql, said) in [
        ("SELECT embed(id) FROM texts", "takes a text, not Int64"),
        ("SELECT embed(text, text) FROM texts", "one text"),
        ("SELECT cosine(text, text) FROM texts", "takes lists of floats"),
        ("SELECT cosine(embed(text), embed(text), 1) FROM texts", "two vectors"),
        (
            "SELECT cosine(embed(text), short('a')) FROM texts",
            "32 numbers and one of 8 have no cosine",
        ),
    ] {
        let failed = match context.sql(sql).await {
            Ok(frame) => frame.collect().await.err(),
            Err(error) => Some(error),
        };
        let message = failed.map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(said), "{sql}: {message}");
    }
    let rows = rows(&context, "SELECT embed(NULL), cosine(embed('a'), NULL)").await;
    assert!(rows.columns().iter().all(|column| column.is_null(0)));
}

/// As in tables of others: bytes that claim to be texts, in every type, and a text of a megabyte.
#[tokio::test]
async fn broken_texts_have_no_vector_and_do_not_end_the_query() {
    let (encoder, context) = (encoder(), SessionContext::new());
    nanoembed_datafusion::register(&context, &encoder);
    let long = "word ".repeat(200_000);
    let texts: [Option<&[u8]>; 6] = [
        Some(b"a good text"),
        Some(b"\xff\xfe"),
        None,
        Some(b""),
        Some(b"cut \xe2\x82"),
        Some(long.as_bytes()),
    ];
    let column: ArrayRef = Arc::new(BinaryArray::from(texts.to_vec()));
    context
        .register_batch("bytes", RecordBatch::try_from_iter([("text", column)]).unwrap())
        .unwrap();
    for kind in ["Binary", "LargeBinary", "BinaryView", "Dictionary(Int32, Binary)"] {
        let sql = format!("SELECT embed(arrow_cast(text, '{kind}')) FROM bytes");
        let rows = rows(&context, &sql).await;
        for (row, text) in texts.iter().enumerate() {
            let text = text.and_then(|text| std::str::from_utf8(text).ok());
            let expected = text.map(|text| encoder.embed(text).unwrap());
            assert_eq!(vector(rows.column(0), row), expected, "{kind} {row}");
        }
    }
    let rows = rows(&context, "SELECT embed(X'ff'), embed(X'61') = embed('a')").await;
    assert!(rows.column(0).is_null(0) && rows.column(1).as_boolean().value(0));
}

/// As in tables that `nanoembed embed --dtype int8` has written.
#[tokio::test]
async fn codes_of_8_bits_have_cosines_without_their_scales() {
    let context = SessionContext::new();
    context.register_udf(nanoembed_datafusion::cosine());
    let item = Arc::new(Field::new("item", DataType::Int8, true));
    let list = |values: Vec<i8>| -> ArrayRef {
        let values = Arc::new(Int8Array::from(values));
        Arc::new(FixedSizeListArray::new(Arc::clone(&item), 2, values, None))
    };
    let columns = [("a", list(vec![127, 0, 3, 4])), ("b", list(vec![5, 0, -4, 3]))];
    context.register_batch("codes", RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    let rows = rows(&context, "SELECT cosine(a, b) FROM codes").await;
    assert_eq!(rows.column(0).as_primitive::<Float32Type>().values()[..], [1.0, 0.0]);
}

/// The program as it lies beside, where someone has built it: `.ci/run datafusion` does.
#[tokio::test]
async fn vectors_are_those_of_the_command_line() {
    let Some(program) = std::env::var_os("NANOEMBED_CLI") else {
        println!(
            "SKIPPED vectors of DataFusion against the command line: NANOEMBED_CLI is not set"
        );
        return;
    };
    let encoder = encoder();
    let context = SessionContext::new();
    nanoembed_datafusion::register(&context, &encoder);
    for text in TEXTS.iter().copied().flatten() {
        let model =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/tests/data/small_bert.weights");
        let run = std::process::Command::new(&program)
            .args(["embed", "-m"])
            .arg(model)
            .arg(text)
            .output()
            .unwrap();
        let line = String::from_utf8(run.stdout).unwrap();
        let expected: Vec<f32> = line.split_whitespace().map(|x| x.parse().unwrap()).collect();
        let rows = rows(&context, &format!("SELECT embed('{text}')")).await;
        assert_eq!(vector(rows.column(0), 0), Some(expected), "{text}");
    }
}

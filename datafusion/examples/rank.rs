//! Ranks the rows of a Parquet table by how near a column of texts is to a question:
//! `cargo run --release --example rank -- TABLE COLUMN QUESTION [MODEL]`.

use datafusion::prelude::{ParquetReadOptions, SessionContext};
use nanoembed::Encoder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (table, column, question, model) = match &*arguments {
        [table, column, question] => (table, column, question, None),
        [table, column, question, model] => (table, column, question, Some(model)),
        _ => return Err("usage: rank TABLE COLUMN QUESTION [MODEL]".into()),
    };
    let encoder = match model {
        Some(model) => Encoder::open(model)?,
        None => Encoder::built_in()?,
    };
    let context = SessionContext::new();
    nanoembed_datafusion::register(&context, &encoder);
    context.register_parquet("rows", table, ParquetReadOptions::default()).await?;
    let column = column.replace('"', "\"\"");
    let question = question.replace('\'', "''");
    let sql = format!(
        "SELECT cosine(embed_document(\"{column}\"), embed_query('{question}')) AS similarity, \"{column}\"
         FROM rows ORDER BY similarity DESC NULLS LAST LIMIT 10"
    );
    context.sql(&sql).await?.show().await?;
    Ok(())
}

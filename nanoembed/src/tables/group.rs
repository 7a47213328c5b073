//! Rows that become one row group of the output.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use super::row_bytes::row_bytes;
use super::rows::{RowSource, Rows};
use super::text::TextColumn;
use crate::error::{Error, Result};

/// The most rows of a group. An interruption loses no more than these.
pub(super) const GROUP_ROWS: usize = 4096;

/// A group ends with the row at which its texts reach so many bytes.
const GROUP_BYTES: usize = 16 << 20;

/// The same of all columns together: columns beside texts may be much longer than they are.
const GROUP_MEMORY: usize = 1 << 27;

/// Bytes of the rows of a group so far.
#[derive(Default)]
struct Taken {
    texts: usize,
    columns: usize,
}

impl Taken {
    const fn is_full(&self) -> bool {
        self.texts >= GROUP_BYTES || self.columns >= GROUP_MEMORY
    }
}

/// The origin of some rows of a group.
#[derive(Debug)]
pub(super) struct Origin {
    /// The group's first row that comes from there.
    start: usize,
    name: Arc<str>,
    first: u64,
}

/// Rows of the input, all columns.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) batch: RecordBatch,
    /// The reasons that texts of rows could not be read; no more of them than rows.
    pub(super) errors: Vec<Option<String>>,
    origins: Vec<Origin>,
}

impl Group {
    /// The next rows of `source`; `None` at the end. The rows alone decide where a group ends,
    /// however they come.
    pub(super) fn next(source: &mut dyn RowSource, text_column: usize) -> Result<Option<Self>> {
        let (mut count, mut bytes) = (0, Taken::default());
        let (mut batches, mut errors, mut origins) = (Vec::new(), Vec::new(), Vec::new());
        while count < GROUP_ROWS && !bytes.is_full() {
            let Some(mut rows) = source.next_rows()? else { break };
            let fitting = fitting(&rows, text_column, GROUP_ROWS - count, &mut bytes)?;
            let mut taken = rows.take(fitting);
            if !rows.is_empty() {
                source.put_back(rows);
            }
            origins.push(Origin {
                start: count,
                name: Arc::clone(&taken.name),
                first: taken.first,
            });
            count += taken.len();
            if taken.errors.iter().any(Option::is_some) {
                errors.resize(count - taken.len(), None);
                errors.append(&mut taken.errors);
            }
            batches.push(taken.batch);
        }
        let Some(first) = batches.first() else { return Ok(None) };
        let batch = match batches.len() {
            1 => first.clone(),
            _ => concat_batches(&first.schema(), &batches).map_err(|error| {
                super::unreadable(origins.first().map_or("", |origin| &origin.name), &error)
            })?,
        };
        Ok(Some(Self { batch, errors, origins }))
    }

    pub(super) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// The file of a row, and its number there, from 1.
    pub(super) fn place(&self, row: usize) -> (&str, u64) {
        let origin = self.origins.iter().rev().find(|origin| origin.start <= row);
        origin.map_or(("", 0), |origin| {
            (&*origin.name, origin.first + (row - origin.start) as u64 + 1)
        })
    }
}

/// The number of `rows` that fit into a group with room for so many that has `bytes`.
fn fitting(rows: &Rows, text_column: usize, room: usize, bytes: &mut Taken) -> Result<usize> {
    let column = rows.batch.columns().get(text_column);
    let texts = column.and_then(TextColumn::from_array);
    let texts = texts.ok_or_else(|| Error::bad_input("no texts").at(&rows.name))?;
    let most = rows.len().min(room);
    for row in 0..most {
        bytes.texts = bytes.texts.saturating_add(texts.len_of(row));
        bytes.columns = bytes.columns.saturating_add(row_bytes(&rows.batch, row));
        if bytes.is_full() {
            return Ok(row + 1);
        }
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::super::rows::LineRows;
    use super::*;

    /// Rows of these lengths in pieces of `piece`.
    struct Pieces(Vec<Rows>);

    impl Pieces {
        fn new(lengths: &[usize], piece: usize) -> Self {
            let mut first = 0;
            let rows = lengths.chunks(piece).map(|lengths| {
                let mut rows = LineRows::new(&["text".into()]);
                for (at, length) in lengths.iter().enumerate() {
                    let error = (first + at == 5).then(|| "five".to_owned());
                    rows.push([Some("x".repeat(*length))], error);
                }
                let rows = rows.finish("pieces", first as u64).unwrap();
                first += rows.len();
                rows
            });
            let mut rows: Vec<Rows> = rows.collect();
            rows.reverse();
            Self(rows)
        }
    }

    impl RowSource for Pieces {
        fn schema(&self) -> arrow_schema::SchemaRef {
            LineRows::new(&["text".into()]).schema()
        }

        fn next_rows(&mut self) -> Result<Option<Rows>> {
            Ok(self.0.pop())
        }

        fn put_back(&mut self, rows: Rows) {
            self.0.push(rows);
        }

        fn total(&self) -> Option<u64> {
            None
        }

        fn fingerprint(&self) -> Option<u32> {
            None
        }
    }

    fn groups(lengths: &[usize], piece: usize) -> Vec<(usize, (String, u64), Vec<usize>)> {
        let mut pieces = Pieces::new(lengths, piece);
        let mut groups = Vec::new();
        while let Some(group) = Group::next(&mut pieces, 0).unwrap() {
            let (name, number) = group.place(group.len() - 1);
            let errors = (0..group.errors.len()).filter(|row| group.errors[*row].is_some());
            groups.push((group.len(), (name.to_owned(), number), errors.collect()));
        }
        groups
    }

    #[test]
    fn groups_end_by_rows_and_bytes_however_rows_come() {
        let mut lengths = vec![1; GROUP_ROWS + 3];
        lengths.extend([GROUP_BYTES - 2, 1, 1, 5, GROUP_BYTES * 2, 7]);
        let last = lengths.len() as u64;
        let expected = groups(&lengths, lengths.len());
        let sizes: Vec<usize> = expected.iter().map(|(size, ..)| *size).collect();
        assert_eq!(sizes, [GROUP_ROWS, 4, 4, 1]);
        assert_eq!(expected[3].1, ("pieces".into(), last));
        assert_eq!(expected[0].2, [5]);
        for piece in [1, 4, 6, 1000] {
            assert_eq!(groups(&lengths, piece), expected, "{piece}");
        }
    }

    #[test]
    fn rows_that_another_run_has_done_are_left_out() {
        for (piece, skipped) in [(3, 4), (1, 6), (100, 7), (2, 0)] {
            let mut pieces = Pieces::new(&[1, 2, 3, 4, 5, 6, 7, 8], piece);
            pieces.skip(skipped).unwrap();
            let group = Group::next(&mut pieces, 0).unwrap().unwrap();
            assert_eq!(group.len() as u64, 8 - skipped);
            assert_eq!(group.place(0).1, skipped + 1);
        }
        assert!(Pieces::new(&[1, 2], 1).skip(3).is_err());
    }
}

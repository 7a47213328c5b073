//! Every count, length, offset, dimension and code in the headers of every format, one at a time,
//! at boundary values: the expected code and offset of each error are in a table, and are the same
//! through every source.
//!
//! The table is `data/hostile/fields.tsv`: format, field, value, and the results of lenient and
//! strict reading, each `ok` or `code@offset`. After an intended change of behaviour, review the
//! new table, which this test writes to the path in its message, and replace the old one.

use std::fmt::Write;

use nanoembed_core::event::Mode;
use nanoembed_tests::data;
use nanoembed_tests::formats::FORMATS;
use nanoembed_tests::fuzz::sources_agree;
use nanoembed_tests::hostile::fields::{Field, Says, fields};

/// The results of both modes, which must be the same from every source.
fn verdicts(format: &str, file: &[u8]) -> [String; 2] {
    let format = FORMATS.iter().find(|it| it.name == format).expect("a format");
    let cuts = [1, file.len() / 3, file.len() / 2, file.len() - 1];
    [Mode::Lenient, Mode::Strict].map(|mode| {
        match sources_agree(format, file, mode, &cuts).result {
            Ok(()) => "ok".to_owned(),
            Err(error) => {
                let offset = error.offset().expect("an error about the file");
                assert!(offset <= file.len() as u64, "{error}");
                format!("{}@{offset}", error.kind().code())
            }
        }
    })
}

#[test]
fn every_number_of_every_header_is_judged_as_the_table_says() {
    let mut accepted = Vec::new();
    let mut table = String::from("format\tfield\tvalue\tlenient\tstrict\n");
    for field in &fields() {
        let Field { format, name, .. } = field;
        assert_eq!(verdicts(format, &(field.file)(field.honest))[0], "ok", "{format}, {name}");
        for value in field.values() {
            let [lenient, strict] = verdicts(format, &(field.file)(value));
            let is_too_much = value >= u64::MAX >> (65 - field.bits);
            if is_too_much && field.says != Says::Advice && lenient == "ok" {
                accepted.push(format!("{format}, {name}: {value}"));
            }
            assert!(strict != "ok" || lenient == "ok", "{format}, {name}: {value}");
            writeln!(table, "{format}\t{name}\t{value}\t{lenient}\t{strict}").unwrap();
        }
    }
    assert!(accepted.is_empty(), "no file is so large: {accepted:#?}");
    assert!(table.lines().count() > 400, "{}", table.lines().count());
    let expected = String::from_utf8(data::read("hostile/fields.tsv")).expect("UTF-8");
    if table != expected {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/fields.tsv");
        std::fs::write(path, &table).expect("a folder for tests");
        let other = table.lines().zip(expected.lines()).find(|(found, known)| found != known);
        panic!("{path} is not tests/data/hostile/fields.tsv: {other:?}");
    }
}

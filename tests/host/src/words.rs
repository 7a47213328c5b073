//! Word vectors in other programs' formats: fastText, floret, word2vec and text.

use nanoembed::Error;
use nanoembed::words::Form;
use nanoembed::words::read::WordRows;
use nanoembed::words::read::fasttext::FastText;
use nanoembed::words::read::floret::Floret;
use nanoembed::words::read::start::Start;
use nanoembed::words::read::text::TextRows;
use nanoembed::words::read::word2vec::Word2VecRows;
use nanoembed_tests::data;

/// The name of the input in messages.
const NAME: &str = "input";

/// Reads a file in one format after the other, the detected one included: the number of rows is
/// bounded by the file's size, and failures have a message.
///
/// The first byte chooses the format and whether counts in first lines are trusted.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn run(input: &[u8]) {
    let Some((choice, file)) = input.split_first() else { return };
    let ignores_count = choice & 8 != 0;
    let stream = || Start::from_bytes(NAME, file).into_stream();
    let outcome = match choice % 6 {
        0 => fasttext(file),
        1 => floret(file),
        2 => Word2VecRows::open(stream(), NAME.into(), ignores_count)
            .and_then(|rows| each(rows, file.len())),
        3 => TextRows::open(stream(), NAME.into(), (false, ignores_count))
            .and_then(|rows| each(rows, file.len())),
        4 => TextRows::open(stream(), NAME.into(), (true, ignores_count))
            .and_then(|rows| each(rows, file.len())),
        _ => {
            let start = Start::from_bytes(NAME, file);
            match start.form() {
                None => Err(start.unknown()),
                Some(Form::Fasttext) => fasttext(file),
                Some(Form::Floret) => floret(file),
                Some(_) => Ok(()),
            }
        }
    };
    if let Err(error) = outcome {
        assert!(!error.to_string().is_empty());
        assert!(error.offset().is_none_or(|at| at <= file.len() as u64), "{error}");
    }
}

fn each(mut rows: impl WordRows, bytes: usize) -> Result<(), Error> {
    let (mut word, mut row) = (Vec::new(), vec![0.0; rows.cols()]);
    let mut count = 0;
    while rows.next_row(&mut word, &mut row)? {
        count += 1;
        assert!(count <= bytes && word.len() <= bytes, "more rows than bytes");
        assert!(rows.bytes_read() <= bytes as u64);
    }
    Ok(())
}

fn floret(file: &[u8]) -> Result<(), Error> {
    let mut floret = Floret::open(Start::from_bytes(NAME, file).into_stream(), NAME.into())?;
    let mut row = vec![0.0; floret.cols as usize];
    let mut count = 0;
    while floret.next_row(&mut row)? {
        count += 1;
        assert!(count <= file.len(), "more rows than bytes");
    }
    Ok(())
}

fn fasttext(file: &[u8]) -> Result<(), Error> {
    let model = FastText::parse(NAME, file)?;
    let mut row = vec![0.0; model.cols() as usize];
    assert!(row.len() <= file.len() && model.words.len() <= file.len());
    for word in 0..model.words.len().min(20) {
        model.word(word, &mut row).expect("memory");
    }
    let words = u32::try_from(model.words.len()).expect("fewer than bytes");
    let buckets = model.vocabulary(words).subwords.rows().unwrap_or(0);
    for bucket in 0..u32::try_from(buckets.min(20)).unwrap_or(0) {
        model.bucket(bucket, &mut row);
    }
    assert!(!model.arguments.toml().expect("memory").is_empty());
    Ok(())
}

/// Files in all formats.
#[must_use]
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let files = data::files("words", &["bin", "ftz", "floret"]);
    let mut seeds: Vec<(String, Vec<u8>)> = files
        .into_iter()
        .flat_map(|(name, file)| {
            let choice = if name.ends_with("floret") { 1 } else { 0 };
            [choice, 5].map(|choice| (format!("{choice}-{name}"), [&[choice], &file[..]].concat()))
        })
        .collect();
    let text = "king 0.5 -1.25 3e-2\nqueen 1 2 3\n\u{65e5}\u{672c} -0 0.0 7\n";
    let sized = format!("3 3\n{text}");
    let floats: Vec<u8> = [0.5_f32, -1.0, 2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
    let word2vec = [b"2 3\nking ", &floats[..], b"\nqueen ", &floats, b"\n"].concat();
    for choice in [2, 10] {
        seeds.push((format!("{choice}-word2vec"), [&[choice], &word2vec[..]].concat()));
    }
    for (choice, file) in [(3, text), (9, text), (4, &sized), (16, &sized), (5, &sized)] {
        seeds.push((format!("{choice}-text"), [&[choice], file.as_bytes()].concat()));
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_files_that_are_read() {
        for (name, seed) in seeds() {
            let (choice, file) = seed.split_first().unwrap();
            let read = match choice % 6 {
                0 => fasttext(file),
                1 => floret(file),
                _ => continue,
            };
            assert!(read.is_ok(), "{name}: {}", read.unwrap_err());
        }
    }
}

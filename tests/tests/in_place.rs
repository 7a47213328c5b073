//! Files parsed in memory without memory for their tensors: same results as a decoder that keeps
//! all of them, including the first error.

use std::fmt::Debug;

use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::{self, Amb};
use nanoembed_core::format::embd::{self, Embd};
use nanoembed_core::format::gguf::{self, Gguf, WriteValue};
use nanoembed_core::tensor::{Dtype, Shape, TensorSpec};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data;
use nanoembed_tests::hostile::each_mutation;

const MODES: [Mode; 2] = [Mode::Lenient, Mode::Strict];
/// Larger files are not damaged at every byte.
const SMALL_BYTES: usize = 1024;
/// More than are compared at a time, and not a multiple of that.
const NAMES: usize = 150;

type Parsed = Result<String, Error>;

struct Format {
    name: &'static str,
    endings: &'static [&'static str],
    kept: fn(&[u8], Mode) -> Parsed,
    in_place: fn(&[u8], Mode) -> Parsed,
}

/// The contents of a parsed file.
fn all(parsed: Result<impl Debug, Error>) -> Parsed {
    parsed.map(|file| format!("{file:?}"))
}

const FORMATS: [Format; 3] = [
    Format {
        name: "amb",
        endings: &["amb"],
        kept: |file, mode| all(Amb::parse_with(amb::AmbDecoder::<2048>::new(mode), file)),
        in_place: |file, mode| all(Amb::parse(file, mode)),
    },
    Format {
        name: "embd",
        endings: &["weights", "bin"],
        kept: |file, mode| all(Embd::parse_with(embd::EmbdDecoder::<1024>::new(mode), file)),
        in_place: |file, mode| all(Embd::parse_in_place(file, mode)),
    },
    Format {
        name: "gguf",
        endings: &["gguf"],
        kept: |file, mode| all(Gguf::parse_with(gguf::GgufDecoder::<2048>::new(mode), file)),
        in_place: |file, mode| all(Gguf::parse(file, mode)),
    },
];

impl Format {
    fn check(&self, file: &[u8], what: &str) {
        self.agree(file, what).into_iter().for_each(drop);
    }

    /// The results of both modes, which must be the same in place and otherwise.
    fn agree(&self, file: &[u8], what: &str) -> [Parsed; 2] {
        MODES.map(|mode| {
            let kept = (self.kept)(file, mode);
            let in_place = (self.in_place)(file, mode);
            assert_eq!(in_place, kept, "{} {mode:?}: {what}", self.name);
            in_place
        })
    }
}

#[test]
fn files_are_parsed_in_place_however_they_are_damaged_or_cut() {
    for format in &FORMATS {
        let (mut damaged, files) = (0, data::files(format.name, format.endings));
        assert!(files.len() > 2, "{}", format.name);
        for (name, file) in files {
            format.check(&file, &name);
            if file.len() > SMALL_BYTES {
                continue;
            }
            for length in 0..file.len() {
                format.check(&file[..length], &format!("{name} cut at {length}"));
            }
            each_mutation(&file, 0..file.len(), |mutated, at| {
                format.check(mutated, &format!("{name} damaged at {at}"));
            });
            damaged += 1;
        }
        assert!(damaged > 0, "{}: no file is small enough", format.name);
    }
}

/// Names of equal length, whose order is not alphabetic.
fn names() -> Vec<String> {
    (0..NAMES).map(|n| format!("tensor.{:05}", n * 7919 % 10_000)).collect()
}

fn files_of_many() -> [Vec<u8>; 3] {
    let (names, shape) = (names(), Shape::new(&[1, 2]).unwrap());
    let tensors: Vec<_> =
        names.iter().map(|name| TensorSpec { name, dtype: Dtype::F32, shape }).collect();
    let ambs: Vec<_> = names
        .iter()
        .map(|name| amb::AmbTensorSpec { name, dtype: Dtype::F32, shape, full_blocks: 0 })
        .collect();
    let keys: Vec<_> = names.iter().map(|name| name.replace("tensor", "setting")).collect();
    let metadata: Vec<_> = keys.iter().map(|key| (key.as_str(), WriteValue::U8(1))).collect();
    let mut amb = amb::AmbWriter::new(amb::AmbPlan::new("{}", &ambs), Vec::new()).unwrap();
    let mut embd = embd::EmbdWriter::new(embd::EmbdPlan::new(&tensors), Vec::new()).unwrap();
    let plan = gguf::GgufPlan { metadata: &metadata, tensors: &tensors, alignment: 32 };
    let mut gguf = gguf::GgufWriter::new(plan, Vec::new()).unwrap();
    for _ in &names {
        amb.data(&[0; 8]).unwrap();
        embd.data(&[0; 8]).unwrap();
        gguf.data(&[0; 8]).unwrap();
    }
    [amb.finish().unwrap(), embd.finish().unwrap(), gguf.finish().unwrap()]
}

fn place_of(file: &[u8], text: &str) -> usize {
    file.windows(text.len()).position(|window| window == text.as_bytes()).expect(text)
}

#[test]
fn the_first_name_that_is_there_before_is_refused_wherever_it_stands() {
    let names = names();
    for (format, file) in FORMATS.iter().zip(files_of_many()) {
        assert!(format.agree(&file, "many tensors").iter().all(Result::is_ok), "{}", format.name);
        let again = |file: &mut [u8], kind: &str, from: usize, to: usize| {
            let spelled = |at: usize| names[at].replace("tensor", kind);
            let place = place_of(file, &spelled(to));
            file[place..place + spelled(from).len()].copy_from_slice(spelled(from).as_bytes());
        };
        for (from, to) in [(0, 1), (0, 63), (0, 64), (63, 64), (64, 65), (64, 128), (3, 149)] {
            let mut twice = file.clone();
            again(&mut twice, "tensor", from, to);
            let what = format!("{from} again at {to}");
            let refused = format.agree(&twice, &what);
            let lenient = refused[0].as_ref().expect_err("refused").kind();
            assert_eq!(lenient, ErrorKind::DuplicateName, "{}: {what}", format.name);
            // One that precedes it, and one that follows.
            let mut thrice = twice.clone();
            again(&mut thrice, "tensor", 2, 62);
            format.check(&thrice, &format!("{what}, and 2 at 62"));
            again(&mut twice, "tensor", 140, 148);
            format.check(&twice, &format!("{what}, and 140 at 148"));
            // Files that end before and after the second name.
            for length in [twice.len() / 3, twice.len() / 2, twice.len() - 40, twice.len() - 1] {
                format.check(&twice[..length], &format!("{what}, cut at {length}"));
            }
            if format.name == "gguf" {
                let mut keys = file.clone();
                again(&mut keys, "setting", from, to);
                let refused = format.agree(&keys, &format!("key {what}"));
                let lenient = refused[0].as_ref().expect_err("refused").kind();
                assert_eq!(lenient, ErrorKind::DuplicateName, "key {what}");
                again(&mut keys, "tensor", from, to);
                format.check(&keys, &format!("key {what} and tensor"));
            }
        }
    }
}

#[test]
fn damage_after_many_tensors_is_told_as_ever() {
    let names = names();
    for (format, file) in FORMATS.iter().zip(files_of_many()) {
        let (from, to) = (place_of(&file, &names[0]), place_of(&file, &names[140]));
        let mut twice = file.clone();
        twice.copy_within(from..from + names[0].len(), to);
        // Fields before and after the repeated name.
        for at in [to - 200, to + 13] {
            each_mutation(&twice, (at..at + 24).step_by(3), |mutated, at| {
                format.check(mutated, &format!("damaged at {at}"));
            });
        }
    }
}

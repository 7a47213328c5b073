//! Every fuzz target over its first inputs and some thousand changed ones, the same every time.
//! cargo-fuzz goes on from here, with sanitisers and knowing what was covered: `.ci/run fuzz`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use nanoembed_tests::finalfusion::Numbers;
use nanoembed_tests::fuzz::{TARGETS, Target, mutated};

/// How many inputs each target gets besides its seeds.
const MUTATIONS: usize = 4000;

/// Runs a target over its seeds and over changed ones. What it fails on, or does not come back
/// from, is kept where `cargo fuzz run` can read it.
fn replay(target: &Target) {
    let seeds: Vec<_> = (target.seeds)().into_iter().map(|(_, seed)| seed).collect();
    let mut numbers = Numbers(0);
    let changed = (0..MUTATIONS).map(|_| mutated(&seeds, target.most_bytes, &mut numbers));
    for input in seeds.iter().cloned().chain(changed) {
        let kept = keep(target.name, &input);
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        assert!(outcome.is_ok(), "{} on {}", target.name, kept.display());
    }
}

fn keep(name: &str, input: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    std::fs::write(&path, input).expect("a folder for tests");
    path
}

/// A test each, so that they run beside one another.
macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(TARGETS.iter().find(|target| target.name == stringify!($name)).expect("a target"));
        })*

        #[test]
        fn none_is_left_out() {
            let mut files: Vec<_> = std::fs::read_dir("../fuzz/fuzz_targets")
                .expect("the fuzz targets")
                .map(|file| file.expect("a file").path().file_stem().unwrap().to_owned())
                .collect();
            files.sort();
            assert_eq!(files, TARGETS.iter().map(|target| target.name).collect::<Vec<_>>());
            assert_eq!(files, [$(stringify!($name)),*]);
        }
    };
}

replays! {
    blob blocks bpe container decoder encoder finalfusion folder gguf json pipeline sentencepiece tokenizer
    weights
}

#[test]
fn changes_reach_every_kind_of_difference() {
    let seeds = [(0..40).collect::<Vec<u8>>(), (100..160).collect()];
    let mut numbers = Numbers(0);
    let inputs: Vec<_> = (0..1000).map(|_| mutated(&seeds, 4096, &mut numbers)).collect();
    let any = |is: fn(&Vec<u8>) -> bool| inputs.iter().any(is);
    assert!(any(|input| input.len() > 65) && any(|input| input.len() < 5));
    assert!(any(|input| input.contains(&20) && input.contains(&130)));
    assert!(any(|input| input.windows(4).any(|field| field == [0xFF; 4])));
    assert!(inputs.iter().collect::<std::collections::HashSet<_>>().len() > 950);
}

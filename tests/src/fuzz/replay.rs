//! Runs a fuzz target on its seeds and some thousand mutations, deterministically.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{Target, mutated};
use crate::finalfusion::Numbers;

/// The number of inputs in addition to the seeds.
const MUTATIONS: usize = 4000;

/// A test for each target in a list, so that they run in parallel, and one that checks that none is
/// missing. For the integration tests of a package, which have a folder for failing inputs.
#[macro_export]
macro_rules! replays {
    ($targets:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            let target = $targets.iter().find(|target| target.name == stringify!($name));
            let folder = env!("CARGO_TARGET_TMPDIR");
            $crate::fuzz::replay(target.expect("a target"), folder);
        })*

        #[test]
        fn none_is_left_out() {
            let names: Vec<_> = $targets.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

/// Runs a target on its seeds, mutations of them, and inputs that failed once, which are in
/// `fuzz/regressions`. An input that fails, or does not return, is kept in `folder`, where `cargo
/// fuzz run` can read it.
///
/// # Panics
///
/// If the target does.
pub fn replay(target: &Target, folder: impl AsRef<Path>) {
    let seeds: Vec<_> = (target.seeds)().into_iter().map(|(_, seed)| seed).collect();
    let mut numbers = Numbers(0);
    let changed = (0..MUTATIONS).map(|_| mutated(&seeds, target.most_bytes, &mut numbers));
    let kept = folder.as_ref().join(format!("fuzz-{}", target.name));
    for input in regressions(target.name).into_iter().chain(seeds.iter().cloned()).chain(changed) {
        std::fs::write(&kept, &input).expect("a folder for tests");
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        assert!(outcome.is_ok(), "{} on {}", target.name, kept.display());
    }
}

/// Inputs on which a target failed before it was fixed.
fn regressions(name: &str) -> Vec<Vec<u8>> {
    let folder = crate::supply::root().join("fuzz/regressions").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|it| it.expect("one").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a readable file")).collect()
}

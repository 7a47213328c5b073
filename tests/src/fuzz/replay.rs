//! A fuzz target over its first inputs and some thousand changed ones, the same every time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{Target, mutated};
use crate::finalfusion::Numbers;

/// How many inputs a target gets besides its seeds.
const MUTATIONS: usize = 4000;

/// A test for each of a list of targets, so that they run beside one another, and one that none is
/// left out. For the integration tests of a package, which have a folder for what they fail on.
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

/// Runs a target over its seeds, over changed ones, and over what it failed on once, which lies in
/// `fuzz/regressions`. What it fails on, or does not come back from, is kept in `folder`, where
/// `cargo fuzz run` can read it.
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

/// What a target failed on before it was mended.
fn regressions(name: &str) -> Vec<Vec<u8>> {
    let folder = crate::supply::root().join("fuzz/regressions").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|it| it.expect("one").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a readable file")).collect()
}

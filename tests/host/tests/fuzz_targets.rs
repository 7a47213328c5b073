//! Every fuzz target of this crate on its seeds and some thousand mutations, deterministically.
//! cargo-fuzz continues from here: `fuzz/campaign`.

use nanoembed_host_tests::{TARGETS, all_targets};
use nanoembed_tests::replays;

replays! { TARGETS: c families fixed uqff_folder words }

#[test]
fn cargo_fuzz_has_the_same_targets() {
    let fuzz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");
    let mut files: Vec<_> = std::fs::read_dir(format!("{fuzz}/fuzz_targets"))
        .expect("the fuzz targets")
        .map(|file| file.expect("a file").path().file_stem().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, all_targets().iter().map(|target| target.name).collect::<Vec<_>>());
    let manifest = std::fs::read_to_string(format!("{fuzz}/Cargo.toml")).expect("a manifest");
    for target in all_targets() {
        assert!(manifest.contains(&format!("\nname = \"{}\"\n", target.name)), "{}", target.name);
    }
}

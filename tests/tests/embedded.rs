//! core without std, allocator, or any way to panic.

use std::path::Path;
use std::process::Command;

use nanoembed_tests::skipped::skipped;

/// A function that the probe's panic handler calls and that is not defined.
const PANIC_SYMBOL: &[u8] = b"a_panic_can_be_reached";

/// Builds the probe for each target; linking fails if a symbol is missing, which is the case if a
/// panic can be reached. `None` if a target is not installed.
fn build_probe(targets: &[&str]) -> Option<Vec<Vec<u8>>> {
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("embedded");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked"])
        // All at once: each is one codegen unit, which one CPU core compiles.
        .args(targets.iter().flat_map(|target| ["--target", target]))
        .current_dir(&probe)
        // Coverage and sanitiser flags of the host do not apply to the target.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("cargo");
    let complaints = String::from_utf8_lossy(&output.stderr);
    if complaints.contains("target may not be installed") {
        return None;
    }
    assert!(output.status.success(), "{complaints}");
    let program = |target: &&str| {
        let ending = if target.starts_with("wasm") { ".wasm" } else { "" };
        let path = format!("target/{target}/release/nanoembed-embedded-probe{ending}");
        std::fs::read(probe.join(path)).expect("the linked program")
    };
    Some(targets.iter().map(program).collect())
}

/// On the smallest microcontrollers and on the web; `ffi/test.sh targets` checks others.
#[test]
fn readers_and_tokenizer_link_without_std_and_cannot_panic() {
    let targets = ["thumbv6m-none-eabi", "wasm32-unknown-unknown"];
    let Some(programs) = build_probe(&targets) else {
        let test = "readers_and_tokenizer_link_without_std_and_cannot_panic";
        return skipped(test, &format!("rustup target add {}", targets.join(" ")));
    };
    for program in &programs {
        assert!(program.len() > 30_000, "the readers or the character tables are not in it");
    }
    // Missing functions become imports there.
    let is_imported = programs[1].windows(PANIC_SYMBOL.len()).any(|window| window == PANIC_SYMBOL);
    assert!(!is_imported, "a panic can be reached");
}

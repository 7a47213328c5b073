//! core without std, allocator, or any way to panic.

use std::path::Path;
use std::process::Command;

/// The function that the probe's panic handler calls, and that exists nowhere.
const PANIC_SYMBOL: &[u8] = b"a_panic_can_be_reached";

/// Builds the probe for a target; linking fails if a symbol is missing, as it is when a panic can be reached.
fn build_probe(target: &str) -> Vec<u8> {
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("embedded");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--target", target])
        .current_dir(&probe)
        // Coverage and sanitiser flags of the host are not for the target.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
    let ending = if target.starts_with("wasm") { ".wasm" } else { "" };
    let program = format!("target/{target}/release/nanoembed-embedded-probe{ending}");
    std::fs::read(probe.join(program)).expect("the linked program")
}

#[test]
fn readers_and_tokenizer_link_for_microcontrollers_and_cannot_panic() {
    for target in ["thumbv7em-none-eabihf", "thumbv6m-none-eabi"] {
        let program = build_probe(target);
        assert!(program.len() > 30_000, "the readers or the character tables are not in it");
    }
}

#[test]
fn readers_and_tokenizer_link_for_wasm_and_import_nothing() {
    // Missing functions become imports there.
    let program = build_probe("wasm32-unknown-unknown");
    assert!(program.len() > 30_000, "the readers or the character tables are not in it");
    assert!(!program.windows(PANIC_SYMBOL.len()).any(|window| window == PANIC_SYMBOL));
}

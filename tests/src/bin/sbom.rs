//! Writes the dependencies of a crate to stdout, as CycloneDX: `sbom [PACKAGE [TARGET]]`, by
//! default those of the program for this machine. With default features.

use std::io;

use nanoembed_tests::{sbom, supply};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let package = arguments.next().unwrap_or_else(|| "nanoembed-cli".into());
    let target = arguments.next().unwrap_or_else(supply::host);
    let manifest = match package.as_str() {
        "nanoembed-python" => "python/Cargo.toml",
        "nanoembed-datafusion" => "datafusion/Cargo.toml",
        _ => "Cargo.toml",
    };
    let metadata = supply::metadata(manifest, &["--filter-platform", &target]);
    let lock = supply::root().join(manifest).with_extension("lock");
    let locked = supply::locked(&std::fs::read_to_string(lock)?);
    let document = sbom::cyclonedx(&metadata, &locked, &package);
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

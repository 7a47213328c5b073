//! Writes the dependencies of a crate to stdout, as CycloneDX: `sbom [PACKAGE [TARGET [FEATURES]]]`,
//! by default those of the program for this machine. With default features, and those named.

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
    let features = arguments.next().unwrap_or_default();
    let metadata =
        supply::metadata(manifest, &["--filter-platform", &target, "--features", &features]);
    let lock = supply::root().join(manifest).with_extension("lock");
    let locked = supply::locked(&std::fs::read_to_string(lock)?);
    let mut document = sbom::cyclonedx(&metadata, &locked, &package);
    if package == "nanoembed-python" {
        let project = std::fs::read_to_string(supply::root().join("python/pyproject.toml"))?;
        for name in supply::python_requirements(&project) {
            sbom::require(&mut document, "pypi", name);
        }
    }
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

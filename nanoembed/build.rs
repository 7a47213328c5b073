//! Whether the default model can be built in: packages of a registry have no room for its 24 MB.

use std::path::Path;

fn main() {
    const MODEL: &str = "../models/all-MiniLM-L6-v2.int8.weights";
    println!("cargo::rerun-if-changed={MODEL}");
    println!("cargo::rustc-check-cfg=cfg(model_is_built_in)");
    let is_wanted = std::env::var_os("CARGO_FEATURE_DEFAULT_MODEL").is_some();
    if is_wanted && Path::new(MODEL).exists() {
        println!("cargo::rustc-cfg=model_is_built_in");
    }
}

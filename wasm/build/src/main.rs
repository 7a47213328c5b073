//! `nanoembed-wasm-build IN.wasm OUT_FOLDER NAME`: the module `NAME_bg.wasm`, its JavaScript and
//! its types.

use std::env::args;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = args().skip(1).collect();
    let [input, folder, name] = &arguments[..] else {
        eprintln!("usage: nanoembed-wasm-build IN.wasm OUT_FOLDER NAME");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).out_name(name).typescript(true);
    // What the package finds its module by, it decides itself.
    bindgen.omit_default_module_path(true);
    match bindgen.web(true).and_then(|bindgen| bindgen.generate(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{input}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

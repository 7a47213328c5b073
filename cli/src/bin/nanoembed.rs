//! The `nanoembed` command line: see the library `nanoembed_cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    nanoembed_cli::main()
}

//! The `nanoembed` command line, as a library: Cargo compiles a library beside those that it needs,
//! a program only behind them.
//!
//! 1. `args` says what may be asked for, `usage` what is wrong with a command line; `commands` has
//!    one file for each command.
//! 2. `input` reads texts, `output` writes results, both as streams and in order.
//! 3. `embedder` is the model as the commands see it; `model_file` opens it or takes the one built
//!    in.
//! 4. `checkpoint` reads models of foreign formats for `convert`; `calibration` and `int8` quantise
//!    them, `weights_file` and `amb` write them.
//! 5. `inspection` and `verification` have one file a format for `inspect` and `verify`.
//! 6. `stored` has the tensors of files of any format, ready to be dequantised.
//! 7. `quantizer` makes fewer bits of them, `layer_names` knows what layers are called where,
//!    `writing` brings them into files of another format, which `targets` writes.
//! 8. `decoder` has models that continue texts, from `.amb`, `.weights` and GGUF files, UQFF and
//!    folders.
//! 9. `word_vectors` has the forms of word vectors, conversion between them, and what their
//!    commands share.
//! 10. `streams` looks whether stdin and stdout are open at all; `error` has the exit codes,
//!     `atomic` the files that appear whole or not at all, also when an `interrupt` comes, `mapped`
//!     the files that are read, `on_disk` those that are read piece by piece.
//!
//! Everything that more than one front end would decide lives in `nanoembed-core`.

mod amb;
mod args;
mod atomic;
mod calibration;
mod checkpoint;
mod commands;
mod decoder;
mod embedder;
mod error;
mod foreign;
mod glob;
mod input;
mod inspection;
mod int8;
mod interrupt;
mod layer_names;
mod limits;
mod mapped;
mod model_check;
mod model_file;
mod on_disk;
mod output;
mod progress;
mod prompts;
mod quantizer;
mod settings_rule;
mod stored;
mod streams;
mod targets;
mod tokenizer;
mod usage;
mod verification;
mod weights_file;
mod whole_file;
mod word_vectors;
mod writing;

use std::process::ExitCode;

/// Does what the arguments say.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match usage::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    atomic::clean_up_when_interrupted();
    match commands::run(cli) {
        Ok(code) => code,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    }
}

//! The program as its users see it: arguments in; stdout, stderr, files and exit status out.

mod adapters;
mod amb;
mod byte_pairs;
mod cases;
mod containers;
mod contract;
mod convert;
mod converted_gguf;
mod decoder_families;
mod decoder_folders;
mod decoder_tokenizers;
mod decoders;
mod default_model;
mod documented;
mod embed;
mod families;
mod family_gguf;
mod folders;
mod gguf_files;
mod heads;
mod help;
mod hostile;
mod hub_cache;
mod index;
mod inspect;
mod install;
mod interrupt;
mod limits;
mod mcp;
mod outputs;
mod pairs;
mod prune_vocabulary;
mod real_encoders;
mod real_weights;
mod routes;
mod safetensors_files;
mod search;
mod sentencepiece;
mod serve;
#[path = "../../../tests/src/skipped.rs"]
mod skipped;
mod sources;
mod tables;
mod terminal;
mod texts;
mod tiny_decoder;
mod tiny_gguf;
mod tiny_model;
mod tokenize;
mod unknown_settings;
mod uqff_embedders;
mod verify;
mod weight_files;
mod weights;
mod windows;
mod words;

use assert_cmd::Command;
use serde_json::Value;

/// The program with these arguments.
fn nanoembed(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("nanoembed").unwrap();
    command.args(arguments);
    for name in ["SOURCE_DATE_EPOCH", "RAYON_NUM_THREADS", "NANOEMBED_MODEL", "NANOEMBED_THREADS"] {
        command.env_remove(name);
    }
    command.env("NANOEMBED_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command.env("HF_HUB_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/hub"));
    command
}

/// Runs the program, which must succeed, and returns its stdout.
fn stdout(arguments: &[&str], stdin: &str) -> String {
    let assert = nanoembed(arguments).write_stdin(stdin).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Runs the program, which must fail with `status`, and returns its stderr.
fn failure(arguments: &[&str], stdin: &[u8], status: i32) -> String {
    let assert = nanoembed(arguments).write_stdin(stdin).assert().code(status);
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Each line of JSON.
fn objects(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The numbers of a JSON array.
fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

//! `include/nanoembed.h` is what cbindgen makes of this crate.

use std::fmt::Write as _;
use std::path::Path;

use nanoembed_core::ErrorKind;

/// The files in the order in which a reader of the header wants to meet them.
const SOURCES: [&str; 30] = [
    "version",
    "failure",
    "status",
    "memory",
    "source",
    "format",
    "event",
    "reader",
    "tensor",
    "uqff",
    "verify",
    "model_options",
    "model_handle",
    "model",
    "tokenized",
    "tokenize",
    "workspace",
    "embed",
    "prompt",
    "score",
    "batch",
    "top_k",
    "words_options",
    "words",
    "lookup",
    "similar",
    "decoder_handle",
    "decoder_model",
    "session",
    "tokenizer",
];

/// Those with what needs an allocator or an operating system.
const STD_SOURCES: [&str; 6] = [
    "source_file",
    "limits",
    "owned/model",
    "owned/handles",
    "owned/fingerprint",
    "owned/other_vectors",
];

const INTRODUCTION: &str = "\
/* nanoembed: sentence embeddings and word vectors from files where they lie. Guide: ffi/README.md.
 *
 * Made by cbindgen from ffi/src; do not edit. The same for every function:
 *
 * - the answer is a status, 0 for success; results go to out-parameters, which come last and are written only on
 *   success;
 * - every pointer is checked: NULL where something is needed is a status, never a crash. Every pointer to several
 *   things has a length, every output a capacity; NULL is fine for none;
 * - the last parameter of functions that read files, `error`, may be NULL; on failure it gets the status and the byte
 *   of the file that is wrong;
 * - structs begin with their size, which the program sets: nanoembed_error error = {.size = sizeof error};
 * - memory is the caller's: handles lie at the front of memory that the caller lends. Nothing has to be closed, nothing
 *   is allocated but by functions called `_new`, nothing is global;
 * - no function keeps a pointer to `options`, `scratch` or `error`; sources are copied, what they point to is not.
 */";

const ATTRIBUTES: &str = "\
// The compiler warns of a status that is not looked at.
#if defined(__GNUC__) || defined(__clang__)
#define NANOEMBED_CHECK __attribute__((warn_unused_result))
#else
#define NANOEMBED_CHECK
#endif
";

fn statuses() -> String {
    let mut text = String::new();
    for kind in ErrorKind::ALL {
        let message = kind.message();
        let mut letters = message.chars();
        let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().collect());
        let name = kind.name().to_uppercase();
        let _ = writeln!(
            text,
            "// {first}{}.\n#define NANOEMBED_{name} {}\n",
            letters.as_str(),
            kind.code()
        );
    }
    text
}

fn header() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config =
        cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    config.header = Some(INTRODUCTION.to_owned());
    config.after_includes = Some(format!("\n{ATTRIBUTES}\n{}", statuses().trim_end()));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES.iter().chain(&STD_SOURCES) {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut bytes = Vec::new();
    builder.generate().expect("cbindgen").write(&mut bytes);
    let text = String::from_utf8(bytes).expect("UTF-8");
    // What Rust's readers look for under a heading is a sentence like any other in C.
    let text = text.replace("//\n// # Safety\n", "");
    // A status that nobody looks at is a mistake.
    let text = text
        .replace("\nnanoembed_status nanoembed_", "\nNANOEMBED_CHECK nanoembed_status nanoembed_")
        // But one that only says how a text went.
        .replace(
            "NANOEMBED_CHECK nanoembed_status nanoembed_error_describe",
            "nanoembed_status nanoembed_error_describe",
        );
    // What needs an allocator or an operating system is no part of other builds.
    let first = ["source_file", "owned/model"].map(|file| {
        let source =
            std::fs::read_to_string(root.join(format!("src/{file}.rs"))).expect("a source");
        let start = source.find("pub unsafe extern \"C\" fn ").expect("a function");
        let name = &source[start + 25..];
        name[..name.find('(').expect("parameters")].to_owned()
    });
    let at = first.iter().filter_map(|name| text.find(&format!("{name}("))).min().expect("there");
    let at = text[..at].rfind("\n\n").expect("between functions") + 2;
    let end = text.rfind("#ifdef __cplusplus").expect("the end");
    format!(
        "{}#ifndef NANOEMBED_NO_STD\n{}#endif // NANOEMBED_NO_STD\n\n{}",
        &text[..at],
        &text[at..end],
        &text[end..]
    )
}

#[test]
fn the_committed_header_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/nanoembed.h");
    let made = header();
    if std::env::var_os("NANOEMBED_WRITE_HEADER").is_some() {
        std::fs::write(&path, &made).expect("the header is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "include/nanoembed.h is out of date: NANOEMBED_WRITE_HEADER=1 cargo test -p nanoembed-ffi --test header"
    );
}

#[test]
fn statuses_of_this_interface_are_none_of_core_s() {
    let own = |code| (290..300).contains(&code) || code >= 900;
    assert!(!ErrorKind::ALL.iter().any(|kind| own(kind.code())));
}

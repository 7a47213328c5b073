//! The dependency rules inside core, checked against the sources.

use std::path::{Path, PathBuf};

use nanoembed_tests::source_tree::SourceTree;

fn core_sources() -> Vec<(String, String)> {
    sources_of("core")
}

/// The sources of a crate except for the tests of modules, by name.
fn sources_of(package: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src");
    let mut folders = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.file_stem().is_some_and(|name| name == "tests") {
                // Tests of a module, in a file or a folder, are not restricted.
            } else if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(&root).expect("inside").to_string_lossy().into_owned();
                sources.push((name, std::fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    sources.sort();
    sources
}

/// The modules of core to which a source refers by `crate::…`.
fn used_modules(source: &str) -> Vec<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut modules = Vec::new();
    for line in code {
        for (at, _) in line.match_indices("crate::") {
            let path: String = line[at + 7..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':')
                .collect();
            modules.push(path.trim_end_matches(':').to_owned());
        }
    }
    modules
}

/// The parts of core that each part may use; its own part is always allowed.
const ALLOWED: &[(&str, &[&str])] = &[
    ("error.rs", &[]),
    ("bytes.rs", &["error"]),
    ("limit/", &["error"]),
    ("leaf.rs", &["error"]),
    ("crc32/", &[]),
    ("tensor/", &["bytes", "error", "limit"]),
    ("subword.rs", &[]),
    ("top.rs", &["error"]),
    ("sink.rs", &["error"]),
    ("event.rs", &["error", "subword", "tensor"]),
    ("read/", &["error", "event", "tensor"]),
    ("text/", &["bytes", "error"]),
    ("quant/", &["tensor", "error"]),
    ("kernel/", &["error", "quant", "tensor"]),
    ("token/", &["bytes", "error", "event", "leaf", "limit", "text"]),
    ("words/", &["bytes", "error", "format", "kernel", "read", "subword", "top"]),
    (
        "describe/",
        &[
            "error", "event", "format", "kernel", "leaf", "limit", "model", "tensor", "text",
            "token",
        ],
    ),
    (
        "model/",
        &["error", "event", "kernel", "leaf", "limit", "quant", "tensor", "text", "token", "top"],
    ),
    (
        "source/",
        &[
            "describe", "error", "event", "format", "kernel", "leaf", "limit", "model", "quant",
            "read", "tensor", "text", "token",
        ],
    ),
    (
        "owned/",
        &[
            "describe", "digest", "error", "event", "format", "kernel", "leaf", "limit", "model",
            "sink", "source", "tensor", "text", "token",
        ],
    ),
];

#[test]
fn every_part_uses_only_what_lies_below_it() {
    let sources = core_sources();
    for (part, _) in ALLOWED {
        assert!(sources.iter().any(|(file, _)| file.starts_with(part)), "nothing is called {part}");
    }
    for (file, source) in sources {
        let Some((part, allowed)) = ALLOWED.iter().find(|(part, _)| file.starts_with(part)) else {
            continue;
        };
        let own = part.trim_end_matches(".rs").trim_end_matches('/');
        for used in used_modules(without_tests(&source)) {
            let module = used.split("::").next().unwrap_or_default();
            assert!(module == own || allowed.contains(&module), "{file} uses crate::{used}");
        }
    }
}

#[test]
fn a_format_knows_neither_its_siblings_nor_what_runs_it() {
    // A view runs its decoder over a slice; formats that use a container depend on it.
    let below = [
        "bytes",
        "crc32",
        "error",
        "event",
        "leaf",
        "tensor",
        "text",
        "sink",
        "subword",
        "format::safetensors",
        "read::Slice",
    ];
    for (file, source) in core_sources() {
        let Some(rest) = file.strip_prefix("format/") else { continue };
        let Some((own, _)) = rest.split_once('/') else { continue };
        let own = format!("format::{own}");
        for used in used_modules(without_tests(&source)) {
            let known =
                below.iter().any(|known| used == *known || used.starts_with(&format!("{known}::")));
            assert!(known || used.starts_with(&own), "{file} uses crate::{used}");
        }
    }
}

/// The parts of core to which each part of `model/`, and some of `source/`, may refer.
const PARTS: &[(&str, &[&str])] = &[
    ("model/config/", &["event", "limit", "text", "token"]),
    ("model/weights.rs", &[]),
    ("model/parallel.rs", &[]),
    ("model/run.rs", &["model/parallel"]),
    ("model/plan.rs", &["model/config"]),
    ("model/size.rs", &["model/plan"]),
    ("model/linear/", &["model/parallel", "model/run", "model/weights"]),
    ("model/block/", &["model/config", "model/linear", "model/run", "model/weights"]),
    ("model/head/", &["model/config", "model/linear", "model/run", "model/weights", "top"]),
    (
        "model/pass/",
        &[
            "model/block",
            "model/config",
            "model/linear",
            "model/parallel",
            "model/plan",
            "model/run",
            "model/size",
            "model/weights",
        ],
    ),
    (
        "model/encoder/",
        &[
            "model/block",
            "model/config",
            "model/family",
            "model/head",
            "model/parallel",
            "model/pass",
            "model/plan",
            "model/run",
            "model/weights",
        ],
    ),
    (
        "model/family/",
        &[
            "limit",
            "model/block",
            "model/config",
            "model/head",
            "model/linear",
            "model/pass",
            "model/plan",
            "model/weights",
            "text",
        ],
    ),
    ("model/table/", &["model/parallel", "model/run", "model/weights"]),
    ("source/folder_file/", &["describe", "format", "text"]),
    (
        "source/folder_tokenizer/",
        &[
            "describe",
            "format",
            "limit",
            "source/byte_pairs",
            "source/folder_file",
            "source/memory",
            "source/stored",
            "source/word_pieces",
            "text",
            "token",
        ],
    ),
    (
        "source/table/",
        &[
            "describe",
            "format",
            "model/table",
            "model/weights",
            "source/folder_tokenizer",
            "source/stored",
            "source/word_pieces",
            "text",
            "token",
        ],
    ),
    (
        "source/transformer.rs",
        &[
            "describe",
            "format",
            "model/block",
            "model/config",
            "model/encoder",
            "model/family",
            "model/head",
            "model/parallel",
            "model/pass",
            "model/plan",
            "model/run",
            "model/weights",
            "source/embd",
            "source/folder_file",
            "source/folder_tokenizer",
            "source/table",
            "text",
            "token",
        ],
    ),
];

#[test]
fn passes_and_blocks_of_a_model_know_neither_families_nor_formats() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    let tree = SourceTree::read(&root);
    let namings = tree.namings();
    let everywhere = ["error", "kernel", "quant", "tensor"];
    for (part, allowed) in PARTS {
        assert!(namings.keys().any(|file| file.starts_with(part)), "nothing is called {part}");
        for (file, named) in namings.iter().filter(|(file, _)| file.starts_with(part)) {
            for other in named.iter().filter(|other| !other.starts_with(part)) {
                let is_allowed = |known: &&str| {
                    let rest = other.strip_prefix(known);
                    rest.is_some_and(|rest| rest.starts_with(['/', '.']))
                };
                let is_allowed = allowed.iter().chain(&everywhere).any(is_allowed);
                assert!(is_allowed, "{file} names {other}");
            }
        }
    }
}

#[test]
fn what_describes_models_knows_nothing_that_opens_or_runs_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    let tree = SourceTree::read(&root);
    let below = ["config", "family", "head", "weights", "mod"].map(|it| format!("model/{it}"));
    let namings = tree.namings();
    let described = namings.iter().filter(|(file, _)| file.starts_with("describe/"));
    let mut files = 0;
    for (file, named) in described {
        files += 1;
        for other in named.iter().filter(|other| other.starts_with("model/")) {
            let is_below = below
                .iter()
                .any(|it| other.strip_prefix(it).is_some_and(|rest| rest.starts_with(['/', '.'])));
            assert!(is_below, "{file} names {other}");
        }
    }
    assert!(files > 5, "{files} files");
}

#[test]
fn no_circles_run_through_the_files_of_a_crate() {
    for (package, files) in [
        ("core", 200),
        ("nanoembed", 200),
        ("ranking", 5),
        ("search", 12),
        ("serve", 15),
        ("cli", 60),
        ("ffi", 40),
        ("wasm", 10),
        ("python", 5),
    ] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src");
        let tree = SourceTree::read(&root);
        let found = tree.namings().len();
        assert!(found > files, "{package} has {found} files");
        let circles = tree.circles("");
        assert!(circles.is_empty(), "{package}: files that name each other: {circles:?}");
    }
}

#[test]
fn only_the_vector_kernels_are_unsafe_and_only_owned_and_limit_allocate() {
    const VECTOR_KERNELS: [&str; 4] =
        ["kernel/x86", "kernel/neon", "kernel/wasm", "kernel/arm_dsp"];
    for (file, source) in core_sources() {
        let code = || source.lines().filter(|line| !line.trim_start().starts_with("//"));
        if !VECTOR_KERNELS.iter().any(|kernel| file.starts_with(kernel)) {
            assert!(
                !code().any(|line| line.contains("unsafe ") && !line.contains("deny")),
                "{file} is unsafe"
            );
        }
        // `limit` provides fallible allocation.
        if !["owned", "limit/", "lib.rs"].iter().any(|may| file.starts_with(may)) {
            assert!(!code().any(|line| line.contains("alloc::")), "{file} allocates");
        }
        // The feature `std` is used by a single file.
        let uses_std = |what| without_tests(&source).contains(what);
        assert!(file == "lib.rs" || !uses_std("extern crate std"), "{file} uses std");
        assert!(file == "owned/io_sink.rs" || !uses_std("use std::"), "{file} uses std");
    }
}

#[test]
fn the_host_libraries_leave_talking_and_ending_to_their_shells() {
    // The process id tells whose temporary files they are.
    const SHELLS: [&str; 8] = [
        "println!",
        "eprintln!",
        "print!(",
        "clap",
        "indicatif",
        "anstream",
        "process::exit",
        "ExitCode",
    ];
    for (file, source) in
        ["nanoembed", "ranking", "search", "serve"].into_iter().flat_map(sources_of)
    {
        for line in without_tests(&source).lines() {
            let code = !line.trim_start().starts_with("//");
            let word = SHELLS.iter().find(|word| code && line.contains(*word));
            assert!(word.is_none(), "{file} says {word:?}: {line}");
        }
    }
}

#[test]
fn only_opened_files_and_the_system_are_unsafe_in_the_host_library() {
    const BORDERS: [&str; 4] = [
        "bytes.rs",
        "words/vectors.rs",
        "files/mapped_file.rs",
        "files/new_file/abandoned_files.rs",
    ];
    for (file, source) in sources_of("nanoembed") {
        let mut code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_border = BORDERS.contains(&file.as_str());
        assert_eq!(code.any(|line| line.contains("unsafe ")), is_border, "{file}");
    }
}

fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]").next().unwrap_or(source)
}

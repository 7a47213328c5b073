//! Programs that were compiled against an earlier header run with this library: what the header
//! said then, it says now.
//!
//! `tests/abi/N.txt` is the interface with the number N that programs rely on, one declaration a
//! line. Functions, constants, types and fields at the end of a struct may be added; nothing
//! changes or goes before the number does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What a header declares.
#[derive(Debug, Default, PartialEq)]
struct Interface {
    /// Names and values.
    constants: BTreeMap<String, String>,
    /// Names, and the types of the result and the parameters.
    functions: BTreeMap<String, String>,
    /// Names and fields.
    structs: BTreeMap<String, Vec<String>>,
    /// All other types, as they are declared.
    types: BTreeSet<String>,
}

/// What says nothing about an interface, or changes with every version.
fn is_of_no_interest(name: &str) -> bool {
    name.starts_with("NANOEMBED_VERSION_")
        || ["NANOEMBED_H", "NANOEMBED_CHECK", "NANOEMBED_NO_STD"].contains(&name)
}

impl Interface {
    fn of_header(text: &str) -> Self {
        let mut interface = Self::default();
        let mut code = String::new();
        let text = text.split_once("*/").map_or(text, |(_, rest)| rest);
        for line in text.lines().map(|line| line.split("//").next().unwrap_or_default()) {
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("#define"), Some(name)) if !is_of_no_interest(name) => {
                    let value = words.collect::<Vec<_>>().join(" ");
                    interface.constants.insert(name.to_owned(), value);
                }
                (Some(first), _) if first.starts_with('#') => {}
                (Some("extern" | "}"), None | Some("\"C\"")) => {}
                _ => writeln!(code, "{line}").expect("a string"),
            }
        }
        for declaration in declarations(&code) {
            interface.declare(&declaration);
        }
        interface
    }

    fn declare(&mut self, text: &str) {
        if let Some((head, rest)) = text.split_once('{') {
            let (fields, _) = rest.rsplit_once('}').expect("the end of a struct");
            let name = head.split_whitespace().last().expect("a name of a struct");
            let fields = fields.split(';').map(str::trim).filter(|field| !field.is_empty());
            self.structs.insert(name.to_owned(), fields.map(spaced).collect());
        } else if text.starts_with("typedef") {
            self.types.insert(text.to_owned());
        } else {
            let text = text.trim_start_matches("NANOEMBED_CHECK ");
            let (head, parameters) = text.split_once('(').expect("a function");
            let start = head.rfind([' ', '*']).expect("a result") + 1;
            let parameters = parameters.trim_end_matches(')').split(',').map(kind);
            let parameters = parameters.collect::<Vec<_>>().join(", ");
            let signature = format!("{}({parameters})", head[..start].trim());
            self.functions.insert(head[start..].to_owned(), signature);
        }
    }

    /// One declaration a line, as it is kept.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a string");
        self.constants.iter().for_each(|(name, value)| line(format!("constant {name} = {value}")));
        self.types.iter().for_each(|it| line(format!("type {it}")));
        self.structs.iter().for_each(|(name, fields)| {
            line(format!("struct {name}: {}", fields.join("; ")));
        });
        self.functions.iter().for_each(|(name, it)| line(format!("function {name}: {it}")));
        text
    }

    fn of_text(text: &str) -> Self {
        let mut interface = Self::default();
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').expect("a kind");
            let pair = |by| rest.split_once(by).map(|(a, b)| (a.to_owned(), b.to_owned()));
            match kind {
                "constant" => interface.constants.extend(pair(" = ")),
                "function" => interface.functions.extend(pair(": ")),
                "struct" => {
                    let (name, fields) = pair(": ").expect("fields");
                    let fields = fields.split("; ").map(str::to_owned).collect();
                    interface.structs.insert(name, fields);
                }
                "type" => drop(interface.types.insert(rest.to_owned())),
                _ => panic!("{line}"),
            }
        }
        interface
    }

    /// What programs compiled against `self` miss in `now`.
    fn broken_by(&self, now: &Self) -> Vec<String> {
        let changed = |old: &BTreeMap<String, String>, new: &BTreeMap<String, String>| {
            let is_changed = |(name, value): &(&String, &String)| new.get(*name) != Some(*value);
            old.iter().filter(is_changed).map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let mut broken = changed(&self.constants, &now.constants);
        broken.extend(changed(&self.functions, &now.functions));
        broken.extend(self.types.difference(&now.types).cloned());
        for (name, fields) in &self.structs {
            let new = now.structs.get(name).map_or(&[][..], Vec::as_slice);
            let may_grow = fields.first().is_some_and(|first| first == "uint32_t size");
            let is_same = new == fields || (may_grow && new.starts_with(fields));
            if !is_same {
                broken.push(name.clone());
            }
        }
        broken
    }
}

/// Text with one space between words.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The type of a parameter, without its name.
fn kind(parameter: &str) -> String {
    let parameter = spaced(parameter);
    let end = parameter.rfind([' ', '*']).map_or(parameter.len(), |at| at + 1);
    parameter[..end].trim().to_owned()
}

/// What ends with a semicolon outside of braces.
fn declarations(code: &str) -> Vec<String> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                found.push(spaced(&code[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    assert_eq!(code[start..].trim(), "", "after the last declaration");
    found
}

fn header() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/nanoembed.h");
    fs::read_to_string(path).expect("the header")
}

fn list(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/abi/{version}.txt"))
}

#[test]
fn programs_of_an_earlier_header_run_with_this_library() {
    let now = Interface::of_header(&header());
    let path = list(&now.constants["NANOEMBED_ABI_VERSION"]);
    if std::env::var_os("NANOEMBED_WRITE_ABI").is_some() {
        fs::write(&path, now.text()).expect("the list is written");
    }
    let released = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; a new number: NANOEMBED_WRITE_ABI=1 cargo test -p nanoembed-ffi --test abi",
            path.display()
        )
    });
    let released = Interface::of_text(&released);
    assert!(released.functions.len() > 50 && released.structs.len() > 15, "{released:?}");
    let broken = released.broken_by(&now);
    assert!(broken.is_empty(), "programs need another NANOEMBED_ABI_VERSION for {broken:?}");
}

#[test]
fn a_list_says_what_the_header_says() {
    let now = Interface::of_header(&header());
    assert_eq!(Interface::of_text(&now.text()), now);
    assert_eq!(now.constants["NANOEMBED_DATA_CHECKSUM"], "116");
    let cosine = "nanoembed_status(const float *, const float *, size_t, float *)";
    assert_eq!(now.functions["nanoembed_cosine"], cosine);
    assert_eq!(now.structs["nanoembed_scored"], ["float score", "uint32_t row"]);
}

#[test]
fn what_breaks_programs_is_noticed_and_what_is_added_is_not() {
    let header = header();
    let released = Interface::of_header(&header);
    let changed = |from: &str, to: &str| {
        let text = header.replacen(from, to, 1);
        assert_ne!(text, header, "{from}");
        released.broken_by(&Interface::of_header(&text))
    };
    let score = "  float score;\n";
    assert_eq!(changed("OVERLAP 106", "OVERLAP 206"), ["NANOEMBED_OVERLAP"]);
    assert_eq!(changed("#define NANOEMBED_OK 0", ""), ["NANOEMBED_OK"]);
    assert_eq!(changed("nanoembed_cosine(", "nanoembed_angle("), ["nanoembed_cosine"]);
    assert_eq!(changed("const float *b,", "const double *b,"), ["nanoembed_cosine"]);
    assert_eq!(changed(score, "  double score;\n"), ["nanoembed_scored"]);
    // Neither does a struct without a size grow, nor one with a size in the middle.
    assert_eq!(
        changed("  uint32_t row;\n", "  uint32_t row;\n  float more;\n"),
        ["nanoembed_scored"]
    );
    assert_eq!(
        changed("  uint32_t strict;\n", "  uint32_t more;\n  uint32_t strict;\n"),
        ["nanoembed_reader_options"]
    );
    let error = "  char name[NANOEMBED_NAME_BYTES];\n";
    assert!(changed(error, &format!("{error}  uint32_t more;\n")).is_empty());
    assert!(changed("#define NANOEMBED_OK 0", "#define NANOEMBED_OK 0\n#define N 1").is_empty());
    let cosine = "NANOEMBED_CHECK nanoembed_status nanoembed_cosine(";
    assert!(changed(cosine, &format!("void nanoembed_more(void);\n{cosine}")).is_empty());
}

//! The project's third-party packages, according to cargo.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The root of the repository.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The manifests of all workspaces, by path from the root.
pub const WORKSPACES: [&str; 9] = [
    "Cargo.toml",
    "datafusion/Cargo.toml",
    "ffi/examples/cortex-m/Cargo.toml",
    "ffi/examples/embassy/Cargo.toml",
    "fuzz/Cargo.toml",
    "python/Cargo.toml",
    "tests/embedded/Cargo.toml",
    "wasm/bench/kernels/Cargo.toml",
    "wasm/build/Cargo.toml",
];

/// The output of `cargo metadata` for a workspace, with further arguments.
///
/// # Panics
///
/// If cargo fails: packages have not been fetched, or the lock file is out of date.
#[must_use]
pub fn metadata(manifest: &str, arguments: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let answer = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--manifest-path"])
        .arg(root().join(manifest))
        .args(arguments)
        .output()
        .expect("cargo");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    serde_json::from_slice(&answer.stdout).expect("JSON")
}

/// The target triple of the compiling machine.
///
/// # Panics
///
/// If rustc does not return it.
#[must_use]
pub fn host() -> String {
    let answer = Command::new("rustc").arg("-vV").output().expect("rustc");
    let text = String::from_utf8(answer.stdout).expect("UTF-8");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("a host").to_owned()
}

/// A required string.
///
/// # Panics
///
/// If it is missing.
#[must_use]
pub fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The packages that a `pyproject.toml` asks for.
pub fn python_requirements(project: &str) -> impl Iterator<Item = &str> {
    let line = project.lines().find_map(|line| line.strip_prefix("dependencies = ["));
    let listed = line.unwrap_or_default().split('"').skip(1).step_by(2);
    listed.filter_map(|it| it.split(['>', '<', '=', '~', '!', '[', ';', ' ']).next())
}

/// A package in a `Cargo.lock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locked {
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its source; `None` for the project's own.
    pub source: Option<String>,
    /// The SHA-256 of its archive.
    pub checksum: Option<String>,
}

/// The packages of a `Cargo.lock`.
#[must_use]
pub fn locked(text: &str) -> Vec<Locked> {
    let packages = text.split("[[package]]").skip(1);
    let package = |package: &str| {
        let field = |name: &str| {
            let found = package.lines().find_map(|line| line.strip_prefix(name));
            found.map(|value| value.trim_matches([' ', '=', '"']).to_owned())
        };
        Locked {
            name: field("name ").unwrap_or_default(),
            version: field("version ").unwrap_or_default(),
            source: field("source "),
            checksum: field("checksum "),
        }
    };
    packages.map(package).collect()
}

/// Returns true if an SPDX expression is satisfied by the allowed licences. Older packages write a
/// slash for OR.
#[must_use]
pub fn permits(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    any_of(&mut rest, allowed) && rest.is_empty()
}

fn any_of(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut found = all_of(rest, allowed);
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        found |= all_of(rest, allowed);
    }
    found
}

fn all_of(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut all = one(rest, allowed);
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        all &= one(rest, allowed);
    }
    all
}

fn one(rest: &mut &[&str], allowed: &[&str]) -> bool {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let found = any_of(rest, allowed);
            let [")", after @ ..] = *rest else { return false };
            *rest = after;
            found
        }
        [license, "WITH", exception, after @ ..] => {
            *rest = after;
            allowed.contains(&format!("{license} WITH {exception}").as_str())
        }
        [license, after @ ..] => {
            *rest = after;
            allowed.contains(license)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_holds_if_what_it_asks_for_is_allowed() {
        let allowed = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        for (expression, holds) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0", false),
            ("MIT OR Apache-2.0 AND GPL-3.0", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("(MIT", false),
            ("MIT)", false),
            ("MIT MIT", false),
            ("", false),
        ] {
            assert_eq!(permits(expression, &allowed), holds, "{expression}");
        }
    }

    #[test]
    fn packages_of_a_lock_file() {
        let text = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0\"\n\n[[package]]\n\
                    name = \"b\"\nversion = \"2.1\"\nsource = \"registry+x\"\nchecksum = \"ff\"\n";
        let found = locked(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_str(), &found[0].source), ("a", &None));
        assert_eq!(found[1].source.as_deref(), Some("registry+x"));
        assert_eq!(found[1].checksum.as_deref(), Some("ff"));
    }
}

//! Third-party packages: their sources, licences and purposes. And the project's own unsafe code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use nanoembed_tests::sbom::{cyclonedx, require};
use nanoembed_tests::supply::{
    WORKSPACES, host, locked, metadata, permits, python_requirements, root, string,
};

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The strings of a list in deny.toml.
fn listed(deny: &str, key: &str) -> Vec<String> {
    let start = deny.find(&format!("\n{key} = [")).unwrap_or_else(|| panic!("no {key}"));
    let list = deny[start..].split_once('[').unwrap().1.split_once("\n]");
    let list = list.map_or(deny[start..].lines().nth(1).unwrap(), |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(String::from).collect()
}

/// Licences of single packages, by the packages' names.
fn exceptions(deny: &str) -> BTreeMap<String, String> {
    let of_line = |line: &str| {
        let mut quoted = line.split('"').skip(1).step_by(2);
        Some((quoted.next()?.to_owned(), quoted.next()?.to_owned()))
    };
    deny.lines().filter(|line| line.contains("{ crate = ")).filter_map(of_line).collect()
}

#[test]
fn every_package_is_from_the_registry_with_a_checksum() {
    let deny = read("deny.toml");
    let sources: Vec<String> = deny
        .lines()
        .filter(|line| line.starts_with("allow-registry"))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .map(|url| format!("registry+{url}"))
        .collect();
    assert_eq!(sources.len(), 1, "sources of deny.toml");
    let mut of_others = 0;
    for manifest in WORKSPACES {
        let lock = Path::new(manifest).with_extension("lock");
        for package in locked(&read(&lock)) {
            let Some(source) = &package.source else {
                assert!(package.name.starts_with("nanoembed"), "{package:?} of {lock:?}");
                continue;
            };
            of_others += 1;
            assert!(sources.contains(source), "{package:?} of {}", lock.display());
            let checksum = package.checksum.as_deref().unwrap_or_default();
            assert_eq!(checksum.len(), 64, "{package:?} of {}", lock.display());
        }
    }
    assert!(of_others > 500, "{of_others}");
}

#[test]
fn every_licence_is_one_of_the_list() {
    let deny = read("deny.toml");
    let allowed = listed(&deny, "allow");
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    assert!(allowed.contains(&"MIT") && allowed.contains(&"Unicode-3.0"), "{allowed:?}");
    let exceptions = exceptions(&deny);
    assert_eq!(exceptions["cbindgen"], "MPL-2.0");
    let metadata = metadata("Cargo.toml", &["--filter-platform", &host()]);
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let (name, license) = (string(package, "name"), string(package, "license"));
        let is_exception = exceptions.get(name).is_some_and(|it| permits(license, &[it]));
        assert!(is_exception || permits(license, &allowed), "{name} is under {license}");
    }
}

/// Packages of a table in docs/dependencies.md, each with a crate that uses it.
fn documented(page: &str, heading: &str) -> BTreeSet<(String, String)> {
    let section = page.split_once(&format!("## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let names =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let mut rows = BTreeSet::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [packages, users, why] = cells[..] else { panic!("{line}") };
        assert!(why.len() > 3, "no reason: {line}");
        for package in names(packages) {
            let each = names(users).into_iter().map(|user| (package.clone(), user));
            rows.extend(each);
        }
    }
    rows
}

#[test]
fn every_dependency_has_its_reason() {
    let (mut shipped, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for manifest in WORKSPACES {
        let metadata = metadata(manifest, &["--no-deps"]);
        for package in metadata["packages"].as_array().unwrap() {
            let user = string(package, "name");
            let is_tool = matches!(
                user,
                "nanoembed-tests"
                    | "nanoembed-host-tests"
                    | "nanoembed-fuzz"
                    | "nanoembed-wasm-build"
                    | "nanoembed-embassy"
            );
            for dependency in package["dependencies"].as_array().unwrap() {
                if dependency["path"].is_string() {
                    continue;
                }
                let is_shipped = dependency["kind"].is_null() && !is_tool;
                let table = if is_shipped { &mut shipped } else { &mut tested };
                table.insert((string(dependency, "name").to_owned(), user.to_owned()));
            }
        }
    }
    let page = read("docs/dependencies.md");
    assert_eq!(documented(&page, "Shipped"), shipped);
    assert_eq!(documented(&page, "Building and testing"), tested);
}

#[test]
fn a_bill_of_materials_is_complete_and_refers_to_what_it_has() {
    let metadata = metadata("Cargo.toml", &["--filter-platform", &host()]);
    let locked = locked(&read("Cargo.lock"));
    for (package, has, has_not) in [
        ("nanoembed-core", "nom", "serde"),
        ("nanoembed-ffi", "memmap2", "cbindgen"),
        ("nanoembed-cli", "clap", "assert_cmd"),
    ] {
        let document = cyclonedx(&metadata, &locked, package);
        assert_eq!(
            (&document["bomFormat"], &document["specVersion"]),
            (&"CycloneDX".into(), &"1.6".into())
        );
        assert_eq!(document["metadata"]["component"]["name"], package);
        let components = document["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|it| it["name"] == name);
        assert!(named(has).is_some() && named(has_not).is_none(), "{package}");
        let references: Vec<&str> = components
            .iter()
            .chain([&document["metadata"]["component"]])
            .map(|it| string(it, "bom-ref"))
            .collect();
        assert_eq!(references.iter().collect::<BTreeSet<_>>().len(), references.len());
        for component in components {
            assert!(component["licenses"][0]["expression"].is_string(), "{component}");
            let is_own = string(component, "name").starts_with("nanoembed");
            assert_eq!(component["hashes"].is_array(), !is_own, "{component}");
        }
        let dependencies = document["dependencies"].as_array().unwrap();
        assert_eq!(dependencies.len(), references.len());
        for of in dependencies.iter().flat_map(|it| it["dependsOn"].as_array().unwrap()) {
            assert!(references.contains(&of.as_str().unwrap()), "{of}");
        }
        assert_eq!(document, cyclonedx(&metadata, &locked, package), "the same twice");
    }
}

#[test]
fn a_bill_of_materials_has_what_python_is_asked_for() {
    let project = read("python/pyproject.toml");
    assert_eq!(python_requirements(&project).collect::<Vec<_>>(), ["numpy"]);
    let metadata = metadata("Cargo.toml", &["--filter-platform", &host()]);
    let mut document = cyclonedx(&metadata, &locked(&read("Cargo.lock")), "nanoembed-core");
    require(&mut document, "pypi", "numpy");
    let numpy = document["components"].as_array().unwrap().last().unwrap();
    assert_eq!((&numpy["name"], &numpy["purl"]), (&"numpy".into(), &"pkg:pypi/numpy".into()));
    let main = &document["metadata"]["component"]["bom-ref"];
    let dependencies = document["dependencies"].as_array().unwrap();
    let of_main = dependencies.iter().find(|it| it["ref"] == *main).unwrap();
    assert!(of_main["dependsOn"].as_array().unwrap().contains(&numpy["bom-ref"]));
}

/// The sources under a folder, without comments.
fn code(folder: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join(folder)];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let source = fs::read_to_string(&path).expect("UTF-8");
                let lines = source.lines().map(|line| line.split("//").next().unwrap_or_default());
                sources.push((path, lines.collect::<Vec<_>>().join("\n")));
            }
        }
    }
    sources
}

/// The number of uses of `unsafe` in each crate: blocks, functions, implementations.
fn counted(folder: &str) -> [usize; 3] {
    let mut counts = [0; 3];
    for (_, source) in code(folder) {
        for (at, word) in source.match_indices("unsafe") {
            let is_word = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
            let after = &source[at + word.len()..];
            if !is_word(source[..at].chars().next_back()) || !is_word(after.chars().next()) {
                continue;
            }
            let after = after.trim_start();
            counts[0] += usize::from(after.starts_with('{'));
            counts[1] +=
                usize::from(after.starts_with("fn ") || after.starts_with("extern \"C\" fn "));
            counts[2] += usize::from(after.starts_with("impl"));
        }
    }
    counts
}

#[test]
fn the_page_on_security_says_where_there_is_unsafe_code() {
    let page = read("SECURITY.md");
    for (name, folder) in [
        ("core", "core/src"),
        ("nanoembed", "nanoembed/src"),
        ("search", "search/src"),
        ("serve", "serve/src"),
        ("cli", "cli/src"),
        ("ffi", "ffi/src"),
        ("wasm", "wasm/src"),
        ("python", "python/src"),
        ("datafusion", "datafusion/src"),
    ] {
        let [blocks, functions, implementations] = counted(folder);
        let row = format!("| `{name}` | {blocks} | {functions} | {implementations} |");
        assert!(page.contains(&row), "SECURITY.md should say {row}");
    }
}

/// Clippy checks the reason of every unsafe block; this checks that Clippy is asked to.
#[test]
fn every_unsafe_block_must_say_why_it_is_sound() {
    for manifest in ["Cargo.toml", "python/Cargo.toml"] {
        let manifest = read(manifest);
        assert!(manifest.contains("\nundocumented_unsafe_blocks = \"deny\"\n"), "{manifest}");
        assert!(manifest.contains("\nunsafe_op_in_unsafe_fn = \"deny\"\n"), "{manifest}");
    }
    assert!(read("datafusion/Cargo.toml").contains("\nunsafe_code = \"forbid\"\n"));
    for crate_name in
        ["core", "nanoembed", "ranking", "search", "serve", "cli", "ffi", "tests", "wasm"]
    {
        let manifest = read(format!("{crate_name}/Cargo.toml"));
        assert!(manifest.contains("\n[lints]\nworkspace = true\n"), "{crate_name}");
    }
    for folder in [
        "core/src",
        "nanoembed/src",
        "ranking/src",
        "search/src",
        "serve/src",
        "cli/src",
        "ffi/src",
        "wasm/src",
        "python/src",
    ] {
        for (path, source) in code(folder) {
            let is_loosened = source.contains("undocumented_unsafe_blocks");
            assert!(!is_loosened, "{} allows blocks without a reason", path.display());
        }
    }
}

#[test]
fn a_list_of_licences_is_read_as_it_stands() {
    let deny = "[x]\nallow = [\n    \"A\",\n    \"B WITH C\",\n]\nother = [\"D\"]\n";
    assert_eq!(listed(deny, "allow"), ["A", "B WITH C"]);
    let one = exceptions("exceptions = [\n    { crate = \"p\", allow = [\"Q\"] },\n]\n");
    assert_eq!(one, BTreeMap::from([("p".to_owned(), "Q".to_owned())]));
}

//! The packages that a crate is built of, as a CycloneDX 1.6 document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::supply::{Locked, string};

/// The document of `package`: its dependencies for the target and the features for which `metadata`
/// was queried. Reproducible for the same lock file: without a date and a serial number.
///
/// # Panics
///
/// If `metadata` is not `cargo metadata`'s, or has no such package.
#[must_use]
pub fn cyclonedx(metadata: &Value, locked: &[Locked], package: &str) -> Value {
    let packages: BTreeMap<&str, &Value> =
        items(&metadata["packages"]).map(|it| (string(it, "id"), it)).collect();
    let nodes: BTreeMap<&str, &Value> =
        items(&metadata["resolve"]["nodes"]).map(|it| (string(it, "id"), it)).collect();
    let root = packages.iter().find(|(_, it)| it["name"] == package);
    let root = *root.unwrap_or_else(|| panic!("no package {package}")).0;
    let (mut reached, mut open) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = open.pop() {
        open.extend(built_of(nodes[id]).filter(|id| reached.insert(id)));
    }
    let component = |id: &str| component(packages[id], locked);
    let reference = |id: &str| purl(packages[id]);
    let dependencies = reached.iter().map(|id| {
        let of: BTreeSet<String> = built_of(nodes[id]).map(reference).collect();
        json!({ "ref": reference(id), "dependsOn": of })
    });
    let mut main = component(root);
    main["type"] = if package == "nanoembed-cli" { "application" } else { "library" }.into();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": main },
        "components": reached.iter().filter(|id| **id != root).map(|id| component(id)).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

/// Adds a package of another registry, which the main component asks for where it is installed.
pub fn require(document: &mut Value, registry: &str, name: &str) {
    let purl = format!("pkg:{registry}/{name}");
    let main = document["metadata"]["component"]["bom-ref"].clone();
    let component = json!({ "type": "library", "bom-ref": purl, "name": name, "purl": purl, "scope": "required" });
    if let Some(components) = document["components"].as_array_mut() {
        components.push(component);
    }
    let Some(dependencies) = document["dependencies"].as_array_mut() else { return };
    for dependency in dependencies.iter_mut().filter(|it| it["ref"] == main) {
        if let Some(of) = dependency["dependsOn"].as_array_mut() {
            of.push(purl.clone().into());
        }
    }
    dependencies.push(json!({ "ref": purl, "dependsOn": [] }));
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The dependencies of a package, except for those of its tests.
fn built_of(node: &Value) -> impl Iterator<Item = &str> {
    let is_built = |it: &&Value| items(&it["dep_kinds"]).any(|kind| kind["kind"] != "dev");
    items(&node["deps"]).filter(is_built).map(|it| string(it, "pkg"))
}

fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", string(package, "name"), string(package, "version"))
}

fn component(package: &Value, locked: &[Locked]) -> Value {
    let (name, version) = (string(package, "name"), string(package, "version"));
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": name,
        "version": version,
        "purl": purl(package),
        "scope": "required",
    });
    if let Some(license) = package["license"].as_str() {
        let expression = license.replace('/', " OR ");
        let expression = expression.split_whitespace().collect::<Vec<_>>().join(" ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    let entry = locked.iter().find(|it| it.name == name && it.version == version);
    if let Some(checksum) = entry.and_then(|it| it.checksum.as_ref()) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

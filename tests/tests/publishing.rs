//! What is published can be used by whom it is for: each package is whole without this repository, and nothing that it
//! needs wants a newer Rust than it says. CONTRIBUTING tells what `.ci/run publishing` checks besides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const PUBLISHED: [&str; 3] = ["mcp-sse-blocking", "mcp-sse-core", "mcp-sse-tokio"];

/// Features that say themselves that they want a newer Rust.
const NEWER_RUST: [&str; 1] = ["rmcp"];

fn cargo(arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO")).current_dir(root).args(arguments).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// The workspace with every feature of the published crates, but those that want a newer Rust.
fn metadata() -> Value {
    let manifests: Value = parsed(&cargo(&["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]));
    let mut features = Vec::new();
    for package in packages(&manifests).filter(|package| PUBLISHED.contains(&text(package, "name"))) {
        let names = package["features"].as_object().expect("features are a table").keys();
        let kept = names.filter(|name| !NEWER_RUST.contains(&name.as_str()));
        features.extend(kept.map(|name| format!("{}/{name}", text(package, "name"))));
    }
    let features = features.join(",");
    parsed(&cargo(&["metadata", "--format-version=1", "--locked", "--offline", "--features", &features]))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("cargo writes JSON")
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().expect("a list of packages").iter()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The dependencies of a package that only these features turn on.
fn only_by_newer_rust(package: &Value) -> BTreeSet<String> {
    let features = package["features"].as_object().expect("features are a table");
    let turned_on = |newer: bool| -> BTreeSet<String> {
        features
            .iter()
            .filter(|(name, _)| NEWER_RUST.contains(&name.as_str()) == newer)
            .flat_map(|(_, list)| list.as_array().into_iter().flatten().filter_map(Value::as_str))
            .filter_map(|entry| entry.strip_prefix("dep:").map(str::to_owned))
            .collect()
    };
    &turned_on(true) - &turned_on(false)
}

fn version(text: &str) -> (u64, u64) {
    let mut parts = text.split('.').map(|part| part.parse().expect("a number"));
    (parts.next().expect("a major version"), parts.next().unwrap_or(0))
}

#[test]
fn no_dependency_wants_a_newer_rust_than_the_crate_says() {
    let metadata = metadata();
    let by_id: BTreeMap<&str, &Value> = packages(&metadata).map(|package| (text(package, "id"), package)).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a list of nodes");
    let nodes: BTreeMap<&str, &Value> = nodes.iter().map(|node| (text(node, "id"), node)).collect();
    for name in PUBLISHED {
        let root = packages(&metadata).find(|package| text(package, "name") == name).expect("it is in the workspace");
        let own = version(text(root, "rust_version"));
        assert_eq!(own, (1, 85), "README and CONTRIBUTING say so");
        let left_out = only_by_newer_rust(root);
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![text(root, "id")]);
        while let Some(id) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            let package = by_id[id];
            if let Some(wanted) = package["rust_version"].as_str() {
                assert!(version(wanted) <= own, "{name} needs {id}, which wants Rust {wanted}");
            }
            let needed = nodes[id]["deps"].as_array().expect("a list of dependencies").iter().filter(|dependency| {
                // Neither what tests need nor what is for a feature that says so.
                let kinds = dependency["dep_kinds"].as_array().expect("a list of kinds");
                kinds.iter().any(|kind| kind["kind"] != "dev")
                    && !(id == text(root, "id") && left_out.contains(text(by_id[text(dependency, "pkg")], "name")))
            });
            waiting.extend(needed.map(|dependency| text(dependency, "pkg")));
        }
        assert!(seen.len() > 5, "{name} has dependencies, and they were looked at");
    }
}

#[test]
fn each_package_has_its_licences_and_readme_and_nothing_of_the_workshop() {
    for name in PUBLISHED {
        let files = cargo(&["package", "--package", name, "--list", "--allow-dirty", "--offline"]);
        let files: BTreeSet<&str> = files.lines().collect();
        for wanted in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"] {
            assert!(files.contains(wanted), "{name} is published without {wanted}");
        }
        let own = [
            "Cargo.toml",
            "Cargo.toml.orig",
            "Cargo.lock",
            ".cargo_vcs_info.json",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "README.md",
        ];
        let others: Vec<_> = files.iter().filter(|file| !file.starts_with("src/") && !own.contains(file)).collect();
        assert!(others.is_empty(), "{name} is published with {others:?}");
    }
}

#[test]
fn the_manifests_say_what_a_registry_and_docs_rs_ask() {
    let metadata = parsed(&cargo(&["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]));
    for package in packages(&metadata) {
        let name = text(package, "name");
        let may_be_published = package["publish"].is_null();
        assert_eq!(may_be_published, PUBLISHED.contains(&name), "{name}");
        if !may_be_published {
            continue;
        }
        assert!(!text(package, "description").is_empty(), "{name} has no description");
        assert_eq!(text(package, "license"), "MIT OR Apache-2.0", "{name}");
        // A registry takes five of each.
        for list in ["keywords", "categories"] {
            let count = package[list].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&count), "{name} has {count} {list}");
        }
        assert_eq!(package["metadata"]["docs"]["rs"]["all-features"], true, "{name}: docs.rs shows every feature");
        // What is built for a release comes from the registry.
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            if dependency["kind"] != "dev" {
                assert_ne!(text(dependency, "req"), "*", "{name}: {} has no version", text(dependency, "name"));
            }
        }
    }
}

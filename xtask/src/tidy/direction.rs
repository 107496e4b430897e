//! Check: crates depend downwards only, and take versions and lints from the workspace.
//!
//! placement ← store ← { timeline, tally, index } ← platform ← services ← web ← ostrakon

use toml::{Table, Value};

use super::{Complaint, SourceFile};

/// Where a crate stands. The order is the direction: a crate may depend on lower layers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    /// Means for tests and for the demo, which know nothing of the rest.
    Support,
    Placement,
    Store,
    /// Only the binary names an engine; the tests of a crate may.
    Engine,
    Kernel,
    Platform,
    /// Services never depend on each other; the binary wires them.
    Service,
    Web,
    Binary,
    /// End-to-end tests and benchmarks, which may use everything.
    Judge,
}

/// Every crate of the workspace. A new crate is added here, in its layer.
const CRATES: &[(&str, Layer)] = &[
    ("parts", Layer::Support),
    ("devnet", Layer::Support),
    ("xtask", Layer::Support),
    ("placement", Layer::Placement),
    ("store", Layer::Store),
    ("store-fjall", Layer::Engine),
    ("store-cassandra", Layer::Engine),
    ("store-remote", Layer::Engine),
    ("timeline", Layer::Kernel),
    ("tally", Layer::Kernel),
    ("index", Layer::Kernel),
    ("platform", Layer::Platform),
    // A protocol without knowledge of chains, which services implement keys for.
    ("resp", Layer::Platform),
    ("scan", Layer::Service),
    ("utxo", Layer::Service),
    ("staking", Layer::Service),
    ("portal", Layer::Service),
    ("gateway", Layer::Service),
    ("web", Layer::Web),
    ("ostrakon", Layer::Binary),
    ("end-to-end", Layer::Judge),
    ("benches", Layer::Judge),
];

/// The tables of a manifest that name dependencies.
const KINDS: [&str; 3] = ["dependencies", "build-dependencies", "dev-dependencies"];

/// Crates depend downwards only.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (file, manifest) in manifests(files, &mut complaints) {
        let Some(name) = package_name(&manifest) else { continue };
        let Some(from) = layer(name) else {
            let what = format!("`{name}` has no layer; add it to CRATES in {}", file!());
            complaints.push(file.complaint(line_of(file, "name"), what));
            continue;
        };
        for dependency in dependencies(&manifest) {
            let Some(to) = layer(dependency.package) else { continue };
            if let Err(reason) = allowed(name, from, to, dependency.is_dev) {
                let what =
                    format!("`{name}` must not depend on `{}`: {reason}", dependency.package);
                complaints.push(file.complaint(line_of(file, dependency.key), what));
            }
        }
    }
    complaints
}

/// Versions and lints stand in the workspace, once.
pub(super) fn inherits(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (file, manifest) in manifests(files, &mut Vec::new()) {
        if package_name(&manifest).is_none() {
            continue;
        }
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints.and_then(Value::as_bool) != Some(true) {
            let what = "add `[lints]` with `workspace = true`";
            complaints.push(file.complaint(1, what));
        }
        for dependency in dependencies(&manifest) {
            let shared = dependency.value.get("workspace").and_then(Value::as_bool);
            if shared != Some(true) {
                let what = format!(
                    "write `{}.workspace = true`, and its version with a reason into the root",
                    dependency.key
                );
                complaints.push(file.complaint(line_of(file, dependency.key), what));
            }
        }
    }
    complaints
}

/// Whether a crate of one layer may depend on one of another, or why not.
fn allowed(name: &str, from: Layer, to: Layer, is_dev: bool) -> Result<(), &'static str> {
    match (from, to) {
        (Layer::Judge, _) => Ok(()),
        // The tasks use the means for tests; nothing uses the tasks.
        (Layer::Support, Layer::Support) if name == "xtask" => Ok(()),
        (Layer::Support, _) => Err("it knows nothing of the platform"),
        (_, Layer::Support) if is_dev || from == Layer::Binary => Ok(()),
        (_, Layer::Support) => Err("means for tests are dev-dependencies"),
        (_, Layer::Engine) if from != Layer::Binary && !is_dev => {
            Err("only the binary names an engine; use the traits of `store`")
        }
        // An engine that stands before another is tested with one.
        (Layer::Engine, Layer::Engine) if is_dev => Ok(()),
        (Layer::Service, Layer::Service) => {
            Err("services never depend on each other; share through `platform`")
        }
        (from, to) if to < from => Ok(()),
        _ => Err("dependencies point downwards only; see the layers in ARCHITECTURE.md"),
    }
}

fn layer(name: &str) -> Option<Layer> {
    CRATES.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

/// All manifests that can be read; the others are complained of.
fn manifests<'a>(
    files: &'a [SourceFile],
    complaints: &mut Vec<Complaint>,
) -> Vec<(&'a SourceFile, Table)> {
    let is_manifest = |path: &str| path == "Cargo.toml" || path.ends_with("/Cargo.toml");
    let mut manifests = Vec::new();
    for file in files.iter().filter(|file| is_manifest(&file.path)) {
        match file.text.parse::<Table>() {
            Ok(manifest) => manifests.push((file, manifest)),
            Err(error) => complaints.push(file.complaint(1, error.message())),
        }
    }
    manifests
}

fn package_name(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

/// One line of a table of dependencies.
struct Dependency<'a> {
    key: &'a str,
    /// The crate's own name, where the key is another.
    package: &'a str,
    value: &'a Value,
    is_dev: bool,
}

/// All dependencies of a manifest, those of single targets included. A crate that depends on
/// itself, which gives its own tests its features, is no dependency.
fn dependencies(manifest: &Table) -> Vec<Dependency<'_>> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(|table| table.values()).filter_map(Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(targets) {
        for kind in KINDS {
            let listed = table.get(kind).and_then(Value::as_table);
            for (key, value) in listed.into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
                if package_name(manifest) != Some(package) {
                    found.push(Dependency { key, package, value, is_dev: kind == KINDS[2] });
                }
            }
        }
    }
    found
}

/// The line on which a key stands: `key = …`, `key.workspace = …` or `[dependencies.key]`.
fn line_of(file: &SourceFile, key: &str) -> usize {
    let stands = |line: &str| {
        let line = line.trim_start();
        let rest = line.strip_prefix(key).or_else(|| line.strip_prefix(&format!("\"{key}\"")));
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
            || line.starts_with('[') && line.trim_end().ends_with(&format!(".{key}]"))
    };
    file.text.lines().position(stands).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::{files, places};
    use super::*;

    fn complaints(name: &str, rest: &str) -> Vec<Complaint> {
        let text = format!("[package]\nname = \"{name}\"\n{rest}");
        check(&files(&[("crates/x/Cargo.toml", &text)]))
    }

    fn may(name: &str, kind: &str, dependency: &str) -> bool {
        complaints(name, &format!("[{kind}]\n{dependency}.workspace = true\n")).is_empty()
    }

    #[test]
    fn dependencies_point_downwards() {
        assert!(may("store", "dependencies", "placement"));
        assert!(may("timeline", "dependencies", "store"));
        assert!(may("scan", "dependencies", "timeline"));
        assert!(may("web", "dependencies", "scan"));
        assert!(may("ostrakon", "dependencies", "web"));
        assert!(may("store", "dependencies", "serde"));
        assert!(!may("placement", "dependencies", "store"));
        assert!(!may("store", "dependencies", "timeline"));
        assert!(!may("platform", "dependencies", "portal"));
        assert!(!may("tally", "dependencies", "timeline"));
    }

    #[test]
    fn services_do_not_know_each_other() {
        assert!(!may("scan", "dependencies", "utxo"));
        assert!(!may("gateway", "dev-dependencies", "portal"));
    }

    #[test]
    fn only_the_binary_and_tests_name_an_engine() {
        assert!(may("ostrakon", "dependencies", "store-fjall"));
        assert!(may("benches", "dependencies", "store-cassandra"));
        assert!(may("end-to-end", "dependencies", "store-fjall"));
        assert!(may("timeline", "dev-dependencies", "store-fjall"));
        assert!(!may("scan", "dependencies", "store-fjall"));
        assert!(!may("store", "dev-dependencies", "store-fjall"));
    }

    #[test]
    fn means_for_tests_stay_in_tests() {
        assert!(may("store-fjall", "dev-dependencies", "parts"));
        assert!(may("xtask", "dependencies", "parts"));
        assert!(may("ostrakon", "dependencies", "devnet"));
        assert!(!may("store-fjall", "dependencies", "parts"));
        assert!(!may("parts", "dependencies", "store"));
    }

    #[test]
    fn a_crate_may_use_itself_in_its_tests() {
        let itself = "[dev-dependencies]\nstore = { path = \".\", features = [\"suite\"] }\n";
        assert!(complaints("store", itself).is_empty());
    }

    #[test]
    fn every_form_of_a_dependency_is_read_and_its_line_named() {
        let renamed = "[dependencies]\nother = { package = \"utxo\", workspace = true }\n";
        assert_eq!(places(&complaints("scan", renamed)), ["crates/x/Cargo.toml:4"]);
        let table = "[dependencies.utxo]\nworkspace = true\n";
        assert_eq!(places(&complaints("scan", table)), ["crates/x/Cargo.toml:3"]);
        let target = "[target.'cfg(unix)'.dependencies]\nutxo.workspace = true\n";
        assert_eq!(places(&complaints("scan", target)), ["crates/x/Cargo.toml:4"]);
    }

    #[test]
    fn a_crate_without_a_layer_and_a_broken_manifest_are_named() {
        assert_eq!(places(&complaints("newcomer", "")), ["crates/x/Cargo.toml:2"]);
        assert_eq!(complaints("scan", "[dependencies").len(), 1);
    }

    #[test]
    fn versions_and_lints_come_from_the_workspace() {
        let good = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n\
                    [dependencies]\nserde.workspace = true\nb = { workspace = true }\n";
        assert!(inherits(&files(&[("a/Cargo.toml", good)])).is_empty());
        let bad = "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n";
        let found = inherits(&files(&[("a/Cargo.toml", bad)]));
        assert_eq!(places(&found), ["a/Cargo.toml:1", "a/Cargo.toml:4"]);
        let root = "[workspace]\nmembers = []\n";
        assert!(inherits(&files(&[("Cargo.toml", root)])).is_empty());
    }
}

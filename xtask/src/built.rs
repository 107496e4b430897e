//! Which programs cargo has built of the integration tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};

use crate::suites::BUILD;
use crate::workspace::Workspace;

/// Integration tests of the workspace, ready to run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Built {
    tests: HashMap<(String, String), Test>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    pub(crate) program: PathBuf,
    /// The directory of its crate, in which it runs.
    pub(crate) directory: PathBuf,
}

impl Built {
    /// Asks cargo, which builds what is not built yet; `optimised` for counts that take hours else.
    pub(crate) fn of(workspace: &Workspace, optimised: bool) -> anyhow::Result<Self> {
        let mut command = workspace.cargo(BUILD);
        command.args(optimised.then_some("--release"));
        command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
        let output = command.output().context("cannot start cargo")?;
        if !output.status.success() {
            bail!("cargo ended with {}", output.status);
        }
        Self::read(&String::from_utf8_lossy(&output.stdout))
    }

    /// Reads cargo's messages, one JSON object a line.
    fn read(messages: &str) -> anyhow::Result<Self> {
        let mut built = Self::default();
        for line in messages.lines() {
            let message: serde_json::Value = serde_json::from_str(line).context(line.to_owned())?;
            let text = |pointer: &str| message.pointer(pointer).and_then(|value| value.as_str());
            if text("/target/kind/0") != Some("test") {
                continue;
            }
            let (Some(name), Some(manifest), Some(program)) =
                (text("/target/name"), text("/manifest_path"), text("/executable"))
            else {
                continue;
            };
            let directory = Path::new(manifest).parent().context("a manifest lies in a crate")?;
            let package = directory.file_name().unwrap_or_default().to_string_lossy();
            let test = Test { program: program.into(), directory: directory.to_owned() };
            built.tests.insert((package.into_owned(), name.to_owned()), test);
        }
        Ok(built)
    }

    /// The test of this name in the crate of this name.
    pub(crate) fn test(&self, package: &str, name: &str) -> anyhow::Result<&Test> {
        let found = self.tests.get(&(package.to_owned(), name.to_owned()));
        found.with_context(|| format!("{package} has no tests/{name}.rs: see xtask/src/suites.rs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_integration_tests_are_found_among_the_messages() {
        let messages =
            r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/tally/Cargo.toml",\
"target":{"kind":["test"],"name":"kill"},"executable":"/t/debug/deps/kill-1"}
{"reason":"compiler-artifact","manifest_path":"/w/crates/tally/Cargo.toml",\
"target":{"kind":["lib"],"name":"tally"},"executable":"/t/debug/deps/tally-1"}
{"reason":"build-finished","success":true}"#
                .replace("\\\n", "");
        let built = Built::read(&messages).expect("read");
        let kill = built.test("tally", "kill").expect("built");
        assert_eq!(kill.program, Path::new("/t/debug/deps/kill-1"));
        assert_eq!(kill.directory, Path::new("/w/crates/tally"));
        let error = built.test("tally", "tally").expect_err("no integration test").to_string();
        assert!(error.contains("tests/tally.rs"), "{error}");
        assert!(Built::read("no JSON").is_err());
    }
}

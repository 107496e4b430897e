//! Packages for Node.js, for tests that drive a browser or run a Conflux node.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Cache, CacheError};
use crate::command::{CommandError, in_path, run};
use crate::debian;
use crate::need::Missing;

/// Packages in the cache, and the `node` to run scripts with.
#[derive(Clone, Debug)]
pub struct Packages {
    dir: PathBuf,
}

/// Installs Node.js if it is not there, and packages with exact versions (`axe-core@4.14.0`).
///
/// They stay in the cache under `name` and `version`; whoever changes the packages changes the
/// version. Scripts of packages are not run: what a test needs comes with the files.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install(name: &str, version: &str, packages: &[&str]) -> Result<Packages, Missing> {
    install_with(name, version, None, packages)
}

/// As [`install`], with all that the packages need as it was on a day (`2026-09-01`).
///
/// Exact versions pin the packages, not what these depend on: a package whose dependencies broke
/// later can only be had as of a day before that.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install_as_of(
    day: &str,
    name: &str,
    version: &str,
    packages: &[&str],
) -> Result<Packages, Missing> {
    install_with(name, version, Some(day), packages)
}

fn install_with(
    name: &str,
    version: &str,
    day: Option<&str>,
    packages: &[&str],
) -> Result<Packages, Missing> {
    let mut options = vec!["install".to_owned(), "--ignore-scripts".to_owned()];
    options.extend(day.map(|day| format!("--before={day}")));
    options.extend(packages.iter().map(ToString::to_string));
    for (program, package) in [("node", "nodejs"), ("npm", "npm")] {
        if in_path(program).is_none() {
            debian::ensure(&[package])?;
        }
    }
    let entry = Cache::open()
        .and_then(|cache| cache.entry(name, version, |dir| fetch(dir, &options)))
        .map_err(|error| missing(&error, &options, packages))?;
    Ok(Packages { dir: entry })
}

impl Packages {
    /// Where the packages are, as the directory above `node_modules`.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A run of a script, not yet started. The script finds the packages' directory in `PACKAGES`:
    /// it stands in the checkout, and Node.js looks for modules beside the script only.
    #[must_use]
    pub fn script(&self, path: impl AsRef<Path>) -> Command {
        let mut command = Command::new("node");
        command.arg(path.as_ref()).env("PACKAGES", &self.dir);
        command
    }
}

fn fetch(dir: &Path, options: &[String]) -> Result<(), CommandError> {
    let mut npm = Command::new("npm");
    npm.args(options).args(["--no-audit", "--no-fund", "--prefix", "."]);
    run(npm.current_dir(dir)).map(drop)
}

fn missing(error: &CacheError, options: &[String], packages: &[&str]) -> Missing {
    let command = format!("npm {}", options.join(" "));
    Missing::new(format!("npm packages {}", packages.join(" ")), error.to_string(), command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_packages_and_command() {
        let error = CacheError::Build { entry: "a-1".into(), source: "no route".into() };
        let options = ["install", "--before=2026-09-01", "a@1", "b@2"].map(str::to_owned);
        let line = missing(&error, &options, &["a@1", "b@2"]).line();
        assert!(line.starts_with("npm packages a@1 b@2: "), "{line}");
        let command = "no route; run: npm install --before=2026-09-01 a@1 b@2";
        assert!(line.ends_with(command), "{line}");
    }

    #[test]
    fn a_script_is_told_where_the_packages_are() {
        let packages = Packages { dir: "/cache/a-1".into() };
        let command = packages.script("walk.mjs");
        let told = command.get_envs().find(|(name, _)| *name == "PACKAGES");
        assert_eq!(told.and_then(|(_, value)| value), Some("/cache/a-1".as_ref()));
    }
}

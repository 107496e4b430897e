//! Python programs, each in an environment of its own.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Cache, CacheError};
use crate::command::run;
use crate::debian;
use crate::need::Missing;

/// Debian's Python. Another one may come first in `PATH`, and may go when its version manager
/// likes; an environment is tied to the one that made it.
const PYTHON: &str = "/usr/bin/python3";

/// An environment in the cache.
#[derive(Clone, Debug)]
pub struct Environment {
    dir: PathBuf,
}

/// Installs Python if it is not there, and packages from a list with exact versions, as
/// `pip freeze` writes it.
///
/// They stay in the cache under `name` and `version`; whoever changes the list changes the version.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install(name: &str, version: &str, list: &str) -> Result<Environment, Missing> {
    debian::ensure(&["python3-venv"])?;
    let entry = Cache::open()
        .and_then(|cache| cache.entry(name, version, |dir| fetch(dir, list)))
        .map_err(|error| missing(name, version, &error))?;
    Ok(Environment { dir: entry })
}

impl Environment {
    /// A run of a module (`python -m`), not yet started. Programs in `bin` name the directory that
    /// they were installed in, which is not the one they are in now; modules do not.
    #[must_use]
    pub fn module(&self, name: &str) -> Command {
        let mut command = Command::new(self.dir.join("bin/python"));
        // Nothing is written beside the modules: several tests may use them at once.
        command.args(["-B", "-m", name]);
        command
    }
}

fn fetch(dir: &Path, list: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    run(Command::new(PYTHON).args(["-m", "venv"]).arg(dir))?;
    let wanted = dir.join("requirements.txt");
    fs::write(&wanted, list)?;
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]);
    run(pip.arg("--requirement").arg(&wanted))?;
    Ok(())
}

fn missing(name: &str, version: &str, error: &CacheError) -> Missing {
    let command = format!("{PYTHON} -m pip install {name}=={version}");
    Missing::new(format!("Python package {name} {version}"), error.to_string(), command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_package_and_command() {
        let error = CacheError::Build { entry: "a-1".into(), source: "no route".into() };
        let line = missing("a", "1", &error).line();
        assert!(line.starts_with("Python package a 1: "), "{line}");
        assert!(line.contains("no route; run: ") && line.ends_with("pip install a==1"), "{line}");
    }

    #[test]
    fn a_module_runs_in_its_environment() {
        let environment = Environment { dir: "/cache/a-1".into() };
        let command = environment.module("a.cli");
        assert_eq!(command.get_program(), "/cache/a-1/bin/python");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-B", "-m", "a.cli"]);
    }
}

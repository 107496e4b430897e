//! How a Conflux node comes to this machine: a package of npm, and a library to preload.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Conflux;
use crate::cache::{Cache, CacheError};
use crate::command::{in_path, run};
use crate::need::Missing;
use crate::{debian, npm};

/// The version of `@xcfx/node` that is tested; conflux-rust 2.4.0 is inside.
const VERSION: &str = "0.3.2";

/// The packages. The node itself is in the second one, which the first names as optional: npm
/// would leave it out silently when it cannot be fetched, and the cache would keep the hole.
const PACKAGES: [&str; 2] = ["@xcfx/node@0.3.2", "@xcfx/node-linux-x64-gnu@0.3.1"];

/// A later day brings a client library (`viem`) that asks for a package nobody has (`ox`).
const DAY: &str = "2026-09-01";

/// The library's source, and a version that changes with it.
const LOOPBACK: (&str, &str) = ("2", include_str!("loopback.c"));

/// Installs Node.js, the Conflux node and the library if they are not there; 127 MB, once.
///
/// # Errors
///
/// A [`Missing`] with the command to run, for [`require`](crate::require).
pub fn install() -> Result<Conflux, Missing> {
    if std::env::consts::ARCH != "x86_64" {
        let why = "@xcfx/node has a Linux build for x86_64 only";
        return Err(Missing::new("Conflux node", why, "uname -m"));
    }
    let packages = npm::install_as_of(DAY, "conflux", VERSION, &PACKAGES)?;
    Ok(Conflux { packages: packages.dir().to_owned(), loopback: loopback()? })
}

/// The library that keeps the node on the loopback address.
fn loopback() -> Result<PathBuf, Missing> {
    if in_path("cc").is_none() {
        debian::ensure(&["gcc", "libc6-dev"])?;
    }
    let (version, source) = LOOPBACK;
    let entry = Cache::open()
        .and_then(|cache| cache.entry("loopback", version, |dir| compile(dir, source)))
        .map_err(|error| missing(&error))?;
    Ok(entry.join("loopback.so"))
}

fn compile(dir: &Path, source: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    fs::write(dir.join("loopback.c"), source)?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", "loopback.so", "loopback.c"]);
    // Older C libraries have dlsym in a library of its own; on newer ones that is empty.
    run(cc.arg("-ldl").current_dir(dir))?;
    Ok(())
}

fn missing(error: &CacheError) -> Missing {
    let command = "sudo apt-get install gcc libc6-dev";
    Missing::new("a C compiler", error.to_string(), command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_compiler_is_told_with_its_command() {
        let error = CacheError::Build { entry: "loopback-1".into(), source: "no stdio.h".into() };
        let line = missing(&error).line();
        assert!(line.contains("no stdio.h; run: sudo apt-get install gcc"), "{line}");
    }

    #[test]
    fn the_first_package_is_the_version_that_names_the_entry() {
        assert!(PACKAGES[0].ends_with(&format!("@{VERSION}")));
    }
}

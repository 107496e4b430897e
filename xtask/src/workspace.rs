//! Where the checkout is, and how cargo is called in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use parts::Cache;

/// The checkout this task runs in.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    /// Whether the target directory outlives the checkout.
    is_kept: bool,
}

impl Workspace {
    /// The workspace that cargo runs this task from.
    ///
    /// Asked of the environment and not fixed at build time: in CI the target directory outlives
    /// the clone, and with it a binary that was built in another place.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("start this as `cargo xtask`, which says where the workspace is")?;
        let root = Path::new(&manifest).parent().context("xtask lies in the workspace")?;
        let target = target_dir(root)?;
        let is_kept = Cache::open().is_ok_and(|cache| cache.target_dir() == target);
        Ok(Self { root: root.to_owned(), target, is_kept })
    }

    /// The directory of the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo builds.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Whether that is the directory of the cache, which no checkout owns.
    pub(crate) fn is_target_kept(&self) -> bool {
        self.is_kept
    }

    /// Runs such a call.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let status = self.cargo(arguments).status().context("cannot start cargo")?;
        anyhow::ensure!(status.success(), "`cargo {}` ended with {status}", arguments.join(" "));
        Ok(())
    }

    /// A call of the cargo that runs this task, in the workspace and its target directory.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        // What cargo tells this program of itself. Build scripts of dependencies watch the same
        // names, and would build everything again after each call from a shell.
        for (name, _) in std::env::vars_os() {
            if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|it| starts_with(&name, it)) {
                command.env_remove(name);
            }
        }
        if self.is_kept {
            // A checkout that is built once gains nothing by it, and it fills the cache: more than
            // twice of all that it builds.
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }
}

fn starts_with(name: &std::ffi::OsStr, start: &str) -> bool {
    name.as_encoded_bytes().starts_with(start.as_bytes())
}

/// The directory of the environment; else, in CI, one outside the checkout, because a fresh clone
/// would compile every dependency again; else the usual one.
fn target_dir(root: &Path) -> anyhow::Result<PathBuf> {
    if let Some(dir) = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()) {
        return std::path::absolute(dir).context("CARGO_TARGET_DIR");
    }
    if parts::in_ci() { Ok(Cache::open()?.target_dir()) } else { Ok(root.join("target")) }
}

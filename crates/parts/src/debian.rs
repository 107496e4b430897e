//! Debian packages: installed by root, named with the exact command for everybody else.

use std::process::Command;

use crate::cache::Cache;
use crate::command::{CommandError, run, shown};
use crate::need::{Missing, is_root};

/// Makes sure that packages are installed.
///
/// Root installs what is missing, without recommended packages; the package lists are fetched only
/// when the installation fails without that, because on most machines they are there. A lock keeps
/// two test processes from installing at once.
///
/// # Errors
///
/// A [`Missing`], for [`require`](crate::require), with the command to run: as another user, or
/// when the installation fails.
pub fn ensure(packages: &[&str]) -> Result<(), Missing> {
    let absent = absent(packages);
    if absent.is_empty() {
        return Ok(());
    }
    let missing = |why: String| {
        let packages = absent.join(" ");
        let command = format!("sudo {}", shown(&install(&absent)));
        Missing::new(format!("Debian package {packages}"), why, command)
    };
    if !is_root() {
        return Err(missing("it is not installed, and only root can install it".to_owned()));
    }
    let lock = Cache::open().and_then(|cache| cache.lock("apt"));
    let _lock = lock.map_err(|error| missing(error.to_string()))?;
    // Another process may have installed some while this one waited.
    let absent = self::absent(packages);
    if absent.is_empty() {
        return Ok(());
    }
    install_fetching_lists_if_needed(&absent).map_err(|error| missing(error.to_string()))
}

/// Those of the packages that are not installed.
fn absent<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    packages.iter().copied().filter(|package| !installed(package)).collect()
}

fn installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    // An error means an unknown package, or a system without dpkg: not installed either way.
    run(query.args(["-W", "-f=${db:Status-Status}", package]))
        .is_ok_and(|status| status == "installed")
}

fn install_fetching_lists_if_needed(packages: &[&str]) -> Result<(), CommandError> {
    if run(&mut install(packages)).is_ok() {
        return Ok(());
    }
    run(quiet(&mut Command::new("apt-get")).arg("update"))?;
    run(&mut install(packages)).map(drop)
}

fn install(packages: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    quiet(&mut command).args(["install", "-y", "--no-install-recommends"]).args(packages);
    command
}

/// Asks nothing. The run level keeps a container from starting what is installed; a machine with
/// systemd does start it, which does no harm: tests start parts of their own, on other ports.
fn quiet(command: &mut Command) -> &mut Command {
    command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_needs_nothing() {
        if installed("dpkg") {
            assert_eq!(ensure(&["dpkg"]), Ok(()));
        }
    }

    #[test]
    fn an_unknown_package_is_absent() {
        assert_eq!(absent(&["no-such-package-here"]), ["no-such-package-here"]);
    }

    #[test]
    fn the_command_can_be_typed() {
        let command = shown(&install(&["redis-server", "redis-tools"]));
        assert_eq!(command, "apt-get install -y --no-install-recommends redis-server redis-tools");
    }
}

//! Room on the disk, seen to before the tests: what a full disk breaks looks like anything else.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;

const GIB: u64 = 1 << 30;
/// What a build of everything and the largest test need beside what is built already.
const NEEDED: u64 = 12 * GIB;

/// Sees to it that there is room to build and to test. What is built in the cache is given up for
/// it: it is built again.
pub(crate) fn make(workspace: &Workspace) -> anyhow::Result<()> {
    let target = workspace.target();
    if free(target)? < NEEDED && workspace.is_target_kept() && target.is_dir() {
        println!("the disk is nearly full: what was built in {} goes", target.display());
        clear(target).with_context(|| format!("cannot empty {}", target.display()))?;
    }
    let free = free(target)?;
    if free < NEEDED {
        bail!(
            "{:.1} GiB are free where {} is, and the tests need {}: \
             make room, or set CARGO_TARGET_DIR to another disk",
            free as f64 / GIB as f64,
            target.display(),
            NEEDED / GIB,
        );
    }
    Ok(())
}

/// Removes what a target directory holds.
fn clear(target: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(target)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Bytes that may be written at a path, which need not be there yet.
fn free(path: &Path) -> anyhow::Result<u64> {
    let there = path.ancestors().find(|path| path.exists()).context("no disk")?;
    let disk = rustix::fs::statvfs(there).with_context(|| there.display().to_string())?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_emptied_of_what_was_built() {
        let target = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(target.path().join("debug/deps")).expect("made");
        fs::write(target.path().join("debug/deps/lib"), "built").expect("written");
        fs::write(target.path().join("CACHEDIR.TAG"), "kept").expect("written");
        clear(target.path()).expect("emptied");
        assert!(!target.path().join("debug").exists());
        assert!(target.path().join("CACHEDIR.TAG").exists());
    }

    #[test]
    fn room_is_measured_where_a_path_will_be() {
        let parent = tempfile::tempdir().expect("a directory");
        assert!(free(&parent.path().join("not/yet")).expect("a disk") > 0);
    }
}

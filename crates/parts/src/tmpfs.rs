//! A small file system in memory, to meet a full disk without filling a real one.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::group::Guard;
use crate::need::{Missing, is_root};

/// Unmounts even when a file is still open, up to 5 s while the mount is busy otherwise.
const UNMOUNT: &str = r#"
i=0
until umount "$1" 2>/dev/null || umount -l "$1" 2>/dev/null || [ "$i" -ge 50 ]; do
    sleep 0.1
    i=$((i + 1))
done
rmdir "$1""#;

/// A mounted file system of a fixed size; unmounted when it is dropped or its owner dies.
#[derive(Debug)]
pub struct Tmpfs {
    // Declared first and dropped first: the directory is removed after the unmount.
    _guard: Guard,
    dir: TempDir,
    size: u64,
}

impl Tmpfs {
    /// Mounts a file system that holds `size` bytes.
    ///
    /// # Errors
    ///
    /// A [`Missing`], for [`require`](crate::require), when this user may not mount.
    pub fn mount(size: u64) -> Result<Self, Missing> {
        let missing = |why: String| {
            let command = r#"sudo -E env "PATH=$PATH" cargo xtask test"#;
            Missing::new(format!("a tmpfs of {size} bytes"), why, command)
        };
        if !is_root() {
            return Err(missing("only root can mount".to_owned()));
        }
        let prefix = tempfile::Builder::new().prefix("ostrakon-tmpfs-").tempdir();
        let dir = prefix.map_err(|error| missing(error.to_string()))?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs"]);
        crate::run(mount.arg(dir.path())).map_err(|error| missing(error.to_string()))?;
        match Guard::start(UNMOUNT, &dir.path().to_string_lossy()) {
            Ok(guard) => Ok(Self { _guard: guard, dir, size }),
            Err(error) => {
                let _ = crate::run(Command::new("umount").arg(dir.path()));
                Err(missing(error.to_string()))
            }
        }
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// How many bytes it holds, the file system's own pages included.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

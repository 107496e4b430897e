//! The number of the last batch a caller was told about.
//!
//! Written after each sync, without a sync of its own: it survives the process, which is when it is
//! needed, and after a power loss it is merely too low, which accuses nobody wrongly.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug)]
pub(crate) struct Acknowledged(File);

impl Acknowledged {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?))
    }

    /// The number, or 0 when none was written or the file was torn.
    pub(crate) fn read(&self) -> u64 {
        let mut bytes = [0; 16];
        if self.0.read_exact_at(&mut bytes, 0).is_err() {
            return 0;
        }
        let (number, checksum) = bytes.split_at(8);
        if xxh3_64(number).to_le_bytes() != *checksum {
            return 0;
        }
        u64::from_le_bytes(number.try_into().unwrap_or_default())
    }

    pub(crate) fn write(&self, number: u64) -> io::Result<()> {
        let number = number.to_le_bytes();
        let mut bytes = [0; 16];
        let (head, tail) = bytes.split_at_mut(8);
        head.copy_from_slice(&number);
        tail.copy_from_slice(&xxh3_64(&number).to_le_bytes());
        self.0.write_all_at(&bytes, 0)
    }
}

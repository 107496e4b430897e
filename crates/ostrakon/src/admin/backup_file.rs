//! A backup on disk: written aside, synced, then given its name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};

use super::Watch;
use super::answer::BackupAnswer;
use crate::opening::OpenStore;

const BUFFER: usize = 1 << 20;

/// Writes the store into `file`, which must not exist. A file under that name is always whole.
pub(crate) async fn write(
    opened: &OpenStore,
    file: &Path,
    watch: &mut Watch,
) -> anyhow::Result<BackupAnswer> {
    refuse_existing(file)?;
    let (partial, out) = open_partial(file)?;
    let written = fill(opened, out, watch).await;
    let named = written.and_then(|summary| {
        name(&partial, file).with_context(|| format!("cannot finish {}", file.display()))?;
        Ok(summary)
    });
    let summary = match named {
        Ok(summary) => summary,
        Err(error) => {
            // What is left would only take space; that it cannot be removed is the smaller trouble.
            let _ = std::fs::remove_file(&partial);
            return Err(error);
        }
    };
    let tables =
        summary.tables.into_iter().map(|(name, (entries, digest))| (name, entries, digest));
    let bytes = std::fs::metadata(file).map_or(0, |data| data.len());
    Ok(BackupAnswer { file: file.to_owned(), bytes, tables: tables.collect() })
}

fn refuse_existing(file: &Path) -> anyhow::Result<()> {
    if file.symlink_metadata().is_ok() {
        bail!("{} exists already; name another file, or remove it", file.display());
    }
    Ok(())
}

/// The file beside the wanted one, locked, so that two backups cannot write into it.
fn open_partial(file: &Path) -> anyhow::Result<(PathBuf, File)> {
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let cannot = || format!("cannot write {}; name a place that exists", partial.display());
    // A backup holds everything the store holds: nobody else may read it.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let out = options.open(&partial).with_context(cannot)?;
    match out.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            bail!("another backup writes {} right now; wait for it", file.display())
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    // What an interrupted backup left is of no use.
    out.set_len(0).with_context(cannot)?;
    Ok((partial, out))
}

async fn fill(
    opened: &OpenStore,
    out: File,
    watch: &mut Watch,
) -> anyhow::Result<store::BackupSummary> {
    let cancelled = watch.cancelled();
    let mut out = Cancellable { out: BufWriter::with_capacity(BUFFER, out), cancelled };
    let mut tell = |table: &str, entries| watch.tell(table, entries);
    let engine = opened.engine.as_ref();
    let summary = store::back_up(engine, &opened.schema, &mut out, &mut tell).await?;
    out.out.get_ref().sync_all().context("the backup could not be synced to disk")?;
    Ok(summary)
}

fn name(partial: &Path, file: &Path) -> anyhow::Result<()> {
    // Somebody may have taken the name meanwhile.
    refuse_existing(file)?;
    std::fs::rename(partial, file)?;
    let directory = file.parent().filter(|path| !path.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}

/// Fails as soon as the backup is no longer wanted.
struct Cancellable<W> {
    out: W,
    cancelled: Arc<AtomicBool>,
}

impl<W: Write> Write for Cancellable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::other("given up"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    async fn backup(file: &Path, watch: &mut Watch) -> Result<BackupAnswer, String> {
        let opened = OpenStore::model().await;
        write(&opened, file, watch).await.map_err(|error| format!("{error:#}"))
    }

    #[tokio::test]
    async fn a_backup_is_private_whole_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a.backup");
        let answer = backup(&file, &mut Watch::quiet()).await.expect("written");
        let data = std::fs::metadata(&file).expect("it is there");
        assert_eq!((data.len(), data.permissions().mode() & 0o777), (answer.bytes, 0o600));
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 1);
    }

    #[tokio::test]
    async fn an_existing_file_stays_as_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a.backup");
        std::fs::write(&file, "precious").expect("written");
        let error = backup(&file, &mut Watch::quiet()).await.expect_err("refused");
        assert!(error.contains("exists already; name another file"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "precious");
    }

    #[tokio::test]
    async fn what_an_interrupted_backup_left_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a.backup");
        std::fs::write(dir.path().join("a.backup.partial"), [7; 100_000]).expect("written");
        let answer = backup(&file, &mut Watch::quiet()).await.expect("written");
        assert!(answer.bytes < 100_000);
    }

    #[tokio::test]
    async fn a_backup_that_runs_keeps_another_out() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a.backup");
        let _running = open_partial(&file).expect("opened");
        let error = backup(&file, &mut Watch::quiet()).await.expect_err("refused");
        assert!(error.contains("another backup writes"), "{error}");
    }

    #[tokio::test]
    async fn a_backup_given_up_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut watch = Watch::new(|_, _| {}, Arc::new(AtomicBool::new(true)));
        backup(&dir.path().join("a.backup"), &mut watch).await.expect_err("given up");
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
    }

    #[tokio::test]
    async fn a_place_that_does_not_exist_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("nowhere/a.backup");
        let error = backup(&file, &mut Watch::quiet()).await.expect_err("refused");
        assert!(error.contains("nowhere/a.backup.partial"), "{error}");
    }
}

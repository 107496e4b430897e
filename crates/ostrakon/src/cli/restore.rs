//! `ostrakon restore`: a backup becomes a store in a new directory.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use store::BackupSummary;

use super::{Global, in_runtime, print, progress};
use crate::admin;
use crate::config::{EngineKind, Settings};
use crate::failure;
use crate::format;
use crate::opening::{self, Tables};

const BUFFER: usize = 1 << 20;

/// Load a backup into a new data directory
///
/// The directory appears under its name only when the backup is loaded and its digests are right;
/// until then it is called DIR.restoring.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The backup
    file: PathBuf,
}

impl Restore {
    /// Loads the backup.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<u8> {
        let settings = global.settings()?;
        if settings.engine == EngineKind::Cassandra {
            let what = "a backup is restored into a directory, and this configuration names a \
                        cluster; restore with engine = \"embedded\", then `ostrakon copy` it to \
                        the cluster";
            return Err(failure::Usage(what.to_owned()).into());
        }
        let target = settings.data.clone();
        let summary = in_runtime(async {
            let advice = "restore into a new directory: name it with --data";
            admin::refuse_if_held(&settings, advice).await?;
            refuse_used(&target)?;
            let cannot = || format!("cannot read {}", self.file.display());
            let source = File::open(&self.file).with_context(cannot)?;
            let aside = aside(&target)?;
            let loaded = load(&settings, &aside, source).await;
            let named = loaded.and_then(|summary| {
                name(&aside, &target)?;
                Ok(summary)
            });
            if named.is_err() {
                // Made by this command a moment ago, and of no use to anybody.
                let _ = fs::remove_dir_all(&aside);
            }
            named
        })?;
        let row = |(table, (entries, digest)): (&String, &(u64, String))| {
            vec![table.clone(), format::count(*entries), digest.clone()]
        };
        let rows: Vec<Vec<String>> = summary.tables.iter().map(row).collect();
        let text = format::columns(&["table", "entries", "digest"], &rows);
        print(&format!("{text}\nRestored into {}; digests are right.\n", target.display()))?;
        Ok(failure::OK)
    }
}

fn refuse_used(target: &Path) -> anyhow::Result<()> {
    let used = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => {
            return Err(error).with_context(|| format!("cannot look into {}", target.display()));
        }
    };
    if used {
        bail!(
            "{} is not empty; restore into a new directory: name it with --data, or move this one \
             away",
            target.display()
        );
    }
    Ok(())
}

/// The directory that is filled: beside the target, so that a rename is enough at the end.
fn aside(target: &Path) -> anyhow::Result<PathBuf> {
    let mut aside = target.as_os_str().to_owned();
    aside.push(".restoring");
    let aside = PathBuf::from(aside);
    if aside.symlink_metadata().is_ok() {
        bail!(
            "{} is there: another restore runs, or one was interrupted; if none runs, remove it \
             and try again",
            aside.display()
        );
    }
    Ok(aside)
}

async fn load(settings: &Settings, aside: &Path, source: File) -> anyhow::Result<BackupSummary> {
    let settings = Settings { data: aside.to_owned(), ..settings.clone() };
    let opened = opening::open(&settings, Tables::Created).await?;
    let mut source = BufReader::with_capacity(BUFFER, source);
    let mut watch = progress::on_stderr();
    let mut tell = |table: &str, entries| watch.tell(table, entries);
    let engine = opened.engine.as_ref();
    let summary = store::restore(engine, &opened.schema, &mut source, &mut tell).await?;
    opening::close(&opened).await?;
    Ok(summary)
}

fn name(aside: &Path, target: &Path) -> anyhow::Result<()> {
    // Replaces an empty directory, and refuses any other.
    fs::rename(aside, target)
        .with_context(|| format!("{} cannot be renamed to its place", aside.display()))?;
    File::open(target.parent().unwrap_or(Path::new("/")))?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_or_empty_directory_is_taken() {
        let dir = tempfile::tempdir().expect("a directory");
        refuse_used(dir.path()).expect("empty");
        refuse_used(&dir.path().join("new")).expect("new");
        fs::write(dir.path().join("a"), "").expect("written");
        let error = refuse_used(dir.path()).expect_err("used").to_string();
        assert!(error.contains("--data"), "{error}");
    }

    #[test]
    fn what_an_interrupted_restore_left_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("data");
        assert_eq!(aside(&target).expect("free"), dir.path().join("data.restoring"));
        fs::create_dir(dir.path().join("data.restoring")).expect("made");
        let error = aside(&target).expect_err("left").to_string();
        assert!(error.contains("data.restoring") && error.contains("remove it"), "{error}");
    }
}

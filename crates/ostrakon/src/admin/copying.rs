//! Copies the open store to the store of another configuration.

use std::path::Path;

use anyhow::{Context as _, bail};
use store::CopyError;

use super::Watch;
use super::answer::CopyAnswer;
use super::reach::refuse_if_held;
use crate::config::Settings;
use crate::opening::{self, OpenStore, Tables};

/// The name that the engine of a cluster gives itself.
const CLUSTER: &str = "cassandra";

/// Copies every table to the store of the configuration in `to`, and compares the digests.
pub(super) async fn run(
    opened: &OpenStore,
    to: &Path,
    watch: &mut Watch,
) -> anyhow::Result<CopyAnswer> {
    let settings = Settings::load(Some(to), None)?;
    let advice = "copy into a store that nobody uses yet";
    refuse_if_held(&settings, advice).await?;
    let target = opening::open(&settings, Tables::Untouched)
        .await
        .with_context(|| format!("the store to copy to, in {}, fails", settings.place()))?;
    let copied = copy(opened, &target, watch).await;
    if copied.is_ok() {
        opening::close(&target).await?;
    }
    let summary = copied?;
    let tables =
        summary.tables.into_iter().map(|(name, (entries, digest))| (name, entries, digest));
    Ok(CopyAnswer {
        to: settings.place(),
        config: to.to_owned(),
        tables: tables.collect(),
        resumed: summary.resumed,
        again: summary.again,
    })
}

async fn copy(
    source: &OpenStore,
    target: &OpenStore,
    watch: &mut Watch,
) -> anyhow::Result<store::CopySummary> {
    let mut tell = |table: &str, entries| {
        watch.tell(table, entries);
        watch.go_on().is_ok()
    };
    let (from, to) = (source.engine.as_ref(), target.engine.as_ref());
    let copied = Box::pin(store::copy(from, to, &source.schema, &mut tell)).await;
    match copied {
        Err(error @ CopyError::Differs { .. }) if from.info().await?.engine == CLUSTER => {
            Err(error).context(
                "the source is a cluster, which has no view of one moment: it changed while it \
                 was copied",
            )
        }
        Err(CopyError::GivenUp) => bail!("{}", CopyError::GivenUp),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn config(dir: &Path) -> std::path::PathBuf {
        let file = dir.join("to.toml");
        std::fs::write(&file, "[store]\ndirectory = \"to\"\n").expect("written");
        file
    }

    #[tokio::test]
    async fn a_copy_that_was_given_up_is_finished_by_the_next_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let (opened, file) = (OpenStore::model().await, config(dir.path()));
        crate::system::ingest::register(&opened.store).await.expect("registered");
        let mut gone = Watch::new(|_, _| {}, Arc::new(AtomicBool::new(true)));
        let error = run(&opened, &file, &mut gone).await.expect_err("given up").to_string();
        assert!(error.contains("run it again to go on"), "{error}");
        let answer = run(&opened, &file, &mut Watch::quiet()).await.expect("copied");
        assert!(answer.resumed && answer.again.is_empty(), "{answer:?}");
        let entries = |name: &str| {
            let mut tables = answer.tables.iter();
            tables.find(|(table, ..)| table == name).map(|(_, entries, _)| *entries)
        };
        assert_eq!(entries("system.starts"), Some(1));
        assert_eq!(entries("system.settings"), Some(4), "three rows and a version");
        let error = run(&opened, &file, &mut Watch::quiet()).await.expect_err("full").to_string();
        assert!(error.contains("not empty"), "{error}");
    }

    #[tokio::test]
    async fn what_is_wrong_with_the_other_configuration_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let opened = OpenStore::model().await;
        let file = dir.path().join("to.toml");
        std::fs::write(&file, "[store]\ndirectroy = \"x\"\n").expect("written");
        let error = run(&opened, &file, &mut Watch::quiet()).await.expect_err("wrong").to_string();
        assert!(error.contains("to.toml:2:1") && error.contains("`directory`"), "{error}");
    }
}

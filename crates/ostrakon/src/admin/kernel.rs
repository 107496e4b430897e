//! Proves what the kernel promises about the rows that are there.

use std::sync::Arc;

use store::{Engine, Finding, Store, TableSummary, VerifyReport};
use timeline::{Settings, Timeline};

use super::Watch;
use crate::opening::OpenStore;

/// Findings kept; more are counted only.
const FINDINGS: usize = 1_000;

/// Chains are whole, sums equal their entries, lists equal theirs, intents are finished.
pub(super) async fn verify(opened: &OpenStore, watch: &mut Watch) -> anyhow::Result<VerifyReport> {
    let mut report = VerifyReport::default();
    chains(opened, watch, &mut report).await?;
    watch.go_on()?;
    tallies(opened, watch, &mut report).await?;
    watch.go_on()?;
    lists(opened, watch, &mut report).await?;
    Ok(report)
}

async fn chains(
    opened: &OpenStore,
    watch: &mut Watch,
    report: &mut VerifyReport,
) -> anyhow::Result<()> {
    let engine: Arc<dyn Engine> = opened.engine.clone();
    let store = Store::new(engine, 0);
    let chains = timeline::chains(opened.engine.as_ref()).await?;
    let mut summary = summary("timeline.tips", chains.len() as u64, chains.len() as u64);
    for chain in chains {
        watch.go_on()?;
        let timeline = Timeline::new(store.clone(), chain, Settings::default());
        let found = timeline::verify(&timeline).await?;
        let finding = |found: timeline::TimelineFinding| Finding {
            table: Some("timeline.tips".to_owned()),
            what: format!("chain {}: {}", found.chain, found.what),
        };
        add(report, found.len() as u64, found.into_iter().map(finding));
        summary.largest_partition = 1;
    }
    watch.tell("timeline.tips", summary.rows);
    report.tables.push(summary);
    Ok(())
}

async fn tallies(
    opened: &OpenStore,
    watch: &mut Watch,
    report: &mut VerifyReport,
) -> anyhow::Result<()> {
    let mut tell = |entries| watch.tell("tally.shards", entries);
    let found = tally::verify(opened.engine.clone(), &mut tell).await?;
    report.tables.push(summary("tally.shards", found.entries, found.shards));
    add(report, found.findings_total, found.findings);
    Ok(())
}

async fn lists(
    opened: &OpenStore,
    watch: &mut Watch,
    report: &mut VerifyReport,
) -> anyhow::Result<()> {
    let declared: Vec<_> = platform::lists().into_iter().chain(staking::tables::lists()).collect();
    let longest = index::DriverSettings::default().longest();
    let now = index::Millis::now();
    let found = index::verify(opened.engine.as_ref(), &declared, longest, now).await?;
    watch.tell("index.intents", found.intents);
    report.tables.push(summary("index.intents", found.intents, found.intents.min(1)));
    add(report, found.findings_total, found.findings);
    Ok(())
}

fn summary(table: &str, rows: u64, partitions: u64) -> TableSummary {
    TableSummary { table: table.to_owned(), rows, partitions, ..TableSummary::default() }
}

fn add(report: &mut VerifyReport, total: u64, found: impl IntoIterator<Item = Finding>) {
    report.findings_total += total;
    let room = FINDINGS.saturating_sub(report.findings.len());
    report.findings.extend(found.into_iter().take(room));
}

//! Compares the index of a tree-graph chain with a node.

use std::sync::Arc;

use anyhow::Context as _;
use platform::chains::Registry;
use platform::outgoing::NodeClient;
use scan::source::Node;
use scan::verify::{self, Which};
use store::{Finding, TableSummary, VerifyReport};
use timeline::{Settings, Timeline};

use super::{Request, Watch};
use crate::opening::OpenStore;

/// Every difference is a finding.
pub(super) async fn verify(
    opened: &OpenStore,
    request: &Request,
    watch: &mut Watch,
) -> anyhow::Result<VerifyReport> {
    let Request::VerifyScan { chain, node, epochs, sample, digest } = request else {
        anyhow::bail!("another request");
    };
    let url = match node {
        Some(url) => url.clone(),
        None => registered(opened, chain).await?,
    };
    let node = Node::new(url, Arc::new(NodeClient::for_blocks()?));
    let timeline = Timeline::new(opened.store.clone(), chain.clone(), Settings::default());
    let which = epochs.map_or(Which::Sample(*sample), |(from, to)| Which::Range(from, to));
    let mut tell = |epochs| watch.tell("scan.epochs", epochs);
    let found = verify::verify(&timeline, &node, which, &mut tell).await?;
    let summary = |table: &str, rows| TableSummary {
        table: table.to_owned(),
        rows,
        ..TableSummary::default()
    };
    let mut tables = vec![
        summary("scan.epochs", found.epochs),
        summary("scan.blocks", found.blocks),
        summary("scan.transactions", found.transactions),
        summary("scan.receipts", found.receipts),
    ];
    if *digest {
        let view = timeline.view().await?;
        let digest = verify::digest(&timeline, &view).await?;
        tables.push(summary(&format!("digest {digest}"), view.tip().switches));
    }
    let finding = |what| Finding { table: Some("scan".to_owned()), what };
    Ok(VerifyReport {
        tables,
        findings: found.findings.into_iter().map(finding).collect(),
        findings_total: found.findings_total,
    })
}

/// The first node of a chain that the registry has.
async fn registered(opened: &OpenStore, chain: &str) -> anyhow::Result<String> {
    let registry = Registry::open(opened.store.clone(), Vec::new()).await?;
    let chains = registry.current();
    let known = chains.iter().find(|(_, known)| known.name.as_str() == chain);
    let node = known.and_then(|(_, known)| {
        known.nodes.iter().find_map(|node| node.http_address().ok().flatten())
    });
    let node = node.with_context(|| {
        format!("no node of a chain {chain} is known here; name one with --node http://…")
    })?;
    Ok(node.to_string())
}

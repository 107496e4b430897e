//! Staking for operators: the audit, and messages that cannot be applied.

use platform::Clock;
use serde::{Deserialize, Serialize};
use staking::{KeptId, Settings, Staking, Taken};
use store::{Finding, TableSummary, VerifyReport};

use super::Watch;
use crate::opening::OpenStore;

/// Messages that are shown or replayed at a time.
const PAGE: usize = 100;
/// Replayed messages that an answer names. All that there are are replayed.
const NAMED: usize = 1_000;

/// Messages that cannot be applied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptAnswer {
    /// The messages, newest first.
    pub(crate) messages: Vec<KeptMessage>,
    /// There are older ones.
    pub(crate) more: bool,
    /// How many were replayed; the first thousand are named.
    pub(crate) replayed: u64,
}

/// One of them, and what became of it when it was replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptMessage {
    /// Its id.
    pub(crate) id: String,
    /// Where it came from.
    pub(crate) source: String,
    /// Why it cannot be applied, or what became of it.
    pub(crate) reason: String,
    /// Its first characters.
    pub(crate) message: String,
}

fn staking(opened: &OpenStore) -> anyhow::Result<Staking> {
    Ok(Staking::new(opened.store.clone(), Clock::system(), None, Settings::default())?)
}

/// Every sum that differs from its delegations is a finding.
pub(super) async fn verify(opened: &OpenStore, watch: &mut Watch) -> anyhow::Result<VerifyReport> {
    let staking = staking(opened)?;
    let mut tell = |delegations| watch.tell("staking.delegations", delegations);
    let audit = staking.audit(opened.engine.as_ref(), &mut tell).await?;
    let summary = |what: &str, rows| {
        let table = what.to_owned();
        TableSummary { table, rows, ..TableSummary::default() }
    };
    let finding = |what| Finding { table: Some("staking".to_owned()), what };
    Ok(VerifyReport {
        tables: vec![
            summary("delegations", audit.delegations),
            summary("parked", audit.parked),
            summary("stakers", audit.stakers),
            summary("finality providers", audit.providers),
            summary("stretches of 144 heights", audit.stretches),
        ],
        findings: audit.findings.into_iter().map(finding).collect(),
        findings_total: audit.findings_total,
    })
}

/// The newest messages that cannot be applied, or those before the one that is named.
pub(super) async fn kept(opened: &OpenStore, before: Option<&str>) -> anyhow::Result<KeptAnswer> {
    let before = before.map(read).transpose()?;
    let page = staking(opened)?.kept(before, PAGE).await?;
    let messages = page.messages.into_iter().map(|(id, kept)| KeptMessage {
        id: id.to_string(),
        source: kept.source,
        reason: kept.reason,
        message: String::from_utf8_lossy(&kept.body).chars().take(200).collect(),
    });
    Ok(KeptAnswer { messages: messages.collect(), more: page.next.is_some(), replayed: 0 })
}

/// Takes messages once more: the named ones, or all there are.
pub(super) async fn replay(
    opened: &OpenStore,
    ids: &[String],
    watch: &mut Watch,
) -> anyhow::Result<KeptAnswer> {
    let staking = staking(opened)?;
    let mut messages = Vec::new();
    for id in ids {
        messages.push(replay_one(&staking, read(id)?).await?);
    }
    let (mut before, mut replayed) = (None, messages.len());
    while ids.is_empty() {
        watch.go_on()?;
        let page = staking.kept(before, PAGE).await?;
        for (id, _) in &page.messages {
            let message = replay_one(&staking, *id).await?;
            replayed += 1;
            messages.extend((replayed <= NAMED).then_some(message));
        }
        watch.tell("staking.unprocessable", replayed as u64);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    Ok(KeptAnswer { messages, more: false, replayed: replayed as u64 })
}

fn read(id: &str) -> anyhow::Result<KeptId> {
    KeptId::read(id).ok_or_else(|| {
        anyhow::anyhow!("{id:?} is no id; `ostrakon staking unprocessable` shows them")
    })
}

async fn replay_one(staking: &Staking, id: KeptId) -> anyhow::Result<KeptMessage> {
    let source = staking.kept_one(id).await?.map(|kept| kept.source).unwrap_or_default();
    let reason = match staking.replay(id).await? {
        None => anyhow::bail!("there is no message {id}; it may be replayed already"),
        Some(Taken::Applied) => "applied".to_owned(),
        Some(Taken::Repeated) => "known already".to_owned(),
        Some(Taken::Parked) => "waits for an earlier one".to_owned(),
        Some(Taken::Unprocessable(reason)) => format!("still not applied: {reason}"),
        Some(Taken::Later(reason)) => anyhow::bail!("the store did not take {id}: {reason}"),
    };
    Ok(KeptMessage { id: id.to_string(), source, reason, message: String::new() })
}

impl KeptAnswer {
    /// As a terminal shows it.
    pub(crate) fn text(&self) -> String {
        if self.messages.is_empty() {
            return "No messages.\n".to_owned();
        }
        let mut text = String::new();
        for KeptMessage { id, source, reason, message } in &self.messages {
            text.push_str(&format!("{id}  {source}\n  {reason}\n"));
            if !message.is_empty() {
                text.push_str(&format!("  {message}\n"));
            }
        }
        if self.replayed > self.messages.len() as u64 {
            text.push_str(&format!("{} were replayed; these are the first.\n", self.replayed));
        }
        if let (true, Some(last)) = (self.more, self.messages.last()) {
            text.push_str(&format!("There are older ones: --before {}\n", last.id));
        }
        text
    }
}

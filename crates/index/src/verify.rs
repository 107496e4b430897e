//! Proves what this crate promises about the rows that are there. For `ostrakon verify`.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use store::{Entry, Finding, KeyReader, Maintenance, ReadError, TableDef, Value, Walker};

use crate::ids::{IntentId, Millis, hex};
use crate::intent::INTENTS;
use crate::list::ListDef;
use crate::slot::{Cell, Counts, Slot, SlotKind};
use crate::stuck::{STUCK, StuckCell};

/// Entries read at a time.
const PAGE: usize = 10_000;
/// Findings kept; more are counted only.
const FINDINGS: usize = 1_000;

/// What a walk saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexReport {
    /// Lists that know an entry.
    pub lists: u64,
    /// Entries they know.
    pub entries: u64,
    /// Intents that are there, young ones included.
    pub intents: u64,
    /// Calls kept aside.
    pub stuck: u64,
    /// What should not be; the first thousand.
    pub findings: Vec<Finding>,
    /// How many findings there were in all.
    pub findings_total: u64,
}

impl IndexReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings_total == 0
    }

    fn find(&mut self, table: &'static TableDef, what: String) {
        self.findings_total += 1;
        if self.findings.len() < FINDINGS {
            self.findings.push(Finding { table: Some(table.name().to_owned()), what });
        }
    }
}

/// Walks lists, intents and stuck calls at one moment: each list equals its entries, its counts
/// equal its rows, and no intent is older than `longest` at `now`
/// ([`DriverSettings::longest`](crate::DriverSettings::longest)).
///
/// # Errors
/// When a table cannot be read to its end.
pub async fn verify(
    engine: &dyn Maintenance,
    lists: &[&'static ListDef],
    longest: Duration,
    now: Millis,
) -> Result<IndexReport, ReadError> {
    let walker = engine.walk().await?;
    let mut report = IndexReport::default();
    for list in lists {
        verify_list(walker.as_ref(), list, &mut report).await?;
    }
    verify_intents(walker.as_ref(), longest, now, &mut report).await?;
    verify_stuck(walker.as_ref(), &mut report).await?;
    Ok(report)
}

/// Calls `see` with every entry of a table.
async fn walk(
    walker: &dyn Walker,
    table: &'static TableDef,
    mut see: impl FnMut(Entry) + Send,
) -> Result<(), ReadError> {
    let mut position: Option<Bytes> = None;
    loop {
        let page = walker.page(table, position, PAGE).await?;
        page.entries.into_iter().for_each(&mut see);
        match page.next {
            Some(next) => position = Some(next),
            None => return Ok(()),
        }
    }
}

async fn verify_list(
    walker: &dyn Walker,
    list: &'static ListDef,
    report: &mut IndexReport,
) -> Result<(), ReadError> {
    let mut seen = SeenList::default();
    walk(walker, list.table(), |entry| {
        // Entries of a partition follow each other on every engine.
        if entry.partition() != seen.key {
            std::mem::take(&mut seen).judge(list, report);
            seen.key = entry.partition().to_vec();
        }
        if let Entry::Row { key, value } = entry {
            seen.add(key.sort(), &value);
        }
    })
    .await?;
    seen.judge(list, report);
    Ok(())
}

/// One list while it is walked. Bounded by the list's own bound.
#[derive(Default)]
struct SeenList {
    key: Vec<u8>,
    head: Option<Counts>,
    /// Rank and sort key of each entry.
    entries: BTreeMap<Vec<u8>, (u64, Option<Vec<u8>>)>,
    /// Rank of each row, under its sort key and entry.
    rows: BTreeMap<Vec<u8>, u64>,
    damaged: Vec<String>,
}

impl SeenList {
    fn add(&mut self, sort: &[u8], value: &[u8]) {
        let cell = match Cell::from_bytes(value) {
            Ok(cell) => cell,
            Err(error) => return self.damaged.push(error.to_string()),
        };
        match (Slot::kind(sort), cell) {
            (Some((SlotKind::Head, _)), Cell::Head(counts)) => self.head = Some(counts),
            (Some((SlotKind::Entry, entry)), Cell::Entry { rank, sort }) => {
                self.entries.insert(entry.to_vec(), (rank, sort));
            }
            (Some((SlotKind::Row, parts)), Cell::Row { rank, .. }) => {
                self.rows.insert(parts.to_vec(), rank);
            }
            _ => self.damaged.push(format!("slot {} holds another kind of cell", hex(sort))),
        }
    }

    fn judge(mut self, list: &'static ListDef, report: &mut IndexReport) {
        let mut find = |what: String| {
            report.find(list.table(), format!("list {}: {what}; restore a backup", hex(&self.key)));
        };
        self.damaged.drain(..).for_each(&mut find);
        let counted = Counts { placed: self.rows.len() as u64, known: self.entries.len() as u64 };
        let head = self.head.unwrap_or_default();
        if head != counted {
            find(format!("its head says {head:?}, its rows are {counted:?}"));
        }
        if counted.known > list.entries() {
            find(format!("{} entries, bound {}", counted.known, list.entries()));
        }
        for (entry, (rank, sort)) in &self.entries {
            let Some(sort) = sort else { continue };
            let found = self.rows.remove(&[&sort[..], entry].concat());
            if found != Some(*rank) {
                let entry = hex(entry);
                find(format!("entry {entry} stands at rank {rank}, its row at {found:?}"));
            }
        }
        for (row, rank) in &self.rows {
            find(format!("row {} of rank {rank} belongs to no entry", hex(row)));
        }
        report.lists += u64::from(counted.known > 0);
        report.entries += counted.known;
    }
}

async fn verify_intents(
    walker: &dyn Walker,
    longest: Duration,
    now: Millis,
    report: &mut IndexReport,
) -> Result<(), ReadError> {
    let oldest = now.before(longest);
    walk(walker, INTENTS.def(), |entry| {
        let Entry::Row { key, .. } = entry else { return };
        report.intents += 1;
        match KeyReader::whole::<[u8; 16]>(key.sort()).map(IntentId) {
            Ok(id) if id.time() < oldest => {
                let seconds = now.0.saturating_sub(id.time().0) / 1000;
                let what = format!(
                    "intent {id} is {seconds} s old and unfinished; start the server, whose driver \
                     finishes it, and see its log"
                );
                report.find(INTENTS.def(), what);
            }
            Ok(_) => {}
            Err(error) => report.find(INTENTS.def(), error.to_string()),
        }
    })
    .await
}

async fn verify_stuck(walker: &dyn Walker, report: &mut IndexReport) -> Result<(), ReadError> {
    let (mut counted, mut said) = (0, 0);
    walk(walker, STUCK.def(), |entry| {
        let Entry::Row { value, .. } = entry else { return };
        match StuckCell::from_bytes(&value) {
            Ok(StuckCell::Count(count)) => said = count,
            Ok(StuckCell::Call(_)) => counted += 1,
            Err(error) => report.find(STUCK.def(), error.to_string()),
        }
    })
    .await?;
    report.stuck = counted;
    if counted != said {
        report.find(STUCK.def(), format!("{counted} calls, but the count says {said}"));
    }
    if counted > 0 {
        let what = format!("{counted} calls are stuck; list them, then retry or discard them");
        report.find(STUCK.def(), what);
    }
    Ok(())
}

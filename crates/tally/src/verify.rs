//! Proves over a whole store that sums equal their entries and no entry counts twice.

use std::collections::HashMap;
use std::sync::Arc;

use store::{
    Engine, Entry as Walked, Finding, KeyReader, Maintenance, ReadError, RowKey, Store, TableDef,
    Value, limits as store_limits,
};

use crate::generations::Generations;
use crate::name::Entry;
use crate::recount::{Adding, Problem, recount_shard};
use crate::tables::{GENERATIONS, Record, RowName, SHARDS, Shard, shard_of};
use crate::{SumError, Tally};

/// Entries read at a time.
const PAGE: usize = 10_000;
/// Findings kept; more are counted only.
const FINDINGS: usize = 1_000;

/// What was walked, and what should not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Tallies in the store.
    pub tallies: u64,
    /// Their shards that have rows.
    pub shards: u64,
    /// Their entries.
    pub entries: u64,
    /// What should not be; the first thousand.
    pub findings: Vec<Finding>,
    /// How many findings there were in all.
    pub findings_total: u64,
}

impl VerifyReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings_total == 0
    }

    fn add(&mut self, table: &'static TableDef, what: String) {
        self.findings_total += 1;
        if self.findings.len() < FINDINGS {
            self.findings.push(Finding { table: Some(table.name().to_owned()), what });
        }
    }
}

/// Walks all tallies of a store, also while it is in use, and checks that
///
/// - each shard's sum equals its entries;
/// - each entry stands in the shard its hash names, and in one generation only;
/// - every shard of an older generation is sealed.
///
/// A cluster shows each partition at another moment: a shard may be of a generation that its tally
/// did not have when that was read. A shard in which something is found is therefore read once
/// more, and its tally after it; only what is found again is told.
///
/// Memory grows with the number of tallies (about 100 bytes each), not with their entries.
/// `progress` is told the entries seen so far.
///
/// # Errors
/// When a table cannot be read to its end.
pub async fn verify(
    engine: Arc<dyn Maintenance>,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<VerifyReport, ReadError> {
    let mut report = VerifyReport::default();
    let walker = engine.walk().await?;
    let mut walk = Walk::new(engine.clone());
    let mut position = None;
    loop {
        let page = walker.page(GENERATIONS.def(), position, PAGE).await?;
        for (key, value) in page.entries.iter().filter_map(row) {
            walk.tally(key, value, &mut report);
        }
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    report.tallies = walk.tallies.len() as u64;
    loop {
        let page = walker.page(SHARDS.def(), position, PAGE).await?;
        for (key, value) in page.entries.iter().filter_map(row) {
            walk.row(key, value, &mut report);
        }
        if page.next.is_none() {
            walk.end_shard(&mut report);
        }
        walk.look_elsewhere(&mut report).await?;
        walk.look_again(&mut report).await?;
        progress(report.entries);
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    walk.unsealed(&mut report);
    Ok(report)
}

fn row(entry: &Walked) -> Option<(&RowKey, &[u8])> {
    match entry {
        Walked::Row { key, value } => Some((key, value)),
        _ => None,
    }
}

/// Where the walk stands.
struct Walk {
    store: Store,
    tallies: HashMap<Tally, Seen>,
    /// The shard whose rows are being read. Rows of a partition follow each other on every engine.
    shard: Option<(Shard, Adding)>,
    /// Entries of newer generations, whose absence in the older ones is still to be proven.
    suspects: Vec<(Shard, Entry)>,
    /// Shards in which something was found, and what.
    doubtful: Vec<(Shard, Vec<String>)>,
}

/// A tally and how many of its shards were seen to be sealed.
struct Seen {
    generations: Generations,
    sealed: u64,
}

impl Walk {
    fn new(engine: Arc<dyn Engine>) -> Self {
        Self {
            store: Store::new(engine, 0),
            tallies: HashMap::new(),
            shard: None,
            suspects: Vec::new(),
            doubtful: Vec::new(),
        }
    }

    fn tally(&mut self, key: &RowKey, value: &[u8], report: &mut VerifyReport) {
        let damaged = |what: String| format!("partition {key:?}: {what}; restore a backup");
        let tally = KeyReader::whole::<Tally>(key.partition());
        let generations = Generations::from_bytes(value);
        match (tally, generations) {
            (Ok(tally), Ok(generations)) => {
                if let Some(what) = generations.damage() {
                    report.add(GENERATIONS.def(), damaged(what.to_owned()));
                }
                self.tallies.insert(tally, Seen { generations, sealed: 0 });
            }
            (Err(error), _) | (_, Err(error)) => {
                report.add(GENERATIONS.def(), damaged(error.to_string()));
            }
        }
    }

    fn row(&mut self, key: &RowKey, value: &[u8], report: &mut VerifyReport) {
        let parts = KeyReader::whole::<Shard>(key.partition());
        let parts = parts.and_then(|shard| Ok((shard, KeyReader::whole::<RowName>(key.sort())?)));
        let parts = parts.and_then(|(shard, name)| Ok((shard, name, Record::from_bytes(value)?)));
        let (shard, name, record) = match parts {
            Ok(parts) => parts,
            Err(error) => return report.add(SHARDS.def(), format!("row {key:?}: {error}")),
        };
        if self.shard.as_ref().is_none_or(|(current, _)| *current != shard) {
            self.end_shard(report);
            self.shard = Some((shard.clone(), Adding::default()));
        }
        if let RowName::Entry(entry) = &name {
            report.entries += 1;
            self.entry(&shard, entry, report);
        }
        let Some((_, adding)) = &mut self.shard else { return };
        match adding.see(&name, record) {
            Ok(()) => {}
            Err(Problem::Kind(error)) => report.add(SHARDS.def(), found(&shard, &error)),
            Err(Problem::Overflow(column)) => {
                report.add(SHARDS.def(), found(&shard, &format!("column {column} overflows")));
            }
        }
    }

    /// An entry stands where its hash says.
    fn entry(&mut self, shard: &Shard, entry: &Entry, report: &mut VerifyReport) {
        let seen = self.tallies.get(&shard.tally);
        let shards = seen.and_then(|seen| seen.generations.shards(shard.generation));
        // A shard of no known generation is told of once, at its end.
        let Some(shards) = shards else { return };
        let home = shard_of(entry.home(), shards);
        if home != shard.number {
            let what = format!("entry {entry:?} belongs into shard {home}; restore a backup");
            report.add(SHARDS.def(), found(shard, &what));
        }
        if shard.generation > 0 {
            self.suspects.push((shard.clone(), entry.clone()));
        }
    }

    fn end_shard(&mut self, report: &mut VerifyReport) {
        let Some((shard, mut adding)) = self.shard.take() else { return };
        report.shards += 1;
        adding.end_part();
        let seen = self.tallies.get_mut(&shard.tally);
        let doubts = judge(&shard, &adding, seen.as_ref().map(|seen| &seen.generations));
        if let Some(seen) = seen
            && shard.generation < seen.generations.newest().0
        {
            seen.sealed += u64::from(adding.is_sealed());
        }
        if !doubts.is_empty() {
            self.doubtful.push((shard, doubts));
        }
    }

    /// Reads the doubtful shards again, each at one moment, and tells what is still found.
    async fn look_again(&mut self, report: &mut VerifyReport) -> Result<(), ReadError> {
        for (shard, doubts) in std::mem::take(&mut self.doubtful) {
            let found_again = match recount_shard(&self.store, &shard).await {
                // After the shard: the row of its tally is written before a shard is sealed or
                // begun.
                Ok(adding) => {
                    let generations = self.generations(&shard.tally).await?;
                    judge(&shard, &adding, generations.as_ref())
                }
                // A damaged row hides the others from every reader but the walk.
                Err(SumError::Read(ReadError::Decode(_))) => doubts,
                Err(SumError::Read(error)) => return Err(error),
                Err(error) => vec![error.to_string()],
            };
            for what in found_again {
                report.add(SHARDS.def(), found(&shard, &what));
            }
        }
        Ok(())
    }

    /// The row of a tally as it is now; none when it cannot be read, of which the walk told.
    async fn generations(&self, tally: &Tally) -> Result<Option<Generations>, ReadError> {
        match self.store.get(&GENERATIONS, tally, &()).await {
            Err(ReadError::Decode(_)) => Ok(None),
            found => found,
        }
    }

    /// No entry of a newer generation is also in an older one. Asked of the store and not of the
    /// walk: sealed generations get no entries and none is ever deleted, so any moment will do.
    async fn look_elsewhere(&mut self, report: &mut VerifyReport) -> Result<(), ReadError> {
        let mut keys = Vec::new();
        let mut asked = Vec::new();
        for (shard, entry) in std::mem::take(&mut self.suspects) {
            let Some(seen) = self.tallies.get(&shard.tally) else { continue };
            let older = seen.generations.all().filter(|(number, _)| *number < shard.generation);
            for (generation, shards) in older {
                let (tally, number) = (shard.tally.clone(), shard_of(entry.home(), shards));
                let home = Shard { tally, generation, number };
                keys.push((home, RowName::Entry(entry.clone())));
                asked.push((shard.clone(), generation, entry.clone()));
            }
        }
        let batch = store_limits::GET_KEYS;
        for (keys, asked) in keys.chunks(batch).zip(asked.chunks(batch)) {
            let answers = self.store.get_many(&SHARDS, keys).await?;
            for ((shard, generation, entry), _) in
                asked.iter().zip(answers).filter(|(_, answer)| answer.is_some())
            {
                let what = format!(
                    "entry {entry:?} also counts in generation {generation}; restore a backup"
                );
                report.add(SHARDS.def(), found(shard, &what));
            }
        }
        Ok(())
    }

    /// Every shard of an older generation is there and sealed: else entries could still be inserted
    /// where nobody looks for them.
    fn unsealed(&self, report: &mut VerifyReport) {
        for (tally, seen) in &self.tallies {
            let expected: u64 =
                seen.generations.sealed().map(|(_, shards)| u64::from(shards)).sum();
            if seen.sealed != expected {
                let open = expected.saturating_sub(seen.sealed);
                let what = format!(
                    "tally {tally}: {open} shards of older generations are not sealed; \
                     restore a backup"
                );
                report.add(SHARDS.def(), what);
            }
        }
    }
}

/// What should not be in a shard, in words.
fn judge(shard: &Shard, adding: &Adding, generations: Option<&Generations>) -> Vec<String> {
    let advice = "restore a backup, or set the entries again in a new tally";
    let mut what: Vec<String> = adding.drifts().map(|drift| format!("{drift}; {advice}")).collect();
    let is_known = |generations: &&Generations| {
        generations.shards(shard.generation).is_some_and(|shards| shard.number < shards)
    };
    match generations.filter(is_known) {
        None => what
            .push("its tally has no such shard, so no read finds it; restore a backup".to_owned()),
        Some(generations) => {
            let is_newest = shard.generation == generations.newest().0;
            if is_newest && adding.is_sealed() && generations.raising().is_none() {
                let words = "it is sealed, but its tally is not being raised; restore a backup";
                what.push(words.to_owned());
            }
        }
    }
    what
}

fn found(shard: &Shard, what: &dyn std::fmt::Display) -> String {
    let Shard { tally, generation, number } = shard;
    format!("tally {tally}, generation {generation}, shard {number}: {what}")
}

//! One shard: read, plan, commit, and again when somebody else was faster.

use std::collections::BTreeSet;

use store::{CommitError, ReadError};

use crate::attempt::{Attempts, commit};
use crate::name::{Entry, Part};
use crate::plan::{Answer, Plan, Stored};
use crate::tables::{Record, RowName, SHARDS, Shard, Sum};
use crate::tallies::Inner;
use crate::write::Item;
use crate::{SetError, limits};

impl Inner {
    /// Sets entries of one shard, in their order, in as few commits as the limits allow.
    pub(crate) async fn write_shard(&self, shard: &Shard, items: Vec<Item>) -> Vec<(Item, Answer)> {
        let _line = self.line(shard).await;
        // Behind the line: who waits for a shard must not keep others from theirs. It is never
        // closed, so there is always a permit to wait for.
        let _permit = self.in_flight.acquire().await;
        let mut answers = Vec::with_capacity(items.len());
        let has_parts = items.iter().any(|item| item.set.entry.part.is_some());
        let group = if has_parts { limits::GROUP / 2 } else { limits::GROUP };
        for group in items.chunks(group) {
            match self.write_group(shard, group).await {
                Ok(written) => answers.extend(written),
                Err(error) => {
                    // What failed this group would fail the others.
                    answers.resize(items.len(), Answer::Done(Err(error)));
                    break;
                }
            }
        }
        items.into_iter().zip(answers).collect()
    }

    /// Sets up to [`limits::GROUP`] entries in one commit.
    async fn write_group(&self, shard: &Shard, items: &[Item]) -> Result<Vec<Answer>, SetError> {
        let mut attempts = Attempts::default();
        loop {
            // The sum with its version first, the entries second: when the commit succeeds, nothing
            // has changed since the version was read, so all of them are of one moment. When
            // nothing is to be committed the entries alone decide, and their ranks never go back.
            let sum = self.store.get_versioned(&SHARDS, shard, &RowName::Sum).await?;
            let before = Record::sum(sum.value).map_err(ReadError::from)?;
            let stored = self.stored(shard, before, items).await?;
            let sets = items.iter().map(|item| &item.set);
            let plan = Plan::new(stored, sets, self.settings.shard_entries);
            let changes = plan.changes();
            if changes.is_empty() {
                return Ok(logged(plan.answers));
            }
            let partition = SHARDS.partition(shard).map_err(ReadError::from)?;
            match commit(&self.store, SHARDS.def(), partition, sum.version, changes).await {
                Ok(true) => return Ok(logged(plan.answers)),
                Ok(false) => {}
                Err(CommitError::Unknown(error)) => return Err(SetError::Unknown(error)),
                Err(error) => return Err(SetError::Commit(error)),
            }
            attempts.again().await.map_err(|attempts| SetError::Contended { attempts })?;
        }
    }

    /// The rows of those entries that are there, and the sums of their parts.
    async fn stored(&self, shard: &Shard, sum: Sum, items: &[Item]) -> Result<Stored, ReadError> {
        let entries: BTreeSet<&Entry> = items.iter().map(|item| &item.set.entry).collect();
        let parts: BTreeSet<&Part> = entries.iter().filter_map(|e| e.part.as_ref()).collect();
        let mut keys = Vec::with_capacity(entries.len() + parts.len());
        keys.extend(entries.iter().map(|e| (shard.clone(), RowName::Entry((*e).clone()))));
        keys.extend(parts.iter().map(|part| (shard.clone(), RowName::Part((*part).clone()))));
        let mut found = self.store.get_many(&SHARDS, &keys).await?.into_iter();
        let mut stored = Stored { sum, ..Stored::default() };
        for (entry, record) in entries.iter().zip(found.by_ref()) {
            if let Some(record) = record {
                stored.entries.push(((*entry).clone(), record.entry()?));
            }
        }
        for (part, record) in parts.iter().zip(found) {
            if record.is_some() {
                stored.parts.push(((*part).clone(), Record::sum(record)?));
            }
        }
        Ok(stored)
    }
}

/// Other values under a known rank are a mistake of whoever gives ranks: the caller may only retry,
/// so an operator must see it.
fn logged(answers: Vec<Answer>) -> Vec<Answer> {
    for answer in &answers {
        if let Answer::Done(Err(error @ SetError::Differs { .. })) = answer {
            tracing::error!("{error}");
        }
    }
    answers
}

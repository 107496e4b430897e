//! Writing what nodes said: one event for each chain that moved, and the rows that changed.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use store::{OpId, PageRequest, Read, Store, Version};

use crate::events::{AppendError, EVENTS_PER_APPEND, Events, NewEvent};
use crate::guarded::{StoreError, commit_of, try_commit};
use crate::tables::TIPS;

use super::tip::{Heard, RowChanges, Rows, apply, changes, highest};
use super::{CHAIN_NODES, CHAINS_LIMIT, ChainName};

/// The kind of the event that tells that the highest height of a chain's nodes became another one,
/// mostly a higher one. It falls when a node begins anew or is taken out.
const MOVED: &str = "chain.tip";
/// Chains that are read or written at the same time.
const AT_ONCE: usize = 16;

const _: () = assert!(CHAINS_LIMIT <= EVENTS_PER_APPEND, "one append tells of all chains");

/// Writes for the holder of the lease. It remembers the rows, because nobody else changes them; if
/// somebody does, the version tells and they are read again.
#[derive(Debug)]
pub(super) struct Writer {
    store: Store,
    events: Events,
    known: BTreeMap<ChainName, Known>,
    /// Heard and not yet written, because the store failed.
    pending: BTreeMap<ChainName, BTreeMap<String, Heard>>,
}

/// The rows of a chain at a version.
#[derive(Clone, Debug)]
struct Known {
    version: Version,
    rows: Rows,
}

/// What one chain has to write.
struct Draft {
    chain: ChainName,
    version: Version,
    changes: RowChanges,
    rows: Rows,
    /// The height and node to tell, if the chain moved.
    moved: Option<(u64, String)>,
}

/// Why a round wrote nothing, or not all.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Writer {
    pub(super) fn new(store: Store, events: Events) -> Self {
        Self { store, events, known: BTreeMap::new(), pending: BTreeMap::new() }
    }

    /// Writes what was heard from nodes that are `asked`, and removes the rows of others. What
    /// could not be written is tried again with the next round.
    pub(super) async fn round(
        &mut self,
        heard: BTreeMap<ChainName, BTreeMap<String, Heard>>,
        asked: &BTreeMap<ChainName, BTreeSet<String>>,
    ) -> Result<(), WriteError> {
        for (chain, answers) in heard {
            self.pending.entry(chain).or_default().extend(answers);
        }
        self.pending.retain(|chain, _| asked.contains_key(chain));
        self.learn(asked.keys()).await?;
        let drafts = self.drafts(asked);
        self.tell(&drafts).await?;
        let store = &self.store;
        let writes = drafts.into_iter().map(|draft| commit(store, draft));
        let mut writes = futures_util::stream::iter(writes).buffer_unordered(AT_ONCE);
        let mut failed = None;
        while let Some((chain, written)) = writes.next().await {
            match written {
                Ok(Some(known)) => drop(self.known.insert(chain.clone(), known)),
                Ok(None) => drop(self.known.remove(&chain)),
                Err(error) => {
                    // It may have been written: read it again before anything is decided.
                    self.known.remove(&chain);
                    failed = Some(error);
                    continue;
                }
            }
            self.pending.remove(&chain);
        }
        // What changed nothing is done as well.
        if failed.is_none() {
            self.pending.clear();
        }
        // A chain that left and has no rows any more is none of ours.
        self.known.retain(|chain, known| asked.contains_key(chain) || !known.rows.is_empty());
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Reads the rows of chains that are not known yet.
    async fn learn(&mut self, chains: impl Iterator<Item = &ChainName>) -> Result<(), StoreError> {
        let store = &self.store;
        let unknown: Vec<ChainName> =
            chains.filter(|chain| !self.known.contains_key(*chain)).cloned().collect();
        let reads = unknown.into_iter().map(|chain| async move {
            let request = PageRequest { read: Read::Serial, ..PageRequest::first(CHAIN_NODES) };
            let page = store.page(&TIPS, &chain, request).await?;
            let known = Known { version: page.version, rows: page.rows.into_iter().collect() };
            Ok::<_, StoreError>((chain, known))
        });
        let mut reads = futures_util::stream::iter(reads).buffer_unordered(AT_ONCE);
        while let Some(read) = reads.next().await {
            let (chain, known) = read?;
            self.known.insert(chain, known);
        }
        Ok(())
    }

    fn drafts(&self, asked: &BTreeMap<ChainName, BTreeSet<String>>) -> Vec<Draft> {
        let (silence, nobody) = (BTreeMap::new(), BTreeSet::new());
        let draft = |(chain, known): (&ChainName, &Known)| {
            let heard = self.pending.get(chain).unwrap_or(&silence);
            let changes = changes(&known.rows, heard, asked.get(chain).unwrap_or(&nobody));
            if changes.is_empty() {
                return None;
            }
            let rows = apply(&known.rows, &changes);
            let before = highest(&known.rows).map(|(height, _)| height);
            let moved = highest(&rows).filter(|(height, _)| Some(*height) != before);
            let moved = moved.map(|(height, node)| (height, node.to_owned()));
            Some(Draft { chain: chain.clone(), version: known.version, changes, rows, moved })
        };
        self.known.iter().filter_map(draft).collect()
    }

    /// Tells of the chains that moved, in one append.
    async fn tell(&self, drafts: &[Draft]) -> Result<(), AppendError> {
        // The same move from the same version has the same id, whoever tells it.
        let mut op = Sha256::new();
        let mut events = Vec::new();
        for Draft { chain, version, moved, .. } in drafts {
            let Some((height, node)) = moved else { continue };
            op.update(format!("{MOVED} {chain} {version} {height} {node}\n"));
            let data = json!({ "height": height, "node": node });
            events.push(NewEvent { kind: MOVED.into(), chain: Some(chain.clone()), data });
        }
        if events.is_empty() {
            return Ok(());
        }
        let mut id = [0; 16];
        id.copy_from_slice(&op.finalize()[..16]);
        self.events.append(events, OpId(id)).await?;
        Ok(())
    }
}

/// Commits a draft; no rows when somebody else was there before.
async fn commit(store: &Store, draft: Draft) -> (ChainName, Result<Option<Known>, StoreError>) {
    let Draft { chain, version, changes, rows, .. } = draft;
    let written = async {
        let changes = changes.iter().map(|(node, tip)| match tip {
            Some(tip) => TIPS.insert(node, tip),
            None => TIPS.delete(node),
        });
        let op = index::new_op()?;
        let commit = commit_of(&TIPS, &chain, version, changes.collect(), op, Bytes::new())?;
        let done = try_commit(store, commit).await?;
        Ok(done.map(|done| Known { version: done.version, rows }))
    };
    let written = written.await;
    if matches!(written, Ok(None)) {
        tracing::warn!(%chain, "another process wrote the tips of a chain; they are read again");
    }
    (chain, written)
}

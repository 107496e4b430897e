//! Follows a node: finds where the chain left it, and publishes what it has since.
//!
//! ```text
//!           fork                          far behind: four stretches are asked for at a time
//!   ours  ──●──a──b                       ┌────────┐┌────────┐┌────────┐┌────────┐
//!   node  ──●──x──y──z   latest_state: x  │ 50     ││ 50     ││ 50     ││ 50     │ epochs, and
//!            └─ popped: a, b              └────────┘└────────┘└────────┘└────────┘ their results
//!               pushed: x, y, z, results of x     published one after the other, in order
//! ```

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _};
use timeline::{Height, Lane, Published, Timeline, ViewError, Writer};

use crate::ingest::{self, Batch, IngestError};
use crate::memory::Memory;
use crate::query::Scan;
use crate::source::{Heights, Node, SourceError};
use crate::{EpochInput, Hash, ResultsInput};

/// Epochs that are asked for, and published, at a time.
pub const BATCH: u64 = 50;
/// Epochs, transactions and time after which what was asked for is published.
const HELD_EPOCHS: usize = 500;
const HELD_TRANSACTIONS: usize = 50_000;
const HELD_TIME: Duration = Duration::from_secs(1);
/// Stretches that are asked for at a time while catching up.
const AT_ONCE: usize = 4;

/// Why a step was not made. The chain is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The node gave no answer that fits.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The pivot switched while the node was asked.
    #[error("the node switched its pivot while it was asked; it is asked again")]
    Moved,
    /// The node is on another chain altogether.
    #[error(
        "the node has another first epoch than the rows that are here; check its network, or \
         index it under another name"
    )]
    OtherChain,
    /// The chain could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The epochs could not be published.
    #[error(transparent)]
    Ingest(#[from] IngestError),
}

/// Follows one node on a chain that this process writes.
#[derive(Debug)]
pub struct Follower<'a> {
    timeline: &'a Timeline,
    writer: &'a mut Writer,
    memory: &'a mut Memory,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// What was published; none when there is nothing new.
    pub published: Option<Published>,
    /// How far the node is.
    pub node: Heights,
}

impl<'a> Follower<'a> {
    /// A follower that writes with `writer` and remembers in `memory`.
    pub fn new(timeline: &'a Timeline, writer: &'a mut Writer, memory: &'a mut Memory) -> Self {
        Self { timeline, writer, memory }
    }

    /// Publishes the next epochs of the node and the next results, if there are any.
    ///
    /// # Errors
    /// When the node or the store fails, or the pivot moved meanwhile: call it again.
    pub async fn step(&mut self, node: &Node) -> Result<Stepped, FollowError> {
        let heights = node.heights().await?;
        let from = self.fork(node, heights.mined).await?;
        let to = heights.mined.min(from.saturating_add(BATCH - 1));
        let epochs = if from <= to { node.epochs(from, to).await? } else { Vec::new() };
        let results = self.next_results(node, from, &epochs, heights.executed).await?;
        let published = self.publish(epochs, results, heights).await?;
        Ok(Stepped { published, node: heights })
    }

    /// Publishes many epochs, asking for several stretches at a time, until the chain is as far as
    /// the node was at the beginning. `each` is told after each stretch.
    ///
    /// # Errors
    /// As [`Follower::step`]. What was published before stays.
    pub async fn catch_up(
        &mut self,
        node: &Node,
        mut each: impl FnMut(&Published, Heights),
    ) -> Result<(), FollowError> {
        let heights = node.heights().await?;
        let from = self.fork(node, heights.mined).await?;
        let starts = (from..=heights.mined).step_by(BATCH as usize);
        let stretches = starts.map(|from| stretch(node, from, heights));
        let mut stretches = futures_util::stream::iter(stretches).buffered(AT_ONCE);
        let mut held = Held::default();
        loop {
            let stretch = stretches.try_next().await?;
            let end = stretch.is_none();
            if let Some((epochs, results)) = stretch {
                held.add(epochs, results);
            }
            if !end && !held.is_enough() {
                continue;
            }
            let Held { epochs, mut results, .. } = std::mem::take(&mut held);
            let first = epochs.first().map(|epoch| epoch.number);
            if first != Some(self.next(Lane::EXECUTED)) {
                // Results of epochs below are missing; steps bring them.
                results.clear();
            }
            if let Some(published) = self.publish(epochs, results, heights).await? {
                each(&published, heights);
            }
            if end {
                return Ok(());
            }
        }
    }

    /// How many epochs the chain is behind.
    #[must_use]
    pub fn behind(&self, node: Heights) -> u64 {
        (node.mined + 1).saturating_sub(self.next(Lane::MINED))
    }

    fn next(&self, lane: Lane) -> u64 {
        self.writer.view().head(lane).map_or(0, |head| head.height.0 + 1)
    }

    async fn publish(
        &mut self,
        epochs: Vec<EpochInput>,
        results: Vec<ResultsInput>,
        heights: Heights,
    ) -> Result<Option<Published>, FollowError> {
        if let Some(first) = epochs.first() {
            check_links(self.known(first.number).await?, &epochs)?;
        }
        let (confirmed, finalized) = (Some(heights.confirmed), Some(heights.finalized));
        let batch = Batch { epochs, results, confirmed, finalized };
        Ok(ingest::publish(self.timeline, self.writer, self.memory, &batch).await?)
    }

    /// The lowest epoch that the chain does not have as the node has it.
    async fn fork(&self, node: &Node, latest: u64) -> Result<u64, FollowError> {
        let Some(head) = self.writer.view().head(Lane::MINED) else { return Ok(0) };
        // A node that is behind the chain pops nothing: it may be catching up itself.
        if latest < head.height.0 {
            return Ok(head.height.0 + 1);
        }
        let mut below = head.height.0;
        loop {
            let ours = self.known(below + 1).await?;
            if ours == Some(node.pivot(below).await?) {
                return Ok(below + 1);
            }
            // Another first epoch is another chain: nothing of it may be popped for this node.
            below = below.checked_sub(1).ok_or(FollowError::OtherChain)?;
        }
    }

    /// The pivot of the chain below an epoch; none below the first.
    async fn known(&self, epoch: u64) -> Result<Option<Hash>, FollowError> {
        let Some(below) = epoch.checked_sub(1) else { return Ok(None) };
        let view = self.writer.view();
        let unit = self.timeline.unit_at(view, Lane::MINED, Height(below)).await?;
        Ok(unit.and_then(|(_, row)| row.hash.try_into().ok()).map(Hash))
    }

    /// The results that come next, of epochs on the chain and of those that will be.
    async fn next_results(
        &self,
        node: &Node,
        fork: u64,
        epochs: &[EpochInput],
        executed: u64,
    ) -> Result<Vec<ResultsInput>, FollowError> {
        let from = self.next(Lane::EXECUTED).min(fork);
        let top = (fork + epochs.len() as u64).saturating_sub(1);
        let to = executed.min(top).min(from.saturating_add(BATCH - 1));
        let scan = Scan::new(self.timeline, self.writer.view());
        let mut wanted = Vec::new();
        for number in from..=to {
            let new = epochs.iter().find(|epoch| epoch.number == number);
            let hashes = match new {
                Some(epoch) => hashes(epoch),
                None => match scan.epoch(number).await? {
                    Some(row) => row.blocks,
                    None => break,
                },
            };
            wanted.push((number, hashes));
        }
        match node.results(&wanted).await {
            Ok(results) => Ok(results),
            // The pivot switched after it was asked, or is not executed under it yet.
            Err(SourceError::NoResults(_) | SourceError::Refused { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What is published together while catching up: large runs are loaded with far less work than
/// small ones.
struct Held {
    epochs: Vec<EpochInput>,
    results: Vec<ResultsInput>,
    transactions: usize,
    since: Instant,
}

impl Default for Held {
    fn default() -> Self {
        let (epochs, results) = (Vec::new(), Vec::new());
        Self { epochs, results, transactions: 0, since: Instant::now() }
    }
}

impl Held {
    fn add(&mut self, epochs: Vec<EpochInput>, results: Vec<ResultsInput>) {
        let blocks = epochs.iter().flat_map(|epoch| &epoch.blocks);
        self.transactions += blocks.map(|block| block.transactions.len()).sum::<usize>();
        // A stretch without results ends those that can be published with their epochs.
        if self.results.len() == self.epochs.len() {
            self.results.extend(results);
        }
        self.epochs.extend(epochs);
    }

    /// The lease must be renewed before others lose their patience, and memory has an end.
    fn is_enough(&self) -> bool {
        self.epochs.len() >= HELD_EPOCHS
            || self.transactions >= HELD_TRANSACTIONS
            || self.since.elapsed() > HELD_TIME
    }
}

fn hashes(epoch: &EpochInput) -> Vec<Hash> {
    epoch.blocks.iter().map(|block| block.hash).collect()
}

/// A stretch of epochs from `from` on, with their results when the node has them all.
async fn stretch(
    node: &Node,
    from: u64,
    heights: Heights,
) -> Result<(Vec<EpochInput>, Vec<ResultsInput>), FollowError> {
    let epochs = node.epochs(from, heights.mined.min(from + BATCH - 1)).await?;
    let executed = epochs.last().is_some_and(|last| last.number <= heights.executed);
    if !executed {
        return Ok((epochs, Vec::new()));
    }
    let wanted: Vec<_> = epochs.iter().map(|epoch| (epoch.number, hashes(epoch))).collect();
    let results = node.results(&wanted).await?;
    Ok((epochs, results))
}

/// Each pivot stands on the one below.
fn check_links(below: Option<Hash>, epochs: &[EpochInput]) -> Result<(), FollowError> {
    let mut below = below;
    for epoch in epochs {
        let pivot = epoch.pivot().ok_or(FollowError::Moved)?;
        if below.is_some_and(|below| pivot.parent != below) {
            return Err(FollowError::Moved);
        }
        below = Some(pivot.hash);
    }
    Ok(())
}

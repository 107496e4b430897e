//! Follows a node: finds where the chain left it, and publishes what it has since.

use timeline::{Height, Lane, Published, Timeline, ViewError, Writer};

use crate::ingest::{self, IngestError};
use crate::source::{Node, SourceError};
use crate::{EpochInput, Hash};

/// Epochs that are published at a time while catching up.
pub const BATCH: u64 = 50;

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

/// Publishes the next epochs of the node; none when there is nothing new.
///
/// # Errors
/// When the node or the store fails, or the pivot moved meanwhile: call it again.
pub async fn step(
    timeline: &Timeline,
    writer: &mut Writer,
    node: &Node,
) -> Result<Option<Published>, FollowError> {
    let latest = node.latest_mined().await?;
    let from = fork(timeline, writer, node, latest).await?;
    if from > latest {
        return Ok(None);
    }
    let epochs = node.epochs(from, latest.min(from + BATCH - 1)).await?;
    check_links(&known(timeline, writer, from).await?, &epochs)?;
    Ok(Some(ingest::extend(timeline, writer, &epochs).await?))
}

/// The lowest epoch that the chain does not have as the node has it.
async fn fork(
    timeline: &Timeline,
    writer: &Writer,
    node: &Node,
    latest: u64,
) -> Result<u64, FollowError> {
    let Some(head) = writer.view().head(Lane::MINED) else { return Ok(0) };
    // A node that is behind the chain pops nothing: it may be catching up itself.
    if latest < head.height.0 {
        return Ok(head.height.0 + 1);
    }
    let mut below = head.height.0;
    loop {
        let ours = known(timeline, writer, below + 1).await?;
        if ours == Some(node.pivot(below).await?) {
            return Ok(below + 1);
        }
        // Another first epoch is another chain: nothing of it may be popped for this node.
        below = below.checked_sub(1).ok_or(FollowError::OtherChain)?;
    }
}

/// The pivot of the chain below an epoch; none below the first.
async fn known(
    timeline: &Timeline,
    writer: &Writer,
    epoch: u64,
) -> Result<Option<Hash>, FollowError> {
    let Some(below) = epoch.checked_sub(1) else { return Ok(None) };
    let unit = timeline.unit_at(writer.view(), Lane::MINED, Height(below)).await?;
    Ok(unit.and_then(|(_, row)| row.hash.try_into().ok()).map(Hash))
}

/// Each pivot stands on the one below.
fn check_links(below: &Option<Hash>, epochs: &[EpochInput]) -> Result<(), FollowError> {
    let mut below = *below;
    for epoch in epochs {
        let pivot = epoch.pivot().ok_or(FollowError::Moved)?;
        if below.is_some_and(|below| pivot.parent != below) {
            return Err(FollowError::Moved);
        }
        below = Some(pivot.hash);
    }
    Ok(())
}

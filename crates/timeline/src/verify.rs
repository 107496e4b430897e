//! Proves that nothing visible is missing.

use std::collections::BTreeSet;

use store::{KeyReader, Maintenance, ReadError};

use crate::tables::{BUCKET, TIPS};
use crate::{ChainName, Height, Lane, Timeline, ViewError};

/// Something that should not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineFinding {
    /// The chain.
    pub chain: String,
    /// What was found.
    pub what: String,
}

/// The chains of a store, by name.
///
/// # Errors
/// When the tips cannot be walked.
pub async fn chains(engine: &dyn Maintenance) -> Result<Vec<ChainName>, ReadError> {
    let walker = engine.walk().await?;
    let (mut found, mut position) = (BTreeSet::new(), None);
    loop {
        let page = walker.page(TIPS.def(), position, 10_000).await?;
        for entry in &page.entries {
            found.insert(KeyReader::whole::<ChainName>(entry.partition())?);
        }
        match page.next {
            Some(next) => position = Some(next),
            None => return Ok(found.into_iter().collect()),
        }
    }
}

/// Walks every lane from its lowest unit to its head: one visible unit at each height, linked to
/// the one below, standing on a visible unit of lane 0; and every switch is in the journal.
///
/// # Errors
/// When the chain cannot be read.
pub async fn verify(timeline: &Timeline) -> Result<Vec<TimelineFinding>, ViewError> {
    let view = timeline.view().await?;
    let mut found = Vec::new();
    let mut find = |what: String| {
        found.push(TimelineFinding { chain: timeline.chain().clone(), what });
    };
    for lane in (0..Lane::MOST).map(Lane) {
        let Some(head) = view.head(lane).cloned() else { continue };
        let (mut height, mut parent) = (0, Vec::new());
        while height <= head.height.0 {
            let end = (height + BUCKET - 1).min(head.height.0);
            let units = timeline.units_between(&view, lane, Height(height), Height(end)).await?;
            for (at, unit, row) in units {
                if at.0 > height {
                    find(format!("lane {}: no visible unit at height {height}", lane.0));
                }
                if at.0 < height {
                    find(format!("lane {}: more than one visible unit at {}", lane.0, at.0));
                }
                if row.parent != parent {
                    find(format!("lane {}: height {} does not link", lane.0, at.0));
                }
                if lane != Lane::MINED && !row.of.is_some_and(|of| view.sees(of)) {
                    find(format!("lane {}: unit {} stands on nothing", lane.0, unit.0));
                }
                (height, parent) = (at.0 + 1, row.hash);
            }
            if height <= end {
                find(format!("lane {}: no visible unit at height {height}", lane.0));
                height = end + 1;
            }
        }
        if parent != head.hash {
            find(format!("lane {}: the head is not the highest unit", lane.0));
        }
    }
    let mut next = 0;
    while next < view.tip().switches {
        match timeline.follow(next).await {
            Ok(switches) if !switches.is_empty() => next += switches.len() as u64,
            Ok(_) => break,
            Err(error) => {
                find(error.to_string());
                break;
            }
        }
    }
    Ok(found)
}

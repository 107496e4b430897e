//! What a change of a project means for lists and counts: a pure function.

use index::{Call, Place};
use tally::{LimitError, Tally};

use crate::chains::ChainName;
use crate::tables::{CHAIN_PROJECTS, USER_PROJECTS};
use crate::tally_calls::TallyCalls;

use super::{BY_CREATED, BY_UPDATED, Pid, ProjectRecord, Status};

/// The tally of all projects.
pub(crate) fn all_tally() -> Result<Tally, LimitError> {
    Tally::new("platform.projects")
}

/// The tally of a chain's projects.
pub(crate) fn chain_tally(chain: &ChainName) -> Result<Tally, LimitError> {
    Tally::of(&("platform.projects.chain".to_owned(), chain.clone()))
}

/// The consequences of a change that leads to `record` at `rank`.
///
/// Every list gets every change, because its rows carry the name; counts change only when a project
/// comes or goes.
pub(crate) fn calls(
    pid: Pid,
    record: &ProjectRecord,
    rank: u64,
    counts: bool,
) -> Result<Vec<Call>, LimitError> {
    let active = record.status == Status::Active;
    let mut calls = Vec::with_capacity(8);
    for (by, time) in [(BY_CREATED, record.createtime), (BY_UPDATED, record.lasttime)] {
        let place = if active {
            Place::at(pid, rank, (time, pid), record.line())
        } else {
            Place::gone(pid, rank)
        };
        for chain in [String::new(), record.chain.to_string()] {
            calls.push(USER_PROJECTS.call(&(record.uid.clone(), chain, by), &place));
        }
        calls.push(CHAIN_PROJECTS.call(&(record.chain.clone(), by, pid.shard()), &place));
    }
    if counts {
        for tally in [all_tally()?, chain_tally(&record.chain)?] {
            calls.push(TallyCalls::call(&tally, pid.as_bytes(), rank, &[i128::from(active)]));
        }
    }
    Ok(calls)
}

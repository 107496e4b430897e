//! Staking statistics as paper 004 keeps them, on a real PostgreSQL, and ours beside them: each
//! event counts once, in the sums of all, of its finality provider and of its staker.
//!
//! PostgreSQL is reached over TCP on loopback and syncs before it answers. Its tables are new for
//! each line of the report, and what it puts off (checkpoints, vacuum) is not counted, in its
//! favour.

mod batches;
mod broker;
mod events;
mod messages;
mod ours;
mod postgres;
mod report;
mod singles;
mod statistics;

use std::time::Duration;

use anyhow::Context as _;
use events::Event;
use statistics::Statistics;

use crate::measure::Cost;

/// The same events in every run, so that runs can be compared.
const SEED: u64 = 4;
/// Delegations; events are 1.76 times as many.
const REDUCED: usize = 20_000;
const FULL: usize = 100_000;

/// Callers, shards, messages of a call: as singles come by HTTP, and as the broker's source hands
/// them over.
const OURS: [(usize, u16, usize); 7] =
    [(1, 4, 1_000), (2, 4, 1_000), (2, 16, 1_000), (64, 4, 1), (64, 16, 1), (8, 4, 1), (1, 4, 1)];

/// Somebody who counts events. Each has a file of its own and a place in [`sides`].
pub(crate) trait Side {
    /// How it is called in the report.
    fn name(&self) -> String;

    /// Begins with nothing, takes all events, and measures that; then tells its statistics, which
    /// are compared with a plain list's. Preparation ([`messages`]) is not measured.
    fn run(&mut self, events: &[Event]) -> anyhow::Result<Measured>;
}

/// What a side needed, and what it has counted.
pub(crate) struct Measured {
    /// Of this process, which sends events; a side that counts here has all its costs in it.
    pub(crate) client: Cost,
    /// Processor time of a server in other processes.
    pub(crate) server: Duration,
    /// Where the counting ended.
    pub(crate) statistics: Statistics,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let full = std::env::args().any(|argument| argument == "--full");
    let events = events::events(SEED, if full { FULL } else { REDUCED });
    let expected = Statistics::of(&events);
    let installed = parts::postgres::install().map_err(|missing| anyhow::anyhow!("{missing}"))?;
    let server = installed.start_with(&postgres::SETTINGS)?;
    report::head(SEED, &events, &expected, &server.psql("SHOW server_version")?);
    let mut lines = Vec::new();
    for side in &mut sides(&server) {
        let name = side.name();
        let measured = side.run(&events).with_context(|| name.clone())?;
        // A side that loses or doubles a count would be fast for nothing.
        measured.statistics.compare(&expected).with_context(|| name.clone())?;
        lines.push(report::Line::new(name, &measured, events.len()).printed());
    }
    report::foot(&lines);
    Ok(())
}

/// All that are measured, in the order of the report.
fn sides(server: &parts::postgres::Server) -> Vec<Box<dyn Side + '_>> {
    let mut sides: Vec<Box<dyn Side + '_>> = Vec::new();
    for (callers, shards, batch) in OURS {
        sides.push(Box::new(ours::Ours { callers, batch, shards }));
    }
    sides.push(Box::new(broker::Broker));
    for configuration in postgres::CONFIGURATIONS {
        sides.push(Box::new(postgres::Peer { server, configuration }));
    }
    sides
}

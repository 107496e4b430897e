//! The explorer beside the paper's own layout in a real Redis, on the same epochs.
//!
//! Redis is reached over TCP on loopback, appends to its file and syncs it every second, which is
//! its default; ours is called in this process and syncs before it answers. Making epochs is
//! measured on neither side.

mod data;
mod driver;
mod ours;
mod paper;
mod report;
mod resp;

use driver::{Fed, Latency, Layout};

/// How much is fed.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    /// Epochs, one by one; a quarter as many follow in batches.
    epochs: u64,
    /// Epochs that are replaced.
    switches: u64,
    /// Epochs that are fed while others read.
    beside: u64,
}

const REDUCED: Counts = Counts { epochs: 1_000, switches: 100, beside: 300 };
const FULL: Counts = Counts { epochs: 20_000, switches: 500, beside: 1_000 };

/// What was measured of one layout.
pub(crate) struct Measured {
    singles: Fed,
    batches: Fed,
    switches: Fed,
    deep: Fed,
    idle: [Latency; 5],
    busy: [Latency; 5],
    /// Ours: of the directory, of the tables. Redis: in memory, of the rewritten file.
    bytes: (u64, u64),
}

pub(crate) fn run() -> anyhow::Result<()> {
    let full = std::env::args().any(|argument| argument == "--full");
    let counts = if full { FULL } else { REDUCED };
    report::head(counts);
    let mut ours = ours::Ours::open()?;
    let measured = measure(&mut ours, counts)?;
    let messages = ours.messages / u32::try_from(ours.read)?;
    drop(ours);
    let mut redis = paper::Paper::start()?;
    let (empty, _) = redis.bytes()?;
    let mut peer = measure(&mut redis, counts)?;
    peer.bytes.0 = peer.bytes.0.saturating_sub(empty);
    let all = report::All {
        ours: measured,
        redis: peer,
        transactions: counts.stored() * data::BLOCKS * data::TRANSACTIONS,
        messages,
    };
    all.print();
    Ok(())
}

impl Counts {
    /// Epochs that are fed in batches.
    fn batched(self) -> u64 {
        self.epochs / 4
    }

    /// Epochs on the chain at the end.
    fn stored(self) -> u64 {
        self.epochs + self.batched() + self.beside
    }
}

fn measure<L: Layout>(layout: &mut L, counts: Counts) -> anyhow::Result<Measured> {
    let singles = driver::feed(layout, (0, counts.epochs), 1)?;
    let next = counts.epochs + counts.batched();
    let batches = driver::feed(layout, (counts.epochs, next), driver::BATCH)?;
    let idle = driver::idle_reads(layout, next)?;
    let end = next + counts.beside;
    let busy = driver::busy_reads(layout, (next, end), singles.rate() / 2.0)?;
    // Before the switches: Redis deletes what is popped at once, ours when it sweeps.
    let bytes = layout.bytes()?;
    let switches = driver::switch(layout, end - 1, counts.switches)?;
    let deep = driver::deep_switch(layout, (end, counts.switches))?;
    Ok(Measured { singles, batches, switches, deep, idle, busy, bytes })
}

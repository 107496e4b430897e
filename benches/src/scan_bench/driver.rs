//! What both layouts must do, and how it is measured.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::data::{self, Epoch, Place};
use crate::measure::cpu_of_threads;

/// Epochs that are made before they are fed: making them is not measured.
const MADE: u64 = 200;
/// Epochs of one batch, as catching up has them.
pub(crate) const BATCH: usize = 50;
/// Reads of each kind while nothing else happens.
const IDLE_READS: u64 = 2_000;
/// Name of the threads that flush and compact.
const BACKGROUND: &str = "fjall:worker";
/// The branch of a deep switch, which no other switch uses.
const DEEP: u64 = 10_000;
/// Between rounds of reads while epochs are fed, so that readers do not starve the feed.
const PAUSE: Duration = Duration::from_millis(2);

/// One of the two layouts.
pub(crate) trait Layout: Send {
    /// An epoch as it takes it.
    type Input: Send;
    /// Reads beside the feed.
    type Reader: Reader;
    /// Its processor time is that of this process, so making epochs must be subtracted.
    const IN_PROCESS: bool;

    /// Makes an epoch ready; not measured.
    fn prepare(&mut self, epoch: Epoch) -> anyhow::Result<Self::Input>;
    /// Feeds epochs at once.
    fn push(&mut self, epochs: Vec<Self::Input>) -> anyhow::Result<()>;
    /// Pops the newest epochs and pushes others in their place.
    fn replace(&mut self, old: Vec<Epoch>, new: Vec<Self::Input>) -> anyhow::Result<()>;
    /// Processor time of the store up to now.
    fn cpu(&self) -> anyhow::Result<Duration>;
    /// Waits until nothing is left to do.
    fn settle(&mut self) -> anyhow::Result<()>;
    /// Bytes that it needs now, counted in two ways.
    fn bytes(&mut self) -> anyhow::Result<(u64, u64)>;
    /// A reader of its own.
    fn reader(&self) -> anyhow::Result<Self::Reader>;
}

/// Asks a layout.
pub(crate) trait Reader {
    /// Reads; how many values there were.
    fn read(&mut self, kind: Kind, target: &Target) -> anyhow::Result<usize>;
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Block,
    Transaction,
    Account,
    Blocks,
    Sums,
}

impl Kind {
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Block, "block by hash"),
        (Self::Transaction, "transaction by hash"),
        (Self::Account, "account's newest 20"),
        (Self::Blocks, "newest 20 blocks"),
        (Self::Sums, "latest sums"),
    ];
}

/// What it is asked about.
pub(crate) struct Target {
    pub(crate) block: String,
    pub(crate) transaction: String,
    pub(crate) account: String,
}

impl Target {
    /// Something of the first `epochs` epochs of the first branch.
    fn random(rng: &mut fastrand::Rng, epochs: u64) -> Self {
        let (number, at) = (rng.u64(0..epochs), rng.u64(0..data::TRANSACTIONS));
        Self {
            block: data::block_hash(number, 0, rng.u64(0..data::BLOCKS)),
            transaction: data::transaction_hash(number, 0, 0, at),
            account: data::account(rng).to_string(),
        }
    }
}

/// What some epochs cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fed {
    pub(crate) epochs: u64,
    pub(crate) wall: Duration,
    /// Processor time of the store.
    pub(crate) cpu: Duration,
    /// Of the thread that feeds it; where the store is in this process it derives and encodes.
    pub(crate) client: Duration,
    /// What of `cpu` is flushing and compaction in this process.
    pub(crate) background: Duration,
}

impl Fed {
    pub(crate) fn rate(&self) -> f64 {
        self.epochs as f64 / self.wall.as_secs_f64()
    }

    /// Epochs of one second of processor time, of the store and of all there is.
    pub(crate) fn per_cpu(&self, with_client: bool) -> f64 {
        let client = if with_client { self.client } else { Duration::ZERO };
        self.epochs as f64 / (self.cpu + client).as_secs_f64()
    }
}

/// Processor time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// A measurement of several pieces of work, between which epochs are made.
struct Meter {
    before: Duration,
    begun: Duration,
    background: Duration,
    fed: Fed,
}

impl Meter {
    fn begin<L: Layout>(layout: &mut L) -> anyhow::Result<Self> {
        layout.settle()?;
        let background = cpu_of_threads(BACKGROUND);
        Ok(Self { before: layout.cpu()?, begun: thread_cpu(), background, fed: Fed::default() })
    }

    fn work(&mut self, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let (wall, cpu) = (Instant::now(), thread_cpu());
        work()?;
        self.fed.wall += wall.elapsed();
        self.fed.client += thread_cpu() - cpu;
        Ok(())
    }

    fn end<L: Layout>(mut self, layout: &mut L, epochs: u64) -> anyhow::Result<Fed> {
        let made = thread_cpu() - self.begun - self.fed.client;
        layout.settle()?;
        self.fed.epochs = epochs;
        self.fed.cpu = layout.cpu()?.saturating_sub(self.before);
        if L::IN_PROCESS {
            let background = cpu_of_threads(BACKGROUND);
            self.fed.background = background.saturating_sub(self.background);
            self.fed.cpu = self.fed.cpu.saturating_sub(made + self.fed.client);
        }
        Ok(self.fed)
    }
}

fn prepared<L: Layout>(
    layout: &mut L,
    places: impl Iterator<Item = Place>,
) -> anyhow::Result<Vec<L::Input>> {
    places.map(|place| layout.prepare(data::epoch(place))).collect()
}

/// Feeds epochs, so many at a time.
pub(crate) fn feed<L: Layout>(
    layout: &mut L,
    (from, to): (u64, u64),
    at_once: usize,
) -> anyhow::Result<Fed> {
    let mut meter = Meter::begin(layout)?;
    for first in (from..to).step_by(MADE as usize) {
        let last = to.min(first + MADE);
        let mut inputs = prepared(layout, (first..last).map(|n| (n, 0, 0)))?.into_iter();
        while inputs.len() > 0 {
            let some: Vec<_> = inputs.by_ref().take(at_once).collect();
            meter.work(|| layout.push(some))?;
        }
    }
    meter.end(layout, to - from)
}

/// Replaces the newest epoch again and again, each time by one of another branch. The first
/// branch is back at the end.
pub(crate) fn switch<L: Layout>(layout: &mut L, top: u64, count: u64) -> anyhow::Result<Fed> {
    let mut meter = Meter::begin(layout)?;
    for turn in 0..count {
        let old = data::epoch((top, turn % count, 0));
        let new = prepared(layout, std::iter::once((top, (turn + 1) % count, 0)))?;
        meter.work(|| layout.replace(vec![old], new))?;
    }
    meter.end(layout, count)
}

/// Replaces the newest `count` epochs by as many of another branch, in batches.
pub(crate) fn deep_switch<L: Layout>(
    layout: &mut L,
    (next, count): (u64, u64),
) -> anyhow::Result<Fed> {
    let mut meter = Meter::begin(layout)?;
    let fork = next.saturating_sub(count);
    let old: Vec<_> = (fork..next).map(|number| data::epoch((number, 0, 0))).collect();
    let place = |number| (number, DEEP, if number > fork { DEEP } else { 0 });
    let mut new = prepared(layout, (fork..next).map(place))?.into_iter();
    let first = new.by_ref().take(BATCH).collect();
    meter.work(|| layout.replace(old, first))?;
    while new.len() > 0 {
        let some = new.by_ref().take(BATCH).collect();
        meter.work(|| layout.push(some))?;
    }
    meter.end(layout, next - fork)
}

/// Microseconds of reads: the median, and what 99 of 100 stay below.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

#[derive(Default)]
struct Taken([Vec<f64>; 5]);

impl Taken {
    /// One read of each kind.
    fn round(&mut self, reader: &mut impl Reader, target: &Target) -> anyhow::Result<()> {
        for ((kind, name), taken) in Kind::ALL.into_iter().zip(&mut self.0) {
            let started = Instant::now();
            let values = reader.read(kind, target)?;
            taken.push(started.elapsed().as_secs_f64() * 1e6);
            anyhow::ensure!(values > 0 || kind == Kind::Account, "{name} was not found");
        }
        Ok(())
    }

    fn finish(self) -> [Latency; 5] {
        self.0.map(|mut taken| {
            taken.sort_by(f64::total_cmp);
            let at = |share: f64| taken.get((taken.len() as f64 * share) as usize).copied();
            Latency { p50: at(0.5).unwrap_or(f64::NAN), p99: at(0.99).unwrap_or(f64::NAN) }
        })
    }
}

/// Reads while nothing else happens.
pub(crate) fn idle_reads<L: Layout>(layout: &L, epochs: u64) -> anyhow::Result<[Latency; 5]> {
    let (mut reader, mut taken) = (layout.reader()?, Taken::default());
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..IDLE_READS {
        taken.round(&mut reader, &Target::random(&mut rng, epochs))?;
    }
    Ok(taken.finish())
}

/// Reads of the first epochs while the others are fed, one by one, so many in a second.
pub(crate) fn busy_reads<L: Layout>(
    layout: &mut L,
    (from, to): (u64, u64),
    rate: f64,
) -> anyhow::Result<[Latency; 5]> {
    let mut reader = layout.reader()?;
    let inputs = prepared(layout, (from..to).map(|n| (n, 0, 0)))?;
    let every = Duration::from_secs_f64(1.0 / rate);
    std::thread::scope(|scope| {
        let feeder = scope.spawn(|| {
            let mut due = Instant::now();
            for input in inputs {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due += every;
                layout.push(vec![input])?;
            }
            anyhow::Ok(())
        });
        let (mut taken, mut rng) = (Taken::default(), fastrand::Rng::with_seed(2));
        while !feeder.is_finished() {
            taken.round(&mut reader, &Target::random(&mut rng, from))?;
            std::thread::sleep(PAUSE);
        }
        feeder.join().map_err(|_| anyhow::anyhow!("the feed ended badly"))??;
        Ok(taken.finish())
    })
}

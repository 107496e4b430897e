//! Our tables on the embedded engine, as the server opens it.

use std::sync::Arc;
use std::time::Duration;

use scan::ingest::{Batch, publish};
use scan::query::Scan;
use scan::{Address, EpochInput, Hash, Memory};
use store::{Engine, Order, Schema, Store};
use store_fjall::{FjallEngine, Options};
use tempfile::TempDir;
use timeline::{Settings, Timeline, Watch, Writer, WriterId};
use tokio::runtime::Runtime;

use super::data::{self, Epoch};
use super::driver::{Kind, Layout, Reader, Target, thread_cpu};
use crate::measure::{self, disk_bytes};

/// Blocks that count as the latest.
const LATEST: u64 = 1000;
/// Entries of a page.
const PAGE: usize = 20;

/// A store with one chain, and its writer.
pub(crate) struct Ours {
    runtime: Arc<Runtime>,
    timeline: Timeline,
    writer: Writer,
    memory: Memory,
    /// Processor time of making inputs of messages: packing their fields is work that is not
    /// measured elsewhere.
    pub(crate) messages: Duration,
    pub(crate) read: u64,
    directory: TempDir,
}

impl Ours {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
        let runtime = Arc::new(runtime);
        let directory = tempfile::tempdir()?;
        let timeline = timeline::schema();
        let schema = Schema::new(timeline.tables().chain(scan::tables::tables()));
        let engine = Arc::new(FjallEngine::open(&Options::new(directory.path()), &schema)?);
        let store = Store::new(engine as Arc<dyn Engine>, 0);
        let timeline = Timeline::new(store, "conflux".into(), Settings::default());
        let mut watch = Watch::default();
        let writer = runtime.block_on(timeline.lead(WriterId([1; 16]), &mut watch))?;
        let writer = writer.ok_or_else(|| anyhow::anyhow!("somebody else leads"))?;
        let (memory, messages) = (Memory::default(), Duration::ZERO);
        Ok(Self { runtime, timeline, writer, memory, messages, read: 0, directory })
    }
}

impl Layout for Ours {
    type Input = EpochInput;
    type Reader = OurReader;
    const IN_PROCESS: bool = true;

    fn prepare(&mut self, epoch: Epoch) -> anyhow::Result<EpochInput> {
        let messages = data::messages(&epoch)?;
        let before = thread_cpu();
        let input = data::input(epoch.number, &messages)?;
        self.messages += thread_cpu() - before;
        self.read += 1;
        Ok(input)
    }

    fn push(&mut self, epochs: Vec<EpochInput>) -> anyhow::Result<()> {
        let batch = Batch { epochs, ..Batch::default() };
        let publish = publish(&self.timeline, &mut self.writer, &mut self.memory, &batch);
        self.runtime.block_on(publish)?;
        Ok(())
    }

    /// What is pushed says by its number where the chain is left.
    fn replace(&mut self, _old: Vec<Epoch>, new: Vec<EpochInput>) -> anyhow::Result<()> {
        self.push(new)
    }

    fn cpu(&self) -> anyhow::Result<Duration> {
        Ok(measure::cpu_time())
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        measure::settle();
        Ok(())
    }

    /// Of the directory, and of its tables alone.
    fn bytes(&mut self) -> anyhow::Result<(u64, u64)> {
        measure::settle();
        let directory = disk_bytes(self.directory.path());
        let mut tables = 0;
        for entry in std::fs::read_dir(self.directory.path().join("fjall"))? {
            let path = entry?.path();
            if path.is_dir() {
                tables += disk_bytes(&path);
            }
        }
        Ok((directory, tables))
    }

    fn reader(&self) -> anyhow::Result<OurReader> {
        Ok(OurReader { runtime: self.runtime.clone(), timeline: self.timeline.clone() })
    }
}

/// Reads as a request to the server does: a view of its own for each.
pub(crate) struct OurReader {
    runtime: Arc<Runtime>,
    timeline: Timeline,
}

impl Reader for OurReader {
    fn read(&mut self, kind: Kind, target: &Target) -> anyhow::Result<usize> {
        self.runtime.block_on(async {
            let view = self.timeline.view().await?;
            let scan = Scan::new(&self.timeline, &view);
            let newest = |count: u64| (count.saturating_sub(1), Order::Descending, PAGE);
            Ok(match kind {
                Kind::Block => {
                    let found = scan.block(Hash::parse(&target.block)?).await?;
                    let fields = found.map(|found| found.facts.fields.read()).transpose()?;
                    fields.map_or(0, |fields| fields.len())
                }
                Kind::Transaction => {
                    let found = scan.transaction(Hash::parse(&target.transaction)?).await?;
                    let fields = found.map(|found| found.facts.fields.read()).transpose()?;
                    fields.map_or(0, |fields| fields.len())
                }
                Kind::Account => {
                    let account = Address::parse(&target.account)?;
                    let count = scan.account_count(account).await?;
                    scan.account(account, newest(count)).await?.len()
                }
                Kind::Blocks => scan.blocks(newest(scan.totals().await?.blocks)).await?.len(),
                Kind::Sums => usize::try_from(scan.latest(LATEST).await?.blocks)?,
            })
        })
    }
}

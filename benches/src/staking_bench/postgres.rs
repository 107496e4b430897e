//! The paper's tables in a real PostgreSQL, and those who write them: so many writers, so many
//! shards, one event a transaction or many.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use parts::postgres::Server;
use tokio_postgres::{Client, NoTls};

use super::batches::Batches;
use super::events::Event;
use super::singles::{Statement, Steps};
use super::statistics::{Statistics, Sums};
use super::{Measured, Side};
use crate::measure::{Cost, cpu_of_processes};

/// Memory and log as one would give them to a server of its own: no checkpoint falls into a line.
pub(crate) const SETTINGS: [&str; 4] =
    ["shared_buffers=512MB", "max_wal_size=8GB", "checkpoint_timeout=1h", "wal_compression=off"];

/// Events of one transaction where there are many.
const BATCH: usize = 1_000;
/// The server has nothing left to do when it needs less than this in `QUIET_FOR`.
const QUIET: Duration = Duration::from_millis(3);
const QUIET_FOR: Duration = Duration::from_millis(300);

/// How an event is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A transaction of the paper's steps for each event.
    Steps,
    /// One statement for each event that does the same.
    Statement,
    /// A thousand events a transaction.
    Batches,
}

/// Who writes how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    way: Way,
    writers: usize,
    shards: u32,
}

const fn line(way: Way, writers: usize, shards: u32) -> Configuration {
    Configuration { way, writers, shards }
}

/// All that are measured.
pub(crate) const CONFIGURATIONS: [Configuration; 14] = [
    line(Way::Steps, 1, 1),
    line(Way::Steps, 1, 10),
    line(Way::Steps, 1, 64),
    line(Way::Steps, 8, 1),
    line(Way::Steps, 8, 10),
    line(Way::Steps, 8, 64),
    line(Way::Steps, 64, 1),
    line(Way::Steps, 64, 10),
    line(Way::Steps, 64, 64),
    line(Way::Statement, 8, 64),
    line(Way::Statement, 64, 64),
    line(Way::Batches, 1, 1),
    line(Way::Batches, 2, 1),
    line(Way::Batches, 2, 10),
];

/// The three kinds of sums, and whose they are.
pub(crate) const OVERALL: &str = "overall_stats";
pub(crate) const PROVIDER: &str = "finality_provider_stats";
pub(crate) const STAKER: &str = "staker_stats";

/// New tables. Pages of sums keep room for new versions of their rows, so that an update changes
/// one page and no index.
fn tables() -> String {
    let lock = "DROP TABLE IF EXISTS stats_lock; CREATE TABLE stats_lock (id text PRIMARY KEY, \
         overall_stats bool NOT NULL, finality_provider bool NOT NULL, staker bool NOT NULL);";
    let sums = [(OVERALL, 10), (PROVIDER, 50), (STAKER, 50)].map(|(table, fill)| {
        format!(
            "DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id text PRIMARY KEY, \
             active_tvl bigint NOT NULL, total_tvl bigint NOT NULL, \
             active_delegations bigint NOT NULL, total_delegations bigint NOT NULL) \
             WITH (fillfactor = {fill});"
        )
    });
    format!("{lock}{}", sums.concat())
}

/// Adds to rows of sums. `rows` follows the table's name and yields the columns in their order.
pub(crate) fn add(table: &str, rows: &str) -> String {
    let columns = ["active_tvl", "total_tvl", "active_delegations", "total_delegations"];
    let sums = columns.map(|column| format!("{column} = t.{column} + excluded.{column}"));
    format!("INSERT INTO {table} AS t {rows} ON CONFLICT (id) DO UPDATE SET {}", sums.join(", "))
}

/// A configuration on a server.
pub(crate) struct Peer<'a> {
    pub(crate) server: &'a Server,
    pub(crate) configuration: Configuration,
}

impl Side for Peer<'_> {
    fn name(&self) -> String {
        let Configuration { way, writers, shards } = self.configuration;
        let way = match way {
            Way::Steps => "an event a transaction",
            Way::Statement => "an event a statement",
            Way::Batches => "1,000 events a transaction",
        };
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        format!(
            "{writers} writer{}, {shards} shard{}, {way}",
            plural(writers),
            plural(shards as usize)
        )
    }

    fn run(&mut self, events: &[Event]) -> anyhow::Result<Measured> {
        // One thread: many connections cost it less than two threads that wake each other.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.measure(events))
    }
}

impl Peer<'_> {
    async fn measure(&self, events: &[Event]) -> anyhow::Result<Measured> {
        let reader = connect(self.server.port()).await?;
        reader.batch_execute(&tables()).await?;
        reader.batch_execute("CHECKPOINT").await?;
        let writers = self.writers().await?;
        self.settle().await;
        let before = self.cpu();
        let meter = Cost::begin();
        write(writers, events).await?;
        let client = meter.end();
        self.settle().await;
        let server = self.cpu().saturating_sub(before);
        Ok(Measured { client, server, statistics: statistics(&reader).await? })
    }

    async fn writers(&self) -> anyhow::Result<Vec<Writer>> {
        let Configuration { way, writers, shards } = self.configuration;
        let mut ready = Vec::new();
        for number in 0..writers {
            let client = connect(self.server.port()).await?;
            let shard = Shard { rng: fastrand::Rng::with_seed(number as u64), shards };
            ready.push(match way {
                Way::Steps => Writer::Steps(Steps::prepare(client, shard).await?),
                Way::Statement => Writer::Statement(Statement::prepare(client, shard).await?),
                Way::Batches => Writer::Batches(Batches::prepare(client, shard).await?),
            });
        }
        Ok(ready)
    }

    /// Processor time of all processes of the server.
    fn cpu(&self) -> Duration {
        cpu_of_processes(&self.server.processes())
    }

    /// Waits until the server has nothing left to do.
    async fn settle(&self) {
        let mut before = self.cpu();
        loop {
            tokio::time::sleep(QUIET_FOR).await;
            let now = self.cpu();
            if now.saturating_sub(before) < QUIET {
                return;
            }
            before = now;
        }
    }
}

/// The connections stay open until the processor time was read.
async fn connect(port: u16) -> anyhow::Result<Client> {
    let address = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Chooses a row of sums at random, as the paper does.
pub(crate) struct Shard {
    rng: fastrand::Rng,
    shards: u32,
}

impl Shard {
    pub(crate) fn random(&mut self) -> u32 {
        self.rng.u32(0..self.shards)
    }

    /// A row of those that belong to a key.
    pub(crate) fn of(&mut self, key: &str) -> String {
        format!("{key}:{}", self.random())
    }
}

/// One connection and what it has prepared.
enum Writer {
    Steps(Steps),
    Statement(Statement),
    Batches(Batches),
}

impl Writer {
    fn at_once(&self) -> usize {
        if matches!(self, Self::Batches(_)) { BATCH } else { 1 }
    }

    async fn write(&mut self, events: &[Event]) -> anyhow::Result<()> {
        match (self, events) {
            (Self::Steps(writer), [event]) => writer.write(event).await,
            (Self::Statement(writer), [event]) => writer.write(event).await,
            (Self::Batches(writer), events) => writer.write(events).await,
            _ => anyhow::bail!("this writer takes one event at a time"),
        }
    }
}

/// All writers take from one queue, in the order of events.
async fn write(writers: Vec<Writer>, events: &[Event]) -> anyhow::Result<()> {
    let taken = Cell::new(0);
    let work = |mut writer: Writer| {
        let taken = &taken;
        async move {
            loop {
                let first = taken.get();
                let last = events.len().min(first + writer.at_once());
                taken.set(last);
                match events.get(first..last) {
                    Some(some) if !some.is_empty() => writer.write(some).await?,
                    _ => return anyhow::Ok(()),
                }
            }
        }
    };
    try_join_all(writers.into_iter().map(work)).await.map(drop)
}

/// Adds all shards.
async fn statistics(client: &Client) -> anyhow::Result<Statistics> {
    let overall = sums(client, OVERALL, "''").await?;
    Ok(Statistics {
        overall: overall.get("").copied().unwrap_or_default(),
        providers: sums(client, PROVIDER, "split_part(id, ':', 1)").await?,
        stakers: sums(client, STAKER, "split_part(id, ':', 1)").await?,
    })
}

async fn sums(client: &Client, table: &str, key: &str) -> anyhow::Result<BTreeMap<String, Sums>> {
    let query = format!(
        "SELECT {key} AS key, sum(active_tvl)::bigint, sum(total_tvl)::bigint, \
         sum(active_delegations)::bigint, sum(total_delegations)::bigint FROM {table} GROUP BY key"
    );
    let mut found = BTreeMap::new();
    for row in client.query(&query, &[]).await? {
        let sums = Sums {
            active_tvl: row.try_get(1)?,
            total_tvl: row.try_get(2)?,
            active_delegations: row.try_get(3)?,
            total_delegations: row.try_get(4)?,
        };
        found.insert(row.try_get(0)?, sums);
    }
    Ok(found)
}

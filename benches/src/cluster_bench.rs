//! The store on a real Cassandra beside its raw driver doing the same: what does our layer cost?
//!
//! One node, the same rows, the same batches, the same number of requests in flight. Rounds
//! alternate; processor time is this process's, driver included, and the node's is not counted.

use std::sync::Arc;

use anyhow::Context as _;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use placement::Placement;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency};
use store::{Bounds, Commit, OpId, PageRequest, Row, Schema, Store, Table, Version};
use store_cassandra::{CassandraEngine, Options, table_name};

use crate::measure::{Cost, Line};

const ROUNDS: usize = 12;
const PARTITION_ROWS: u32 = 100;
const PARTITIONS: usize = 2_000;
/// Rows of one call of `put`.
const PUT_ROWS: usize = 20_000;
const SINGLES: usize = 20_000;
const READS: usize = 20_000;
const RANGES: usize = 5_000;
const COMMITS: usize = 4_000;
const IN_FLIGHT: usize = 64;
/// Partition numbers a round may use.
const ROUND_SPAN: u64 = 1_000_000;
const VALUE: [u8; 11] = [7; 11];

static ROWS: Table<[u8; 32], u32, Vec<u8>> =
    Table::once("bench.rows", "A row under a hash.", Placement::Hashed, Bounds::rows(1000));
static CELLS: Table<u64, u8, Vec<u8>> =
    Table::guarded("bench.cells", "A guarded cell.", Placement::Hashed, Bounds::rows(10));

pub(crate) fn run() -> anyhow::Result<()> {
    let cassandra = parts::cassandra::install().map_err(|missing| anyhow::anyhow!("{missing}"))?;
    // A node as it runs in earnest; the tests' settings are chosen for a quick start.
    let node = cassandra.start_with(&[
        "-XX:TieredStopAtLevel=4",
        "-Dcassandra.settings.commitlog_sync=periodic",
        "-Dcassandra.settings.commitlog_sync_period=1000ms",
    ])?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&node.address().to_string()))
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
enum Work {
    Puts,
    Singles,
    Reads,
    Ranges,
    Commits,
}

impl Work {
    /// In this order, because the later ones read what the first ones have written.
    const ALL: [Self; 5] = [Self::Puts, Self::Singles, Self::Reads, Self::Ranges, Self::Commits];

    fn line(self) -> Line {
        match self {
            Self::Puts => {
                Line::new("puts, 100 rows a partition", PARTITIONS * PARTITION_ROWS as usize)
            }
            Self::Singles => Line::new("puts, a partition each", SINGLES),
            Self::Reads => Line::new("point reads", READS),
            Self::Ranges => Line::new("ranges of 100 rows", RANGES),
            Self::Commits => Line::new("commits, 64 at a time", COMMITS),
        }
    }
}

async fn measure(address: &str) -> anyhow::Result<()> {
    println!("{ROUNDS} rounds, rows of 44 bytes, one node; CPU is this process's\n");
    let ours = Ours::open(address).await?;
    let raw = Raw::open(address).await?;
    let mut lines = Work::ALL.map(Work::line);
    for round in 0..ROUNDS as u64 {
        let (first, second) = (2 * round * ROUND_SPAN, (2 * round + 1) * ROUND_SPAN);
        for (work, line) in Work::ALL.into_iter().zip(&mut lines) {
            // They take turns, one workload at a time: the node gets warmer, and what else the
            // machine does changes from second to second.
            let (a, b) = if round % 2 == 0 {
                let a = ours.cost(work, first).await?;
                (a, raw.cost(work, second).await?)
            } else {
                let b = raw.cost(work, second).await?;
                (ours.cost(work, first).await?, b)
            };
            // The first round warms both up.
            if round > 0 {
                line.ours.push(a);
                line.raw.push(b);
            }
        }
    }
    Line::head("driver");
    lines.iter().for_each(Line::print);
    Ok(())
}

fn partition(number: u64) -> [u8; 32] {
    let mut key = [0; 32];
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    key.iter_mut().zip(mixed.iter().cycle()).for_each(|(byte, mixed)| *byte = *mixed);
    key
}

/// The cost of work that is done in the runtime.
async fn cost(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Cost> {
    let meter = Cost::begin();
    work.await?;
    Ok(meter.end())
}

/// Where the partitions of a round begin that have one row each.
fn apart(first: u64) -> u64 {
    first + ROUND_SPAN / 2
}

/// Does `work` for each thing, some at a time.
async fn each<T, F>(
    things: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    stream::iter(things).map(work).buffer_unordered(IN_FLIGHT).try_collect().await
}

struct Ours(Store);

impl Ours {
    async fn open(address: &str) -> anyhow::Result<Self> {
        let mut options = Options::new([address.to_owned()]);
        (options.keyspace, options.replication) = ("bench_ours".to_owned(), 1);
        (options.apply_schema, options.in_flight) = (true, IN_FLIGHT);
        let schema = Schema::new([ROWS.def(), CELLS.def()]);
        let engine: Arc<CassandraEngine> = CassandraEngine::open(&options, &schema).await?;
        Ok(Self(Store::new(engine, 0)))
    }

    async fn cost(&self, work: Work, first: u64) -> anyhow::Result<Cost> {
        match work {
            Work::Puts => self.puts(first).await,
            Work::Singles => self.singles(apart(first)).await,
            Work::Reads => cost(each(0..READS as u64, |i| self.get(apart(first) + i))).await,
            Work::Ranges => cost(each(0..RANGES as u64, |i| self.range(first, i))).await,
            Work::Commits => cost(each(0..COMMITS as u64, |i| self.commit(first + i))).await,
        }
    }

    // Rows are derived by services, on either side of the comparison.
    async fn puts(&self, first: u64) -> anyhow::Result<Cost> {
        let all = (first..).take(PARTITIONS);
        let mut all = all.flat_map(|p| (0..PARTITION_ROWS).map(move |s| row(p, s)));
        let mut calls = Vec::new();
        for _ in 0..PARTITIONS * PARTITION_ROWS as usize / PUT_ROWS {
            calls.push(all.by_ref().take(PUT_ROWS).collect::<anyhow::Result<Vec<Row>>>()?);
        }
        let puts = async {
            for rows in calls {
                self.0.put(rows).await?;
            }
            Ok(())
        };
        cost(puts).await
    }

    async fn singles(&self, first: u64) -> anyhow::Result<Cost> {
        let all = (first..).take(SINGLES).map(|p| row(p, 0));
        let all = all.collect::<anyhow::Result<Vec<Row>>>()?;
        cost(async { Ok(self.0.put(all).await?) }).await
    }

    async fn get(&self, number: u64) -> anyhow::Result<()> {
        let found = self.0.get(&ROWS, &partition(number), &0).await?;
        found.map(|_| ()).context("a row is missing")
    }

    async fn range(&self, first: u64, number: u64) -> anyhow::Result<()> {
        let key = partition(first + number % PARTITIONS as u64);
        let page = self.0.page(&ROWS, &key, PageRequest::first(100)).await?;
        (page.rows.len() == 100).then_some(()).context("rows are missing")
    }

    async fn commit(&self, number: u64) -> anyhow::Result<()> {
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&number)?,
            expected: Version::NEVER,
            changes: vec![CELLS.insert(&0, &VALUE.to_vec())],
            op: OpId(u128::from(number).to_be_bytes()),
            result: bytes::Bytes::new(),
        };
        Ok(self.0.commit(commit).await.map(|_| ())?)
    }
}

fn row(partition_number: u64, sort: u32) -> anyhow::Result<Row> {
    Ok(ROWS.row(&partition(partition_number), &sort, &VALUE.to_vec())?)
}

/// Sort key and value.
type RawRow = ([u8; 4], Vec<u8>);

struct Raw {
    session: Session,
    put: PreparedStatement,
    get: PreparedStatement,
    range: PreparedStatement,
    begin: PreparedStatement,
    remember: PreparedStatement,
    insert: PreparedStatement,
}

impl Raw {
    /// The same tables with the same statements, in a keyspace of its own.
    async fn open(address: &str) -> anyhow::Result<Self> {
        let mut options = Options::new([address.to_owned()]);
        (options.keyspace, options.replication) = ("bench_raw".to_owned(), 1);
        options.apply_schema = true;
        drop(CassandraEngine::open(&options, &Schema::new([ROWS.def(), CELLS.def()])).await?);
        let profile = ExecutionProfile::builder()
            .consistency(Consistency::Quorum)
            .serial_consistency(Some(SerialConsistency::Serial))
            .build();
        let session = SessionBuilder::new()
            .known_node(address)
            .default_execution_profile_handle(profile.into_handle())
            .build()
            .await?;
        let (rows, cells) = (table_name(ROWS.def()), table_name(CELLS.def()));
        let (rows, cells) = (format!("bench_raw.{rows}"), format!("bench_raw.{cells}"));
        let columns = "(partition, sort, value) VALUES (?, ?, ?)";
        let range = format!("SELECT sort, value FROM {rows} WHERE partition = ?");
        let reading = async |rest: &str| {
            let mut statement = session.prepare(format!("{range} {rest}")).await?;
            // As the store does.
            statement.set_use_cached_result_metadata(true);
            anyhow::Ok(statement)
        };
        Ok(Self {
            put: session.prepare(format!("INSERT INTO {rows} {columns} USING TIMESTAMP 1")).await?,
            get: reading("AND sort = ?").await?,
            range: reading("AND sort >= ? LIMIT ?").await?,
            begin: session
                .prepare(format!(
                    "UPDATE {cells} SET version = ? WHERE partition = ? IF version = null"
                ))
                .await?,
            remember: session
                .prepare(format!("INSERT INTO {cells} {columns} IF NOT EXISTS USING TTL 86400"))
                .await?,
            insert: session.prepare(format!("INSERT INTO {cells} {columns}")).await?,
            session,
        })
    }

    async fn cost(&self, work: Work, first: u64) -> anyhow::Result<Cost> {
        match work {
            Work::Puts => self.puts(first).await,
            Work::Singles => self.singles(apart(first)).await,
            Work::Reads => cost(each(0..READS as u64, |i| self.get(apart(first) + i))).await,
            Work::Ranges => cost(each(0..RANGES as u64, |i| self.range(first, i))).await,
            Work::Commits => cost(each(0..COMMITS as u64, |i| self.commit(first + i))).await,
        }
    }

    // Values as the store's side has them: derived before, and dropped when they are written.
    async fn puts(&self, first: u64) -> anyhow::Result<Cost> {
        let derive = |_| (0..PARTITION_ROWS).map(|s| (s.to_be_bytes(), VALUE.to_vec())).collect();
        let all: Vec<Vec<RawRow>> = (0..PARTITIONS).map(derive).collect();
        let puts = each((first..).zip(all), |(number, rows)| async move {
            let key = partition(number);
            let mut batch = Batch::new(BatchType::Unlogged);
            let mut values = Vec::with_capacity(rows.len());
            for (sort, value) in &rows {
                batch.append_statement(self.put.clone());
                values.push((key.as_slice(), sort.as_slice(), value.as_slice()));
            }
            Ok(self.session.batch(&batch, &values).await.map(|_| ())?)
        });
        cost(puts).await
    }

    async fn singles(&self, first: u64) -> anyhow::Result<Cost> {
        let all: Vec<RawRow> = (0..SINGLES).map(|_| ([0; 4], VALUE.to_vec())).collect();
        let puts = each((first..).zip(all), |(number, (sort, value))| async move {
            let key = partition(number);
            let values = (key.as_slice(), sort.as_slice(), value.as_slice());
            Ok(self.session.execute_unpaged(&self.put, values).await.map(|_| ())?)
        });
        cost(puts).await
    }

    async fn get(&self, number: u64) -> anyhow::Result<()> {
        let key = partition(number);
        let values = (key.as_slice(), [0_u8; 4].as_slice());
        let rows = self.session.execute_unpaged(&self.get, values).await?.into_rows_result()?;
        let (_, value) = rows.first_row::<(&[u8], Vec<u8>)>()?;
        (!value.is_empty()).then_some(()).context("a row is missing")
    }

    async fn range(&self, first: u64, number: u64) -> anyhow::Result<()> {
        let key = partition(first + number % PARTITIONS as u64);
        let values = (key.as_slice(), [].as_slice() as &[u8], 101_i32);
        let rows = self.session.execute_unpaged(&self.range, values).await?.into_rows_result()?;
        let mut found = Vec::new();
        for row in rows.rows::<(&[u8], &[u8])>()? {
            let (sort, value) = row?;
            found.push((u32::from_be_bytes(sort.try_into()?), value.to_vec()));
        }
        (found.len() == 100).then_some(()).context("rows are missing")
    }

    async fn commit(&self, number: u64) -> anyhow::Result<()> {
        let key = number.to_be_bytes();
        let operation = [&[0_u8][..], &u128::from(number).to_be_bytes()].concat();
        let remembered = [0_u8; 16];
        let mut batch = Batch::new(BatchType::Unlogged);
        for statement in [&self.begin, &self.remember, &self.insert] {
            batch.append_statement(statement.clone());
        }
        let values = (
            (1_i64, key.as_slice()),
            (key.as_slice(), operation.as_slice(), remembered.as_slice()),
            (key.as_slice(), [1_u8, 0].as_slice(), VALUE.as_slice()),
        );
        let rows = self.session.batch(&batch, values).await?.into_rows_result()?;
        let applied = rows.first_row::<scylla::value::Row>()?;
        let applied =
            matches!(applied.columns.first(), Some(Some(scylla::value::CqlValue::Boolean(true))));
        applied.then_some(()).context("a commit was refused")
    }
}

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

const ROUNDS: usize = 4;
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

async fn measure(address: &str) -> anyhow::Result<()> {
    println!("{ROUNDS} rounds, rows of 44 bytes, one node; CPU is this process's\n");
    let ours = Ours::open(address).await?;
    let raw = Raw::open(address).await?;
    let rows = PARTITIONS * PARTITION_ROWS as usize;
    let mut lines = [
        Line::new("puts, 100 rows a partition", rows),
        Line::new("puts, a partition each", SINGLES),
        Line::new("point reads", READS),
        Line::new("ranges of 100 rows", RANGES),
        Line::new("commits, 64 at a time", COMMITS),
    ];
    for round in 0..ROUNDS as u64 {
        let (first, second) = (2 * round * ROUND_SPAN, (2 * round + 1) * ROUND_SPAN);
        // The node gets warmer all the time, so they take turns.
        let (a, b) = if round % 2 == 0 {
            let a = ours.costs(first).await?;
            (a, raw.costs(second).await?)
        } else {
            let b = raw.costs(second).await?;
            (ours.costs(first).await?, b)
        };
        // The first round warms both up.
        if round > 0 {
            for ((line, a), b) in lines.iter_mut().zip(a).zip(b) {
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

/// Does `work` for each number, some at a time.
async fn each<F>(count: usize, work: impl Fn(u64) -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    stream::iter(0..count as u64).map(work).buffer_unordered(IN_FLIGHT).try_collect().await
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

    async fn costs(&self, first: u64) -> anyhow::Result<Vec<Cost>> {
        let store = &self.0;
        let row = |p: u64, s: u32| ROWS.row(&partition(p), &s, &VALUE.to_vec());
        // Rows are derived by services, on either side of the comparison.
        let all = (first..).take(PARTITIONS);
        let all = all.flat_map(|p| (0..PARTITION_ROWS).map(move |s| row(p, s)));
        let mut all = all.collect::<Result<Vec<Row>, _>>()?;
        let puts = cost(async {
            while !all.is_empty() {
                let rest = all.split_off(all.len().min(PUT_ROWS));
                store.put(std::mem::replace(&mut all, rest)).await?;
            }
            Ok(())
        });
        let puts = puts.await?;
        let apart = first + ROUND_SPAN / 2;
        let all = (0..SINGLES as u64).map(|i| row(apart + i, 0));
        let all = all.collect::<Result<Vec<Row>, _>>()?;
        let singles = cost(async { Ok(store.put(all).await?) });
        let singles = singles.await?;
        let reads = cost(each(READS, |i| async move {
            let found = store.get(&ROWS, &partition(apart + i), &0).await?;
            found.map(|_| ()).context("a row is missing")
        }));
        let reads = reads.await?;
        let ranges = cost(each(RANGES, |i| async move {
            let key = partition(first + i % PARTITIONS as u64);
            let page = store.page(&ROWS, &key, PageRequest::first(100)).await?;
            (page.rows.len() == 100).then_some(()).context("rows are missing")
        }));
        let ranges = ranges.await?;
        let commits = cost(each(COMMITS, |i| async move {
            let commit = Commit {
                table: CELLS.def(),
                partition: CELLS.partition(&(first + i))?,
                expected: Version::NEVER,
                changes: vec![CELLS.insert(&0, &VALUE.to_vec())],
                op: OpId(u128::from(first + i).to_be_bytes()),
                result: bytes::Bytes::new(),
            };
            Ok(store.commit(commit).await.map(|_| ())?)
        }));
        Ok(vec![puts, singles, reads, ranges, commits.await?])
    }
}

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
        Ok(Self {
            put: session.prepare(format!("INSERT INTO {rows} {columns} USING TIMESTAMP 1")).await?,
            get: session.prepare(format!("{range} AND sort = ?")).await?,
            range: session.prepare(format!("{range} AND sort >= ? LIMIT ?")).await?,
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

    async fn costs(&self, first: u64) -> anyhow::Result<Vec<Cost>> {
        let session = &self.session;
        let batches = cost(each(PARTITIONS, |i| async move {
            let key = partition(first + i);
            let mut batch = Batch::new(BatchType::Unlogged);
            let sorts: Vec<[u8; 4]> = (0..PARTITION_ROWS).map(u32::to_be_bytes).collect();
            let mut values = Vec::with_capacity(sorts.len());
            for sort in &sorts {
                batch.append_statement(self.put.clone());
                values.push((key.as_slice(), sort.as_slice(), VALUE.as_slice()));
            }
            Ok(session.batch(&batch, &values).await.map(|_| ())?)
        }));
        let puts = batches.await?;
        let apart = first + ROUND_SPAN / 2;
        let zero = 0_u32.to_be_bytes();
        let singles = cost(each(SINGLES, |i| async move {
            let key = partition(apart + i);
            let values = (key.as_slice(), zero.as_slice(), VALUE.as_slice());
            Ok(session.execute_unpaged(&self.put, values).await.map(|_| ())?)
        }));
        let singles = singles.await?;
        let reads = cost(each(READS, |i| async move {
            let key = partition(apart + i);
            let values = (key.as_slice(), zero.as_slice());
            let rows = session.execute_unpaged(&self.get, values).await?.into_rows_result()?;
            rows.first_row::<(&[u8], &[u8])>().map(|_| ()).context("a row is missing")
        }));
        let reads = reads.await?;
        let ranges = cost(each(RANGES, |i| async move {
            let key = partition(first + i % PARTITIONS as u64);
            let values = (key.as_slice(), [].as_slice() as &[u8], 101_i32);
            let rows = session.execute_unpaged(&self.range, values).await?.into_rows_result()?;
            let mut found = Vec::new();
            for row in rows.rows::<(&[u8], &[u8])>()? {
                let (sort, value) = row?;
                found.push((u32::from_be_bytes(sort.try_into()?), value.to_vec()));
            }
            (found.len() == 100).then_some(()).context("rows are missing")
        }));
        let ranges = ranges.await?;
        let commits = cost(each(COMMITS, |i| self.commit(first + i)));
        Ok(vec![puts, singles, reads, ranges, commits.await?])
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

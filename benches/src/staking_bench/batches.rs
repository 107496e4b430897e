//! Many events a transaction, as well as one can: all locks in one statement, then each row of sums
//! once, with all that changes it.
//!
//! Rows are sent in the order of their keys, so that two writers never wait for each other in a
//! circle and neighbours in an index are met one after the other.

use std::collections::BTreeMap;

use futures_util::future::{try_join, try_join4};
use tokio_postgres::{Client, Statement};

use super::events::Event;
use super::postgres::{OVERALL, PROVIDER, STAKER, Shard, add};
use super::statistics::Sums;

/// The columns of many rows of sums.
const ROWS: &str = "SELECT * FROM \
     unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])";

/// A writer of batches.
pub(crate) struct Batches {
    client: Client,
    shard: Shard,
    lock: Statement,
    overall: Statement,
    provider: Statement,
    staker: Statement,
}

impl Batches {
    pub(crate) async fn prepare(client: Client, shard: Shard) -> anyhow::Result<Self> {
        // Lock and sums change in one transaction: a lock that is there has been counted.
        let lock = "INSERT INTO stats_lock SELECT id, true, true, true FROM unnest($1::text[]) id \
             ON CONFLICT DO NOTHING RETURNING id";
        Ok(Self {
            lock: client.prepare(lock).await?,
            overall: client.prepare(&add(OVERALL, ROWS)).await?,
            provider: client.prepare(&add(PROVIDER, ROWS)).await?,
            staker: client.prepare(&add(STAKER, ROWS)).await?,
            client,
            shard,
        })
    }

    /// Two round trips: which locks are new, and their sums.
    pub(crate) async fn write(&mut self, events: &[Event]) -> anyhow::Result<()> {
        let client = &self.client;
        // What comes twice in a batch is sent once.
        let told: BTreeMap<String, &Event> =
            events.iter().map(|event| (event.lock(), event)).collect();
        let locks: Vec<&str> = told.keys().map(String::as_str).collect();
        let (_, new) =
            try_join(client.batch_execute("BEGIN"), client.query(&self.lock, &[&locks])).await?;
        // One shard for all of a batch: the fewest rows that change.
        let shard = self.shard.random();
        let (mut overall, mut providers, mut stakers) =
            (Sums::default(), BTreeMap::<&str, Sums>::new(), BTreeMap::<&str, Sums>::new());
        for row in &new {
            let Some(event) = told.get(row.try_get::<_, &str>(0)?) else { continue };
            let change = Sums::change(event);
            overall.add(change);
            providers.entry(&event.provider).or_default().add(change);
            stakers.entry(&event.staker).or_default().add(change);
        }
        let overall = Rows::of([(shard.to_string(), overall)]);
        let sharded = |sums: BTreeMap<&str, Sums>| {
            Rows::of(sums.into_iter().map(|(key, sums)| (format!("{key}:{shard}"), sums)))
        };
        let (providers, stakers) = (sharded(providers), sharded(stakers));
        try_join4(
            overall.add(client, &self.overall),
            providers.add(client, &self.provider),
            stakers.add(client, &self.staker),
            client.batch_execute("COMMIT"),
        )
        .await?;
        Ok(())
    }
}

/// Rows of sums, column by column.
#[derive(Default)]
struct Rows {
    ids: Vec<String>,
    columns: [Vec<i64>; 4],
}

impl Rows {
    fn of(rows: impl IntoIterator<Item = (String, Sums)>) -> Self {
        let mut all = Self::default();
        for (id, sums) in rows {
            let Sums { active_tvl, total_tvl, active_delegations, total_delegations } = sums;
            let values = [active_tvl, total_tvl, active_delegations, total_delegations];
            all.ids.push(id);
            for (column, value) in all.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        all
    }

    async fn add(&self, client: &Client, table: &Statement) -> Result<u64, tokio_postgres::Error> {
        let [a, b, c, d] = &self.columns;
        client.execute(table, &[&self.ids, a, b, c, d]).await
    }
}

//! One event a transaction: the paper's steps, and a single statement that does the same.
//!
//! Nobody waits for anybody in a circle: all take the lock first, then the rows of all, of the
//! provider and of the staker.

use futures_util::future::{try_join3, try_join5};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::events::Event;
use super::postgres::{OVERALL, PROVIDER, STAKER, Shard, add};
use super::statistics::Sums;

/// The columns of one row of sums.
const ROW: &str = "VALUES ($1, $2, $3, $4, $5)";

/// The paper's steps. The original makes them in three transactions, each with its own boolean;
/// here one holds all, and statements are sent together where the next need not know the answer.
pub(crate) struct Steps {
    client: Client,
    shard: Shard,
    make_lock: tokio_postgres::Statement,
    read_lock: tokio_postgres::Statement,
    mark_lock: tokio_postgres::Statement,
    overall: tokio_postgres::Statement,
    provider: tokio_postgres::Statement,
    staker: tokio_postgres::Statement,
}

impl Steps {
    pub(crate) async fn prepare(client: Client, shard: Shard) -> anyhow::Result<Self> {
        let make = "INSERT INTO stats_lock VALUES ($1, false, false, false) ON CONFLICT DO NOTHING";
        let read = "SELECT overall_stats AND finality_provider AND staker FROM stats_lock \
             WHERE id = $1 FOR UPDATE";
        let mark = "UPDATE stats_lock SET overall_stats = true, finality_provider = true, \
             staker = true WHERE id = $1";
        Ok(Self {
            make_lock: client.prepare(make).await?,
            read_lock: client.prepare(read).await?,
            mark_lock: client.prepare(mark).await?,
            overall: client.prepare(&add(OVERALL, ROW)).await?,
            provider: client.prepare(&add(PROVIDER, ROW)).await?,
            staker: client.prepare(&add(STAKER, ROW)).await?,
            client,
            shard,
        })
    }

    /// Two round trips: who has the lock, and, if it is new, the sums.
    pub(crate) async fn write(&mut self, event: &Event) -> anyhow::Result<()> {
        let (client, lock) = (&self.client, event.lock());
        let (_, _, counted) = try_join3(
            client.batch_execute("BEGIN"),
            client.execute(&self.make_lock, &[&lock]),
            client.query_one(&self.read_lock, &[&lock]),
        )
        .await?;
        if counted.try_get(0)? {
            return Ok(client.batch_execute("COMMIT").await?);
        }
        let sums = Sums::change(event);
        let overall = self.shard.random().to_string();
        let provider = self.shard.of(&event.provider);
        let staker = self.shard.of(&event.staker);
        try_join5(
            client.execute(&self.mark_lock, &[&lock]),
            client.execute(&self.overall, &row(&overall, &sums)),
            client.execute(&self.provider, &row(&provider, &sums)),
            client.execute(&self.staker, &row(&staker, &sums)),
            client.batch_execute("COMMIT"),
        )
        .await?;
        Ok(())
    }
}

fn row<'a>(id: &'a String, sums: &'a Sums) -> [&'a (dyn ToSql + Sync); 5] {
    let Sums { active_tvl, total_tvl, active_delegations, total_delegations } = sums;
    [id, active_tvl, total_tvl, active_delegations, total_delegations]
}

/// One statement for an event, which is a transaction of its own: one round trip.
pub(crate) struct Statement {
    client: Client,
    shard: Shard,
    count: tokio_postgres::Statement,
}

impl Statement {
    pub(crate) async fn prepare(client: Client, shard: Shard) -> anyhow::Result<Self> {
        let row = |id: u8| {
            format!("SELECT ${id}::text, $5::bigint, $6::bigint, $7::bigint, $8::bigint FROM new")
        };
        // Whoever finds the lock has nothing new, and the other parts add no row.
        let count = format!(
            "WITH new AS (INSERT INTO stats_lock VALUES ($1, true, true, true) \
             ON CONFLICT DO NOTHING RETURNING id), overall AS ({}), provider AS ({}) {}",
            add(OVERALL, &row(2)),
            add(PROVIDER, &row(3)),
            add(STAKER, &row(4))
        );
        Ok(Self { count: client.prepare(&count).await?, client, shard })
    }

    pub(crate) async fn write(&mut self, event: &Event) -> anyhow::Result<()> {
        let sums = Sums::change(event);
        let lock = event.lock();
        let overall = self.shard.random().to_string();
        let provider = self.shard.of(&event.provider);
        let staker = self.shard.of(&event.staker);
        let [_, a, b, c, d] = row(&lock, &sums);
        let parameters: [&(dyn ToSql + Sync); 8] =
            [&lock, &overall, &provider, &staker, a, b, c, d];
        self.client.execute(&self.count, &parameters).await?;
        Ok(())
    }
}

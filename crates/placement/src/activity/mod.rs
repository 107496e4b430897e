//! The monthly activity of paper 001, generated, and three shard keys for it compared.
//!
//! The paper keeps one document per user and month, and shards it by `{f(year, month), user}` in
//! the hope that `f` ([`paper_shard`](crate::paper_shard)) does not climb with time.
//! [`FormulaFacts`] is arithmetic on that hope. [`compare`] is a simulation of what a day of writes
//! looks like on 16 shards.
//!
//! # The model
//!
//! - **Writes.** 1,000 users; each contributes on a given day with probability 0.2, independently.
//!   The first contribution of a user in a month inserts their document, later ones update it. Days
//!   are those of the calendar, 2015 to 2035.
//! - **Chunks.** As in MongoDB, the documents of a collection are sorted by shard key and cut into
//!   chunks; a chunk that grows beyond 500 documents (half of a month) is split at its median, and
//!   both halves stay where they are. A ranged collection starts as one chunk; a hashed one with
//!   two chunks per shard.
//! - **Balancing.** Every night chunks move, the lowest of the fullest shard to the emptiest shard,
//!   until chunk counts differ by at most one. A real balancer tolerates more difference and moves
//!   less in a night; neither is modelled.
//! - **Measure.** Of each day's writes, the share that the busiest shard takes; then the mean over
//!   all days.
//!
//! # What it shows
//!
//! | key | hottest of 16 shards | measured before | ideal |
//! | --- | --- | --- | --- |
//! | `{f(year, month), user}` | 64% | 60% | 6.25% |
//! | `{month, user}` | 41% | 42% | 6.25% |
//! | `{hash(user), year, month}` | 9.3% | 9% | 6.25% |
//!
//! Seeds 1 to 4 give 64 to 67%, 40 to 45% and 9.3%. The ranged figures depend on how many chunks a
//! month fills. 500 documents is the size, of those tried, that comes nearest to what was measured
//! before on all three keys together; the order of the keys is the same at every size:
//!
//! | documents per chunk | formula | month | hashed user |
//! | --- | --- | --- | --- |
//! | 1,000 | 77–79% | 48% | 9.4% |
//! | 500 | 64–67% | 40–45% | 9.3% |
//! | 333 | 60–62% | 33% | 9.3% |
//! | 125 | 52–54% | 23–24% | 9.2% |
//!
//! The reason is where new months land. A new value of `f` falls between two old ones, on a range
//! that was cut for other months, so a whole month of writes meets one chunk until that splits; and
//! after the split both halves are still on one shard until the balancer happens to pick one of
//! them. A value that returns finds its range already cut, but into no more pieces than a month
//! fills.
//!
//! The hashed key also wins at reading: a user's year is on one shard, against 8 and 11.

mod calendar;
mod chunks;
mod compare;
mod formula;

pub use compare::{Comparison, KeyResult, Model, ShardKey, YearShare, compare};
pub use formula::{FormulaFacts, SpanCorrelation};

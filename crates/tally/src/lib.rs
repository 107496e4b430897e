//! Sums that count each event once, however often and in whatever order it arrives.
//!
//! ```text
//!  set("staking.overall", delegation 7, rank 2, [0, 0])
//!                              │ hash mod K
//!     generation 0 (K = 2)     │                        generation 1 (K = 4), newest
//!     ┌─shard 0── sealed ┐     ▼                        ┌─shard 0┐ ┌─shard 1┐ ┌─shard 2┐ …
//!     │ sum  [900, 2] n=2│  is it in a sealed one?  no  │ sum    │ │ sum    │ │ sum    │
//!     │ e3 → 1 [400, 1]  │  then there, else here  ───▶ │ e9 → … │ │ e7 → … │ │        │
//!     │ e4 → 2 [500, 1]  │                              └────────┘ └────────┘ └────────┘
//!     └──────────────────┘ …                     one commit: the entry's row and the shard's sum
//! ```
//!
//! A tally is a named sum. An entry is what is counted in it: a delegation, a voter, a process that
//! reports its usage. An entry has a rank and a few values, and the sum of a tally is the sum of
//! the values of its entries. [`Tallies::set`] changes an entry, if the rank is higher than the one
//! it has.
//!
//! A tally may have parts: an entry that is set with [`Set::of_part`] counts in the sum of its
//! part, too. Its shard is that of the part, and the part's sum stands there beside the shard's. So
//! many small sums, one for each staker, change in as many commits as there are shards; a tally of
//! its own for each would be a partition of its own, and a commit.
//!
//! # Where ranks come from
//!
//! | counted | entry | rank |
//! | --- | --- | --- |
//! | delegations | transaction hash | the number of the state |
//! | votes | voter | the stored one + 1 ([`Tallies::set_next`]) |
//! | usage | random id of a process start | number of the flush; values since the start |
//!
//! Never from a clock: two clocks do not agree on what came last.
//!
//! # Invariants
//!
//! - **An entry, its shard's sum and its part's change in one commit**, so the sums always equal
//!   the entries: [`Tallies::recount`] and [`verify`] prove it.
//! - **Only a higher rank changes an entry.** A duplicate and a late event change nothing, so a set
//!   whose outcome is unknown is simply repeated. Other values under the same rank are refused.
//! - **An entry is in one shard of one generation, for ever.** The shard is a function of the
//!   entry, or of its part, and of K. Raising K first seals every shard of the newest generation
//!   (no entry is inserted into a sealed shard), then opens the next: absence in a sealed
//!   generation is final.
//! - **A raise that is half done is finished by whoever meets it.** Nobody waits for a process that
//!   may be dead.
//! - **A shard never holds more entries than its bound.** The insert that finds it full doubles K.
//! - **Everything has a limit** ([`limits`]).
//!
//! # Cost
//!
//! A set is two reads and a commit; [`Tallies::set_many`] shares them among all sets of a shard,
//! which gains more than any number of shards. Each generation adds one read to a set of an entry,
//! batched; sums read one row per shard.
//!
//! # Deliberately absent
//!
//! - *Lowering K*: entries do not move, so it would make no read cheaper.
//! - *Removing an entry*: set it to zero under a higher rank. A removed entry would forget its
//!   rank, and a late duplicate would count again.
//! - *Moving entries between generations*: two partitions never change in one commit.
//! - *Adding to a value*: an increment cannot be repeated. Values are absolute.
//! - *A memory of which entries are absent* in sealed generations: it would save a read that
//!   misses, the cheapest there is, and cost memory per entry.
//! - *Endless parts*: a part is in one shard of each generation, and there are at most 64 of them,
//!   so it holds 1.6 million entries; so do all parts together that outgrow a shard one after
//!   another. What may grow beyond that is a tally of its own.
//! - *Order among entries*: that is what `index` is for.

mod attempt;
mod error;
mod gather;
mod generations;
pub mod limits;
mod name;
mod pages;
mod plan;
mod raise;
mod read;
mod recount;
mod set;
mod settings;
mod shard;
mod tables;
mod tallies;
mod values;
mod verify;
mod write;

pub use error::{LimitError, RaiseError, SetError, SumError};
pub use name::Tally;
pub use pages::{EntriesError, EntryPage, Position};
pub use read::Sums;
pub use recount::Recount;
pub use set::{Outcome, Set};
pub use settings::Settings;
pub use tables::{Counted, tables};
pub use tallies::Tallies;
pub use values::Values;
pub use verify::{VerifyReport, verify};

//! Ranked lists, and effects that span partitions.
//!
//! # Lists
//!
//! A list is one guarded partition. It knows its entries, and keeps those that have a sort key in
//! order:
//!
//! ```text
//!   place(list, entry, rank, sort key or none, payload)
//!                    │
//!                    ▼   one commit
//!   ┌─ partition: the list ────────────────────────────────┐
//!   │ head            placed 2, known 3                    │
//!   │ entry  apple    rank 4  at 2024-05-01 ──┐            │
//!   │ entry  pear     rank 9  at 2024-03-07 ──│─┐          │
//!   │ entry  plum     rank 2  nowhere         │ │ its rank │
//!   │ row    2024-03-07  pear   payload  ◄────│─┘ is kept  │
//!   │ row    2024-05-01  apple  payload  ◄────┘            │
//!   └──────────────────────────────────────────────────────┘
//!        ▲ pages both ways, between two sort keys
//! ```
//!
//! - **A rank counts once.** A rank that is not higher than the stored one changes nothing, so
//!   placements may be repeated and arrive in any order. The same rank with another sort key or
//!   payload is an error, and logged: two changes claim one rank.
//! - **Entry, row and counts move in one commit.** No reader sees an entry twice in one order, or a
//!   count that is not that of the rows.
//! - **An entry that leaves the order keeps its rank**, so that a late lower rank cannot bring it
//!   back. It goes on counting towards the list's bound.
//! - **The version is read before the entries.** Entries that are younger than the version make the
//!   commit fail; so two plain reads are as good as one read of both.
//!
//! # Effects
//!
//! A change with consequences in other partitions is written down first:
//!
//! ```text
//!   writer                               store                        driver, every period
//!   1 put the intent ──────────────────► [intent: commit and calls] ◄── finds it, if it is old
//!   2 commit its own partition ────────► [own partition, op id]     ◄── commits under the same id
//!   3 apply the calls, each by rank ───► [list] [list] [tally]      ◄── applies them again
//!   4 remove the intent ───────────────► [      ]                   ◄── removes it
//! ```
//!
//! - **The commit decides.** It is known by its operation id, so it is done once, whoever does it.
//!   If it conflicts it was never done and never will be, because versions never restart: the
//!   intent is removed and nothing is applied.
//! - **Calls are ranked and repeatable** ([`Apply`]), so writer and driver may both apply them, in
//!   any order, at the same time. There is no read-add-write anywhere. A call's rank is best the
//!   version its commit leads to: known beforehand, given once, growing.
//! - **A crash after any step** leaves an intent, and the driver does the rest. While a driver
//!   lives nobody sees a change half done for longer than [`DriverSettings::longest`].
//! - **The result names its intent.** A request repeated under its operation id puts an intent of
//!   its own, with calls derived from another state; only the calls of the intent whose commit was
//!   done are applied.
//! - **Nothing is lost.** A call that is refused every time is kept aside in [`STUCK`] with its
//!   reason, counted, and retried by command. So are the calls of an intent that is found when its
//!   operation id may be forgotten (after 23 hours) and whose commit conflicts: then nobody can
//!   know whether it was done, and a person decides.
//! - **Everything has a bound**: entries of a list, bytes of a payload, calls and bytes of an
//!   intent, intents of a step, stuck calls.
//!
//! # Deliberately absent
//!
//! - *Positions* ("the 40th row"): a cursor names a place in the order, which stays right while
//!   rows move.
//! - *Forgetting ranks*: nobody knows which late placements are still to come. A list whose entries
//!   come and go without end needs a key that ends, such as a month.
//! - *Lists over several partitions*: split by a finer key, and let the reader merge.
//! - *Rolling back*: a change that is committed goes forward; an undo is a change of higher rank.
//! - *Knowledge of tally*: crates of this layer do not know each other. Whoever wires the program
//!   registers the kinds of calls it has.

mod calls;
mod driver;
mod effects;
mod error;
mod ids;
mod intent;
mod list;
mod lists;
mod pages;
mod place;
mod place_calls;
mod retry;
mod slot;
mod stuck;
mod verify;

pub use calls::{Apply, Call, Calls};
pub use driver::{Driver, DriverSettings, DriverStep};
pub use effects::{Changed, EffectStats, Effects};
pub use error::{CallError, ChangeError, DriveError, PlaceError};
pub use ids::{IntentId, Millis, new_op};
pub use intent::{
    CALL_BYTES, CALLS_PER_CHANGE, CHANGE_RESULT_BYTES, INTENT_BYTES, INTENTS, Intent,
};
pub use list::{LIST_ENTRIES, List, ListDef, ListRow, PAYLOAD_BYTES};
pub use lists::Lists;
pub use pages::ListPage;
pub use place::{Place, Placed};
pub use place_calls::PlaceCalls;
pub use slot::Counts;
pub use stuck::{Retried, STUCK, STUCK_CALLS, StuckCall, StuckCell, StuckKey, StuckPage};
pub use verify::{IndexReport, verify};

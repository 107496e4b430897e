//! Publishes a chain untorn: rows first, tip last.
//!
//! A chain is a sequence of units (a block; an epoch). Rows that depend on being on the chain are
//! stamped with a unit number, and one guarded row, the tip, decides which numbers count:
//!
//! ```text
//! visible(row) = row.unit <= tip.horizon  and  row.unit is not in tip.hidden
//!
//!           reserve                write                       publish
//! tip    next 7 → 9                                   heads, horizon 8, hidden {5, 6}
//!           │                                              │
//! rows      │        unit 7 ▒▒▒▒▒   unit 8 ▒▒▒▒▒           │    the old branch (5, 6) was served
//!           ▼        in any order, in parallel             ▼    until this one commit
//! ```
//!
//! # Invariants
//!
//! - **A number is given once**, to one attempt, and never again, not even for the same hash.
//! - **A switch of any depth is one commit.** The new branch is written while the old one is
//!   served; nobody is locked out, nothing is half switched.
//! - **Publishing hides every number up to the horizon that is not on the chain**: the old branch,
//!   a crashed attempt, another writer's.
//! - **Two writers cannot both publish**: the loser's commit fails. A lease keeps them from
//!   starving each other; it is not what makes them safe.
//! - **`hidden` is never forgotten**: a paused writer must not bring rows back. Beyond 1,024 ranges
//!   the lowest move to sealed segments, written before the commit that refers to them.
//! - **A stamped row has its unit last in its sort key**, because unit order is not chain order. A
//!   point look-up is a bounded range that skips invisible rows ([`Timeline::first_visible`]).
//! - **A writer derives through its [`Branch`]**, never through the tip.
//! - **Lanes above 0 fall back with lane 0** in the same commit, so a reader never sees a receipt
//!   of a popped epoch.
//! - **Hidden rows are swept late**, and a view has an age: who reads longer than the sweep delay
//!   is told so instead of being shown holes ([`Timeline::check_age`]).
//!
//! What is deliberately absent: locks, deletes of visible rows, and undo: a pop subtracts nothing,
//! because cumulative sums stand on every row of an ordered list ([`OrderedList`]).

mod error;
mod list;
mod ranges;
mod read;
mod reader;
mod sweep;
mod switch;
mod tables;
mod tip;
mod types;
mod verify;
mod writer;

pub use error::{FollowError, LeadError, PublishError, ViewError};
pub use list::{ListRow, ListTable, OrderedList, Summed};
pub use ranges::UnitSet;
pub use reader::{Clock, Settings, SystemClock, Timeline};
pub use sweep::{SweepError, Sweeper};
pub use switch::{Run, Switch};
pub use tables::schema;
pub use tip::{Branch, Sight, Tip, View};
pub use types::{ChainName, Head, Height, Lane, Lease, Seat, Stamped, Unit, UnitRow, WriterId};
pub use verify::{TimelineFinding, chains, verify};
#[cfg(feature = "broken")]
pub use writer::Broken;
pub use writer::{Attempt, Cut, NewUnit, Published, Watch, Writer};

//! Tables of all timelines.

use placement::Placement;
use store::{Bounds, Query, Schema, Sequenced, Table, Touches};

use crate::tip::TipRow;
use crate::{ChainName, Seat, Switch, Unit, UnitRow, UnitSet};

/// Units, heights and switches of one partition.
pub(crate) const BUCKET: u64 = 4096;
/// Switches kept in the tip's partition until they are archived.
pub(crate) const RECENT_SWITCHES: u64 = 64;

/// The tip of each chain, and its latest switches until they are archived.
pub(crate) static TIPS: Table<ChainName, (u8, u64), TipRow> = Table::guarded(
    "timeline.tips",
    "The tip of a chain: the one row that decides what is visible.",
    Placement::Hashed,
    Bounds::rows(4 * RECENT_SWITCHES).values(256 * 1024),
)
.answers(&[Query { name: "the tip of a chain", touches: Touches::One }]);

/// Units by height; several attempts may stand at one height, at most one is visible.
pub(crate) static HEIGHTS: Table<Sequenced<(ChainName, u8)>, (u64, Unit), UnitRow> = Table::once(
    "timeline.heights",
    "A unit under its lane and height.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(100_000),
)
.answers(&[Query { name: "the unit at a height", touches: Touches::One }]);

/// Units by number.
pub(crate) static SEATS: Table<Sequenced<ChainName>, Unit, Seat> = Table::once(
    "timeline.seats",
    "Lane, height and hash of a unit under its number.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(BUCKET),
)
.answers(&[Query { name: "the unit of a number", touches: Touches::One }]);

/// Hidden units that the tip row no longer carries itself.
pub(crate) static SEALED: Table<(ChainName, Unit), (), UnitSet> = Table::once(
    "timeline.sealed",
    "A segment of hidden units, named by the first unit of the attempt that sealed it.",
    Placement::Hashed,
    Bounds::rows(1).values(64 * 1024),
)
.answers(&[Query { name: "a segment of hidden units", touches: Touches::One }]);

/// The journal of switches.
pub(crate) static SWITCHES: Table<Sequenced<ChainName>, u64, Switch> = Table::once(
    "timeline.switches",
    "What one publish pushed and popped.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(BUCKET).values(256 * 1024),
)
.answers(&[Query { name: "switches from a number on", touches: Touches::Few(2) }]);

/// Hidden units whose rows are gone.
pub(crate) static SWEPT: Table<Sequenced<ChainName>, Unit, ()> = Table::once(
    "timeline.swept",
    "Says that the rows of a hidden unit were swept.",
    Placement::Bucketed { size: BUCKET },
    Bounds::rows(BUCKET),
)
.answers(&[Query { name: "whether a unit was swept", touches: Touches::One }]);

store::serde_value!(UnitSet, format 1);

/// The tables a program with timelines needs.
#[must_use]
pub fn schema() -> Schema {
    Schema::new([TIPS.def(), HEIGHTS.def(), SEATS.def(), SEALED.def(), SWITCHES.def(), SWEPT.def()])
}

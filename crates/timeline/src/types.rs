//! The words of a timeline: units, heights, lanes, heads.

use serde::{Deserialize, Serialize};
use store::{DecodeError, KeyPart, KeyReader};

/// Names a chain in the store: a short lower-case name.
pub type ChainName = String;

/// The number of one attempt at one unit. Given once, to one attempt, and never again, not even for
/// the same hash. Begins at 1; enough for a million attempts a second for half a million years.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Unit(pub u64);

/// The position of a unit on its chain. Begins at 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Height(pub u64);

impl KeyPart for Unit {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(u64::decode(reader)?))
    }
}

/// One of the sequences a chain publishes. Lane 0 leads: a lane above it can only stand on units
/// that lane 0 still has, and falls back with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lane(pub u8);

impl Lane {
    /// Units as they are mined.
    pub const MINED: Self = Self(0);
    /// Results of executing them, which come later.
    pub const EXECUTED: Self = Self(1);
    /// Lanes a chain may have.
    pub const MOST: u8 = 8;
}

/// The newest unit of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number.
    pub unit: Unit,
    /// Its height.
    pub height: Height,
    /// Its hash, at most 64 bytes.
    pub hash: Vec<u8>,
}

/// What is known of a unit: the row under its height.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Its hash.
    pub hash: Vec<u8>,
    /// The hash of the unit below it, empty at height 0.
    pub parent: Vec<u8>,
    /// In a lane above 0: the unit of lane 0 it belongs to.
    pub of: Option<Unit>,
    /// Items of the ordered list up to and including this unit.
    pub items: u64,
}
store::serde_value!(UnitRow, format 1);

/// Where a unit stands: the row under its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// Its lane.
    pub lane: Lane,
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: Vec<u8>,
}
store::serde_value!(Seat, format 1);

/// One process that may write a chain; made anew at every start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct WriterId(pub [u8; 16]);

/// Who may write, and how often it has shown that it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lease {
    /// The writer.
    pub writer: WriterId,
    /// Grows with each of its commits.
    pub beat: u64,
}

/// A sort key that ends with the unit it depends on.
pub trait Stamped {
    /// The unit.
    fn unit(&self) -> Unit;
}

impl<A> Stamped for (A, Unit) {
    fn unit(&self) -> Unit {
        self.1
    }
}

impl<A, B> Stamped for (A, B, Unit) {
    fn unit(&self) -> Unit {
        self.2
    }
}

impl Stamped for Unit {
    fn unit(&self) -> Unit {
        *self
    }
}

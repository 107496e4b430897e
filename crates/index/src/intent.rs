//! Intents: what a change is going to do, written down before it begins.

use bytes::Bytes;
use placement::Placement;
use serde::{Deserialize, Serialize};
use store::{
    Bounds, Change, Commit, Committed, OpId, PartitionKey, Query, Schema, Table, Touches, Version,
    limits,
};

use crate::calls::Call;
use crate::ids::IntentId;

/// Partitions intents are spread over. The driver reads all of them in each of its steps.
pub(crate) const LANES: u8 = 16;
/// Intents that may be unfinished in one partition: what a long outage of the driver leaves.
const LANE_ROWS: u64 = 100_000;
/// Calls of one change.
pub const CALLS_PER_CHANGE: usize = 64;
/// Bytes of one call.
pub const CALL_BYTES: usize = 32 * 1024;
/// Bytes of one intent: the whole commit and all calls.
pub const INTENT_BYTES: usize = 1024 * 1024;
/// Bytes of the result a caller may keep with a change.
pub const CHANGE_RESULT_BYTES: usize = limits::RESULT_BYTES - 16;

/// Changes under way. An id is random and is given to one change only, so the row is a function of
/// its key although a clock is read.
pub static INTENTS: Table<u8, [u8; 16], Intent> = Table::once(
    "index.intents",
    "A change with consequences elsewhere that is under way: its commit and its calls.",
    Placement::Hashed,
    Bounds::rows(LANE_ROWS).values(INTENT_BYTES).pages(256),
)
.answers(&[Query { name: "unfinished intents", touches: Touches::Few(LANES as u32) }]);

/// The partition of an intent.
pub(crate) fn lane(id: IntentId) -> u8 {
    id.0.last().map_or(0, |byte| byte % LANES)
}

/// A whole change: the commit of its own partition and the calls in others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    table: String,
    partition: Vec<u8>,
    expected: u64,
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    op: [u8; 16],
    result: Vec<u8>,
    pub(crate) calls: Vec<Call>,
}
store::serde_value!(Intent, format 1);

impl Intent {
    pub(crate) fn new(commit: &Commit, calls: Vec<Call>) -> Self {
        let change = |change: &Change| match change {
            Change::Put { sort, value } => (sort.to_vec(), Some(value.to_vec())),
            Change::Delete { sort } => (sort.to_vec(), None),
        };
        Self {
            table: commit.table.name().to_owned(),
            partition: commit.partition.as_bytes().to_vec(),
            expected: commit.expected.0,
            changes: commit.changes.iter().map(change).collect(),
            op: commit.op.0,
            result: commit.result.to_vec(),
            calls,
        }
    }

    /// The table of its commit.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// The commit again, marked with the intent it belongs to; none when this program does not have
    /// its table.
    pub(crate) fn commit(&self, id: IntentId, schema: &Schema) -> Option<Commit> {
        let table = schema.table(&self.table)?;
        let change = |(sort, value): &(Vec<u8>, Option<Vec<u8>>)| match value.clone() {
            Some(value) => Change::Put { sort: sort.clone().into(), value: value.into() },
            None => Change::Delete { sort: sort.clone().into() },
        };
        Some(Commit {
            table,
            partition: PartitionKey::new(table, self.partition.clone()).ok()?,
            expected: Version(self.expected),
            changes: self.changes.iter().map(change).collect(),
            op: OpId(self.op),
            result: mark(id, &self.result),
        })
    }
}

/// A result with the intent it belongs to in front.
///
/// An operation id may come from a client that repeats its request, and each request puts an intent
/// of its own. Only the calls of the intent whose commit was done may be applied: the others were
/// derived from a state that never was.
pub(crate) fn mark(id: IntentId, result: &[u8]) -> Bytes {
    [&id.0, result].concat().into()
}

/// The intent a commit was done for, and the caller's result.
pub(crate) fn unmark(done: &Committed) -> (IntentId, Bytes) {
    match done.result.split_first_chunk::<16>() {
        Some((id, _)) => (IntentId(*id), done.result.slice(16..)),
        // Not committed through effects: nobody's intent.
        None => (IntentId::NONE, done.result.clone()),
    }
}

#[cfg(test)]
mod tests {
    use store::Value as _;

    use super::*;
    use crate::ids::Millis;

    #[test]
    fn a_commit_comes_back_from_its_intent() {
        static CELLS: Table<u64, u8, Vec<u8>> =
            Table::guarded("test.cells", "A cell.", Placement::Hashed, Bounds::rows(9));
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&7).expect("a key"),
            expected: Version(3),
            changes: vec![CELLS.insert(&1, &vec![1, 2]), CELLS.delete(&2)],
            op: OpId([9; 16]),
            result: Bytes::from_static(b"result"),
        };
        let id = IntentId::new(Millis(5)).expect("random");
        let call = Call { kind: "a.b".to_owned(), body: vec![1] };
        let intent = Intent::new(&commit, vec![call]);
        let intent = Intent::from_bytes(&intent.to_bytes()).expect("comes back");
        let again = intent.commit(id, &Schema::new([CELLS.def()])).expect("its table is known");
        assert_eq!(again.partition, commit.partition);
        assert_eq!(again.changes, commit.changes);
        assert_eq!((again.expected, again.op), (commit.expected, commit.op));
        let done = Committed { version: Version(4), result: again.result, repeated: false };
        assert_eq!(unmark(&done), (id, commit.result));
        assert!(intent.commit(id, &Schema::default()).is_none());
        assert_eq!(lane(id), lane(id));
    }
}

//! One guarded row, changed by deciding on what it is, and anew when somebody else was faster.

use bytes::Bytes;
use index::new_op;
use platform::{Attempts, StoreError, commit_of, try_commit};
use store::{KeyPart, Partition, Store, Table, Value};

/// Reads a row, lets `decide` say what it becomes (none for no change) and what to answer, and
/// commits that.
pub(crate) async fn change<P: Partition, S: KeyPart, V: Value, T, E: From<StoreError>>(
    store: &Store,
    table: &'static Table<P, S, V>,
    (partition, sort): (&P, &S),
    mut decide: impl FnMut(Option<V>) -> Result<(Option<V>, T), E>,
) -> Result<T, E> {
    let mut attempts = Attempts::of(table.def().name());
    loop {
        let seen = store.get_versioned(table, partition, sort).await.map_err(StoreError::from)?;
        let (after, answer) = decide(seen.value)?;
        let Some(after) = after else { return Ok(answer) };
        let changes = vec![table.insert(sort, &after)];
        let op = new_op().map_err(StoreError::from)?;
        let commit = commit_of(table, partition, seen.version, changes, op, Bytes::new());
        let commit = commit.map_err(StoreError::from)?;
        if try_commit(store, commit).await.map_err(StoreError::from)?.is_some() {
            return Ok(answer);
        }
        attempts.again().await?;
    }
}

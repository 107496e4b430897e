//! One guarded row, changed by deciding on what it is, and anew when somebody else was faster.

use bytes::Bytes;
use index::new_op;
use platform::{Attempts, StoreError, commit_of, try_commit};
use store::{KeyPart, Partition, Store, Table, Value, Versioned};

/// Reads a row, lets `decide` say what it becomes (none for no change) and what to answer, and
/// commits that.
pub(crate) async fn change<P: Partition, S: KeyPart, V: Value, T, E: From<StoreError>>(
    store: &Store,
    table: &'static Table<P, S, V>,
    place: (&P, &S),
    decide: impl FnMut(Option<V>) -> Result<(Option<V>, T), E>,
) -> Result<T, E> {
    let (partition, sort) = place;
    let seen = store.get_versioned(table, partition, sort).await.map_err(StoreError::from)?;
    change_seen(store, table, place, seen, decide).await
}

/// The same with a row that was read just now.
pub(crate) async fn change_seen<P: Partition, S: KeyPart, V: Value, T, E: From<StoreError>>(
    store: &Store,
    table: &'static Table<P, S, V>,
    (partition, sort): (&P, &S),
    mut seen: Versioned<V>,
    mut decide: impl FnMut(Option<V>) -> Result<(Option<V>, T), E>,
) -> Result<T, E> {
    let mut attempts = Attempts::of(table.def().name());
    loop {
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
        seen = store.get_versioned(table, partition, sort).await.map_err(StoreError::from)?;
    }
}

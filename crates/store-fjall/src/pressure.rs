//! Waiting for fjall's own threads, but not for one that has ended.
//!
//! fjall holds writers back while memtables wait to be flushed or tables to be compacted, and looks
//! again without end. When a full disk has ended the thread that would do it, that is for ever. So
//! we hold writers back ourselves, a little earlier, and look whether the threads are alive.

use std::time::{Duration, Instant};

use fjall::{AbstractTree, Database, Keyspace, PersistMode};

/// fjall waits at 4 sealed memtables; one more may be sealed while a batch is applied.
const SEALED_MEMTABLES: usize = 3;
/// fjall waits at 30 runs in level 0.
const LEVEL_0_RUNS: usize = 28;
/// After this long the memtables are flushed here: a bulk run that failed leaves one behind that
/// nobody is told to flush.
const PATIENCE: Duration = Duration::from_secs(5);

/// Fails when one of fjall's threads has failed.
pub(crate) fn alive(database: &Database) -> fjall::Result<()> {
    // The cheapest call that tells: it has nothing to write between batches.
    database.persist(PersistMode::Buffer)
}

/// Waits until `done`.
pub(crate) fn wait(
    database: &Database,
    keyspace: &Keyspace,
    done: impl Fn(&Keyspace) -> bool,
) -> fjall::Result<()> {
    let mut started = Instant::now();
    while !done(keyspace) {
        alive(database)?;
        if started.elapsed() > PATIENCE && keyspace.tree.sealed_memtable_count() > 0 {
            let lock = keyspace.tree.get_flush_lock();
            keyspace.tree.flush(&lock, 0)?;
            started = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Waits until a batch with rows of this table can be applied without waiting.
pub(crate) fn room(database: &Database, keyspace: &Keyspace) -> fjall::Result<()> {
    wait(database, keyspace, |keyspace| {
        keyspace.tree.sealed_memtable_count() < SEALED_MEMTABLES
            && keyspace.tree.l0_run_count() < LEVEL_0_RUNS
    })
}

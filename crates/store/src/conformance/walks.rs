//! A walk beside writers: whatever the pages of an engine, a partition is seen at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use super::{CELLS, store_on};
use crate::{Change, Commit, Entry, KeyReader, Maintenance, OpId, Store, Version};

const PARTITIONS: std::ops::Range<u8> = 210..214;
/// Cells of a partition, so many that they do not share a page.
const CELLS_EACH: u64 = 900;
const WALKS: usize = 10;

/// Every commit writes the same value into the first and the last cell of a partition. A walk that
/// sees two values has seen a torn one.
pub(super) async fn walks_see_whole_partitions(engine: &Arc<dyn Maintenance>) {
    let store = store_on(engine);
    for partition in PARTITIONS {
        let cells = (0..CELLS_EACH).map(|cell| insert(cell, 0)).collect();
        commit(&store, partition, Version::NEVER, cells).await;
    }
    let writing = async {
        for version in 1.. {
            for partition in PARTITIONS {
                let cells = [0, CELLS_EACH - 1].map(|cell| insert(cell, version));
                commit(&store, partition, Version(version), cells.into()).await;
                // An engine in memory never waits, and the walk wants its turn.
                tokio::task::yield_now().await;
            }
        }
    };
    let walking = async {
        for _ in 0..WALKS {
            walk(engine.as_ref()).await;
        }
    };
    tokio::select! {
        () = writing => {}
        () = walking => {}
    }
}

fn insert(cell: u64, value: u64) -> Change {
    CELLS.insert(&cell.to_be_bytes().to_vec(), &value.to_be_bytes().to_vec())
}

async fn commit(store: &Store, partition: u8, expected: Version, changes: Vec<Change>) {
    let commit = Commit {
        table: CELLS.def(),
        partition: CELLS.partition(&partition).expect("a key"),
        expected,
        changes,
        op: OpId((u128::from(partition) << 64 | u128::from(expected.0)).to_be_bytes()),
        result: Default::default(),
    };
    store.commit(commit).await.expect("no rival");
}

/// Sort keys and values.
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

async fn walk(engine: &dyn Maintenance) {
    let walker = engine.walk().await.expect("walks");
    let mut found: HashMap<u8, Rows> = HashMap::new();
    let mut position = None;
    loop {
        let page = walker.page(CELLS.def(), position, 100).await.expect("a page");
        for entry in page.entries {
            let Entry::Row { key, value } = entry else { continue };
            let partition: u8 = KeyReader::whole(key.partition()).expect("a partition");
            found.entry(partition).or_default().push((key.sort().to_vec(), value.to_vec()));
        }
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    for partition in PARTITIONS {
        let rows = &found[&partition];
        let cells: std::collections::BTreeSet<_> = rows.iter().map(|(sort, _)| sort).collect();
        assert_eq!(
            (rows.len() as u64, cells.len() as u64),
            (CELLS_EACH, CELLS_EACH),
            "every cell once"
        );
        let ends = (rows.iter().min(), rows.iter().max());
        let (Some((_, first)), Some((_, last))) = ends else { panic!("no rows") };
        assert_eq!(first, last, "partition {partition} is of one moment");
    }
}

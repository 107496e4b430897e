//! The contract, case by case.

use std::sync::Arc;

use bytes::Bytes;

use super::{CELLS, FACTS, Subject, schema, store_on};
use crate::{
    BoundError, Change, Commit, CommitError, Cursor, Maintenance, OpId, PageRequest, PutError,
    ReadError, Store, Version, Writes, back_up, digest_table, limits, restore, verify,
};

/// Runs every case on a fresh engine.
///
/// # Panics
/// When a case fails.
pub async fn cases(subject: &dyn Subject) {
    let engine = subject.open().await;
    let store = store_on(&engine);
    versions_never_restart(&store).await;
    an_operation_is_done_once(&store).await;
    a_conflict_writes_nothing(&store).await;
    tables_are_written_in_their_own_way(&store).await;
    limits_are_refused_with_a_reason(&store).await;
    pages_end_early_when_rows_are_large(&store).await;
    cursors_belong_to_their_list(&store).await;
    puts_may_be_repeated(&store).await;
    large_puts_are_as_good_as_small_ones(&store).await;
    schema_may_be_applied_again(&engine).await;
    if subject.checks_once() {
        another_value_is_refused(&store).await;
    }
    a_backup_holds_everything(&engine).await;
}

fn commit(partition: u8, expected: u64, op: u128, changes: Vec<Change>) -> Commit {
    Commit {
        table: CELLS.def(),
        partition: CELLS.partition(&partition).expect("a key"),
        expected: Version(expected),
        changes,
        op: OpId(op.to_be_bytes()),
        result: Bytes::copy_from_slice(&op.to_be_bytes()),
    }
}

fn cell(name: &str, value: &str) -> Change {
    CELLS.insert(&name.as_bytes().to_vec(), &value.as_bytes().to_vec())
}

async fn versions_never_restart(store: &Store) {
    store.commit(commit(100, 0, 1, vec![cell("a", "1")])).await.expect("the first");
    let delete = CELLS.delete(&b"a".to_vec());
    store.commit(commit(100, 1, 2, vec![delete])).await.expect("deletes the only row");
    let empty = store.page(&CELLS, &100, PageRequest::first(10)).await.expect("a page");
    assert!(empty.rows.is_empty());
    assert_eq!(empty.version, Version(2), "all rows are gone, the version stays");
    let error = store.commit(commit(100, 0, 3, vec![])).await.expect_err("not a new partition");
    assert!(matches!(error, CommitError::Conflict { current: Version(2), .. }), "{error}");
    let empty = store.commit(commit(100, 2, 4, vec![])).await.expect("an empty commit counts");
    assert_eq!(empty.version, Version(3));
}

async fn an_operation_is_done_once(store: &Store) {
    let first = store.commit(commit(101, 0, 10, vec![cell("n", "1")])).await.expect("done");
    assert!(!first.repeated);
    // Whoever repeats it may have read the partition again and expect the new version.
    for expected in [0, 1, 7] {
        let again = commit(101, expected, 10, vec![cell("n", "2")]);
        let again = store.commit(again).await.expect("known");
        assert!(again.repeated);
        assert_eq!((again.version, &again.result), (Version(1), &first.result));
    }
    let value = store.get(&CELLS, &101, &b"n".to_vec()).await.expect("reads");
    assert_eq!(value.as_deref(), Some(b"1".as_slice()));
    let elsewhere = store.commit(commit(102, 0, 10, vec![])).await.expect("another partition");
    assert!(!elsewhere.repeated, "an operation id belongs to its partition");
}

async fn a_conflict_writes_nothing(store: &Store) {
    let late = commit(101, 0, 11, vec![cell("n", "9"), cell("m", "9")]);
    store.commit(late).await.expect_err("the partition is at version 1");
    assert_eq!(store.get(&CELLS, &101, &b"m".to_vec()).await.expect("reads"), None);
    let retried = store.commit(commit(101, 1, 11, vec![])).await.expect("its id is still free");
    assert!(!retried.repeated);
}

async fn tables_are_written_in_their_own_way(store: &Store) {
    let mut wrong = commit(1, 0, 12, vec![]);
    wrong.table = FACTS.def();
    let error = store.commit(wrong).await.expect_err("facts are Once");
    let refused =
        BoundError::WrongVerb { table: FACTS.def().name(), verb: "commit", writes: Writes::Once };
    assert!(matches!(error, CommitError::Bound(bound) if bound == refused));
    let mut row = FACTS.row(&1, &1, &Vec::new()).expect("a row");
    row.table = CELLS.def();
    let error = store.put(vec![row]).await.expect_err("cells are Guarded");
    assert!(matches!(error, PutError::Bound(BoundError::WrongVerb { verb: "put", .. })));
}

async fn limits_are_refused_with_a_reason(store: &Store) {
    let long = vec![1; limits::SORT_KEY_BYTES + 1];
    let error = store.commit(commit(103, 0, 13, vec![CELLS.delete(&long)])).await;
    assert!(error.expect_err("too long").to_string().contains("sort key"));
    let large = CELLS.insert(&vec![1], &vec![0; 2000]);
    let error = store.commit(commit(103, 0, 14, vec![large])).await;
    assert!(error.expect_err("beyond the table's bound").to_string().contains("1024"));
    let twice = vec![cell("a", "1"), CELLS.delete(&b"a".to_vec())];
    let error = store.commit(commit(103, 0, 15, twice)).await.expect_err("one change per key");
    assert!(matches!(error, CommitError::Bound(BoundError::ChangedTwice { .. })));
    let many = (0..=limits::COMMIT_CHANGES).map(|i| cell(&i.to_string(), "")).collect();
    store.commit(commit(103, 0, 16, many)).await.expect_err("too many changes");
    let row = FACTS.row(&1, &1, &vec![0; 70_000]).expect("a row");
    store.put(vec![row]).await.expect_err("beyond the table's bound");
    for limit in [0, 1001] {
        let error = store.page(&FACTS, &1, PageRequest::first(limit)).await.expect_err("a limit");
        assert!(matches!(error, ReadError::Bound(_)), "{error}");
    }
    let keys = vec![(1, 1); limits::GET_KEYS + 1];
    store.get_many(&FACTS, &keys).await.expect_err("too many keys");
    let untouched = store.get_versioned(&CELLS, &103, &vec![]).await.expect("reads");
    assert_eq!(untouched.version, Version::NEVER, "nothing of it was written");
}

async fn pages_end_early_when_rows_are_large(store: &Store) {
    let value = vec![7; 60_000];
    let rows = (0..100).map(|i| FACTS.row(&900, &i, &value).expect("a row")).collect();
    store.put(rows).await.expect("6 MB in one partition");
    let (mut cursor, mut sorts, mut pages) = (None, Vec::new(), 0);
    loop {
        let request = PageRequest { cursor, ..PageRequest::first(1000) };
        let page = store.page(&FACTS, &900, request).await.expect("a page");
        let bytes: usize = page.rows.iter().map(|(_, value)| value.len()).sum();
        assert!(bytes <= limits::PAGE_BYTES, "{bytes}");
        sorts.extend(page.rows.iter().map(|(sort, _)| *sort));
        pages += 1;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sorts, (0..100).collect::<Vec<_>>());
    assert!(pages > 1);
}

async fn cursors_belong_to_their_list(store: &Store) {
    let page = store.page(&FACTS, &900, PageRequest::first(3)).await.expect("a page");
    let cursor = page.next.expect("more follow");
    let request = PageRequest { cursor: Some(cursor.clone()), ..PageRequest::first(3) };
    let error = store.page(&FACTS, &901, request).await.expect_err("another partition");
    assert!(matches!(error, ReadError::Cursor(_)));
    let request = PageRequest { cursor: Some(cursor), ..PageRequest::last(3) };
    store.page(&FACTS, &900, request).await.expect_err("another direction");
    let request = PageRequest { cursor: Cursor::parse("rubbish").ok(), ..PageRequest::first(3) };
    store.page(&FACTS, &900, request).await.expect_err("no cursor at all");
}

async fn puts_may_be_repeated(store: &Store) {
    let rows = || (0..50).map(|i| FACTS.row(&910, &i, &vec![1, 2, 3]).expect("a row")).collect();
    store.put(rows()).await.expect("puts");
    store.put(rows()).await.expect("puts again");
    let page = store.page(&FACTS, &910, PageRequest::first(100)).await.expect("a page");
    assert_eq!(page.rows.len(), 50);
    store.put(Vec::new()).await.expect("nothing is easily put");
}

async fn large_puts_are_as_good_as_small_ones(store: &Store) {
    let row = |i: u32| {
        let (partition, sort) = (1000 + (i % 40) as u16, (i / 40) as u16);
        FACTS.row(&partition, &sort, &i.to_be_bytes().to_vec()).expect("a row")
    };
    // Unsorted, with repeats, and some of the rows already there.
    store.put((0..100).map(row).collect()).await.expect("a few first");
    store.put((0..40_000).rev().chain(0..1000).map(row).collect()).await.expect("a large put");
    let keys: Vec<_> = (0..5000).map(|i| (1000 + i % 40, i / 40)).collect();
    let found = store.get_many(&FACTS, &keys).await.expect("reads");
    assert!(found.iter().all(Option::is_some), "all rows of a large put are there");
    let page = store.page(&FACTS, &1003, PageRequest::last(1)).await.expect("a page");
    assert_eq!(page.rows, [(999, 39_963u32.to_be_bytes().to_vec())]);
}

async fn schema_may_be_applied_again(engine: &Arc<dyn Maintenance>) {
    assert_eq!(engine.apply(&schema()).await.expect("applies"), [], "nothing is left to do");
    assert_eq!(engine.records().await.expect("reads").len(), 3);
}

async fn another_value_is_refused(store: &Store) {
    store.put(vec![FACTS.row(&920, &1, &vec![1]).expect("a row")]).await.expect("puts");
    let error = store.put(vec![FACTS.row(&920, &1, &vec![2]).expect("a row")]).await;
    assert!(matches!(error, Err(PutError::Differs { .. })), "{error:?}");
}

/// Copies through a backup into the model, compares, and copies back into nothing that is not
/// empty.
async fn a_backup_holds_everything(engine: &Arc<dyn Maintenance>) {
    let mut file = Vec::new();
    let summary = back_up(engine.as_ref(), &schema(), &mut file, &mut |_, _| {}).await;
    let summary = summary.expect("a backup");
    assert_eq!(summary.tables.len(), 3);
    let model = crate::ModelEngine::default();
    restore(&model, &schema(), &mut file.as_slice(), &mut |_, _| {}).await.expect("restores");
    let (walker, copy) = (engine.walk().await.expect("walks"), model.walk().await.expect("walks"));
    for table in schema().tables() {
        let original = digest_table(walker.as_ref(), table).await.expect("reads");
        assert_eq!(original, digest_table(copy.as_ref(), table).await.expect("reads"));
    }
    drop(copy);
    let again = store_on(&(Arc::new(model) as Arc<dyn Maintenance>));
    let repeated = again.commit(commit(101, 9, 10, vec![])).await.expect("known after a restore");
    assert!(repeated.repeated, "operations are in the backup");
    let error = restore(engine.as_ref(), &schema(), &mut file.as_slice(), &mut |_, _| {}).await;
    assert!(error.expect_err("not empty").to_string().contains("new directory"));
    let report = verify(engine.as_ref(), &schema(), &mut |_, _| {}).await.expect("walks");
    assert!(report.is_clean(), "{:?}", report.findings);
    for cut in [0, 10, 30, file.len() / 2, file.len() - 1] {
        let model = crate::ModelEngine::default();
        let error = restore(&model, &schema(), &mut &file[..cut], &mut |_, _| {}).await;
        assert!(error.is_err(), "a backup cut at byte {cut} is refused");
    }
    let middle = file.len() / 2;
    file[middle] ^= 1;
    let model = crate::ModelEngine::default();
    let error = restore(&model, &schema(), &mut file.as_slice(), &mut |_, _| {}).await;
    assert!(error.expect_err("a flipped bit").to_string().contains("damaged"));
}

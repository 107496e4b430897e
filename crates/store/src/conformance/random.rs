//! Random operations, each answered by the engine and by the model; the answers must be equal.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use fastrand::Rng;

use super::{CELLS, FACTS, LIST, Subject, schema, store_on};
use crate::{
    Change, Commit, CommitError, Maintenance, ModelEngine, OpId, Order, PageRequest, Read, Row,
    Sequenced, Store, Version, digest_table, verify,
};

/// Runs `operations` random operations from `seed` on the engine and on the model.
///
/// # Panics
/// When an answer differs from the model's.
pub async fn random(subject: &dyn Subject, seed: u64, operations: usize) {
    let mut run = Run {
        subject,
        rng: Rng::with_seed(seed),
        engine: Some(subject.open().await),
        model: Arc::new(ModelEngine::default()),
        operations: Vec::new(),
        swept: HashSet::new(),
    };
    run.model.apply(&schema()).await.expect("the model takes any schema");
    for step in 0..operations {
        match run.rng.u32(0..1000) {
            0..250 => run.put().await,
            250..400 => run.get().await,
            400..600 => run.page().await,
            600..994 => run.commit().await,
            994..997 => run.compare_all().await,
            _ => run.reopen().await,
        }
        assert!(run.rng.u64(..) != 0 || step < operations, "keeps the generator in step");
    }
    run.reopen().await;
    run.compare_all().await;
}

struct Run<'a> {
    subject: &'a dyn Subject,
    rng: Rng,
    engine: Option<Arc<dyn Maintenance>>,
    model: Arc<ModelEngine>,
    operations: Vec<(u8, OpId)>,
    /// Keys of facts that were swept: they are never put again.
    swept: HashSet<(u16, u16)>,
}

impl Run<'_> {
    fn engine(&self) -> &Arc<dyn Maintenance> {
        self.engine.as_ref().expect("open between operations")
    }

    fn stores(&self) -> (Store, Store) {
        let model: Arc<dyn Maintenance> = self.model.clone();
        (store_on(self.engine()), store_on(&model))
    }

    /// Few keys, so that operations meet; the window moves on as keys are used up by sweeping.
    fn fact_key(&mut self) -> (u16, u16) {
        let base = u16::try_from(self.swept.len() / 24).unwrap_or(u16::MAX - 200);
        (self.rng.u16(0..12), base + self.rng.u16(0..200))
    }

    fn row(&mut self) -> Row {
        if self.rng.u8(0..4) == 0 {
            let (list, position) = (self.rng.u8(0..3), self.rng.u64(0..300));
            let value = value_of(u64::from(list) << 32 | position);
            return LIST.row(&Sequenced(list, position), &position, &value).expect("a row");
        }
        let (partition, sort) = self.fact_key();
        if self.swept.contains(&(partition, sort)) || self.rng.u8(0..12) == 0 {
            self.swept.insert((partition, sort));
            return FACTS.sweep(&partition, &sort).expect("a row");
        }
        let value = value_of(u64::from(partition) << 16 | u64::from(sort));
        FACTS.row(&partition, &sort, &value).expect("a row")
    }

    async fn put(&mut self) {
        // Mostly small batches; sometimes one that is large enough for a bulk run.
        let count = if self.rng.u8(0..20) == 0 { 400 } else { self.rng.usize(1..20) };
        let mut rows: Vec<Row> = (0..count).map(|_| self.row()).collect();
        // One key twice in a batch is allowed only with one meaning.
        rows.sort_by(|a, b| (a.table.name(), &a.key).cmp(&(b.table.name(), &b.key)));
        rows.dedup_by(|a, b| a.table.name() == b.table.name() && a.key == b.key);
        self.rng.shuffle(&mut rows);
        let (store, model) = self.stores();
        model.put(rows.clone()).await.expect("the model takes them");
        store.put(rows).await.expect("the engine takes them");
    }

    async fn get(&mut self) {
        let count = self.rng.usize(1..30);
        let (store, model) = self.stores();
        let keys: Vec<_> = (0..count).map(|_| self.fact_key()).collect();
        let found = store.get_many(&FACTS, &keys).await.expect("reads");
        assert_eq!(found, model.get_many(&FACTS, &keys).await.expect("reads"), "{keys:?}");
        let (partition, sort) = (self.rng.u8(0..6), cell_sort(&mut self.rng));
        let found = store.get_versioned(&CELLS, &partition, &sort).await.expect("reads");
        let expected = model.get_versioned(&CELLS, &partition, &sort).await.expect("reads");
        assert_eq!(found, expected, "cell {partition} {sort:?}");
    }

    async fn page(&mut self) {
        let (store, model) = self.stores();
        let partition = self.rng.u16(0..12);
        let ends: [Bound<u16>; 2] = std::array::from_fn(|_| match self.rng.u8(0..3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.fact_key().1),
            _ => Bound::Excluded(self.fact_key().1),
        });
        let [from, to] = ends;
        let order = if self.rng.bool() { Order::Ascending } else { Order::Descending };
        let limit = self.rng.usize(1..50);
        let mut cursor = None;
        loop {
            let request = PageRequest { from, to, order, limit, cursor, read: Read::Quorum };
            let page = store.page(&FACTS, &partition, request.clone()).await.expect("a page");
            let expected = model.page(&FACTS, &partition, request).await.expect("a page");
            assert_eq!(page.rows, expected.rows, "{partition} {from:?}..{to:?} {order:?} {limit}");
            assert_eq!(page.next, expected.next);
            cursor = page.next;
            if cursor.is_none() {
                return;
            }
        }
    }

    async fn commit(&mut self) {
        let (store, model) = self.stores();
        let partition = self.rng.u8(0..6);
        let current = model
            .get_versioned(&CELLS, &partition, &Vec::new())
            .await
            .expect("the model reads")
            .version;
        let expected = match self.rng.u8(0..10) {
            0 => Version(current.0.saturating_sub(1)),
            1 => current.next(),
            _ => current,
        };
        let repeat = self.rng.u8(0..8) == 0 && !self.operations.is_empty();
        let (partition, op) = if repeat {
            self.operations[self.rng.usize(0..self.operations.len())]
        } else {
            (partition, OpId(self.rng.u128(..).to_be_bytes()))
        };
        self.operations.push((partition, op));
        let commit = Commit {
            table: CELLS.def(),
            partition: CELLS.partition(&partition).expect("a key"),
            expected,
            changes: changes(&mut self.rng),
            op,
            result: self.rng.u64(..).to_be_bytes().to_vec().into(),
        };
        match (store.commit(commit.clone()).await, model.commit(commit).await) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (
                Err(CommitError::Conflict { current, .. }),
                Err(CommitError::Conflict { current: expected, .. }),
            ) => assert_eq!(current, expected),
            (found, expected) => panic!("{found:?}, the model says {expected:?}"),
        }
    }

    async fn compare_all(&mut self) {
        let walker = self.engine().walk().await.expect("walks");
        let model = self.model.walk().await.expect("walks");
        for table in schema().tables() {
            let found = digest_table(walker.as_ref(), table).await.expect("reads");
            let expected = digest_table(model.as_ref(), table).await.expect("reads");
            assert_eq!(found, expected, "contents of {}", table.name());
        }
        let report =
            verify(self.engine().as_ref(), &schema(), &mut |_, _| {}).await.expect("walks");
        assert!(report.is_clean(), "{:?}", report.findings);
    }

    async fn reopen(&mut self) {
        if self.subject.is_durable() {
            self.engine = None;
            self.engine = Some(self.subject.open().await);
        }
    }
}

/// A value that is a function of its key, of very different sizes.
fn value_of(key: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(key);
    let length = if rng.u8(0..20) == 0 { rng.usize(0..3000) } else { rng.usize(0..40) };
    (0..length).map(|_| rng.u8(..)).collect()
}

fn cell_sort(rng: &mut Rng) -> Vec<u8> {
    // Zero bytes and prefixes of each other, which the key codec must keep apart.
    let length = rng.usize(0..3);
    (0..length).map(|_| rng.u8(0..3)).collect()
}

fn changes(rng: &mut Rng) -> Vec<Change> {
    let mut changes: Vec<Change> = (0..rng.usize(0..6))
        .map(|_| {
            let sort = cell_sort(rng);
            if rng.u8(0..4) == 0 {
                return CELLS.delete(&sort);
            }
            let length = rng.usize(0..30);
            let value: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            CELLS.insert(&sort, &value)
        })
        .collect();
    changes.sort_by(|a, b| a.sort().cmp(b.sort()));
    changes.dedup_by(|a, b| a.sort() == b.sort());
    changes
}

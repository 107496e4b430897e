//! What the tests share: a project whose change touches four partitions, and stores to try it on.
#![allow(dead_code, reason = "each test file compiles this module and uses a part of it")]

pub(crate) mod cancel;
pub(crate) mod faults;
pub(crate) mod lists;
pub(crate) mod race;

use std::path::Path;
use std::sync::Arc;

use index::{
    Apply, Call, CallError, Calls, ChangeError, Changed, Effects, INTENTS, IndexReport, List,
    ListDef, Lists, Millis, Place, PlaceCalls, STUCK, verify,
};
use placement::Placement;
use serde::{Deserialize, Serialize};
use store::{
    Bounds, Commit, CommitError, Engine, Maintenance, ModelEngine, OpId, PageRequest, Schema,
    Store, Table, Task, Value as _, Version,
};
use store_fjall::{FjallEngine, Options};
use tempfile::TempDir;

/// A project: row 0 holds its score, and each change leaves a row under its operation id.
pub(crate) static PROJECTS: Table<u64, u128, u64Value> = Table::guarded(
    "test.projects",
    "A project and the changes it has seen.",
    Placement::Hashed,
    Bounds::rows(10_000).pages(10_000),
);

/// Projects of an owner by score.
pub(crate) static BY_OWNER: List<u64, u64, u64, Vec<u8>> =
    List::new("test.by_owner", "A project of an owner, by score.", 1000, 64);

/// Projects of a chain by score; small, so that it fills.
pub(crate) static BY_CHAIN: List<String, u64, u64, Vec<u8>> =
    List::new("test.by_chain", "A project of a chain, by score.", 40, 64);

/// The highest rank and its score for each project: what a tally's entry would be.
pub(crate) static SCORES: Table<u64, u64, Score> =
    Table::guarded("test.scores", "Score of a project.", Placement::Hashed, Bounds::rows(10_000));

/// A number as a value.
#[allow(non_camel_case_types, reason = "it is a u64 and nothing else")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct u64Value(pub(crate) u64);
store::serde_value!(u64Value, format 1);

/// A score and the rank that set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Score {
    pub(crate) rank: u64,
    pub(crate) score: u64,
}
store::serde_value!(Score, format 1);

pub(crate) fn lists() -> [&'static ListDef; 2] {
    [BY_OWNER.def(), BY_CHAIN.def()]
}

pub(crate) fn schema() -> Schema {
    Schema::new([
        PROJECTS.def(),
        SCORES.def(),
        BY_OWNER.table(),
        BY_CHAIN.table(),
        INTENTS.def(),
        STUCK.def(),
    ])
}

/// A kind of call that stands for a tally: sets a score by rank. Refuses score 666.
pub(crate) struct SetScore(pub(crate) Store);

#[derive(Serialize, Deserialize)]
struct SetBody {
    shard: u64,
    project: u64,
    rank: u64,
    score: u64,
}
store::serde_value!(SetBody, format 1);

/// The score that [`SetScore`] refuses.
pub(crate) const POISON: u64 = 666;

impl SetScore {
    pub(crate) const KIND: &'static str = "test.set";

    async fn set(&self, body: &SetBody) -> Result<(), CallError> {
        if body.score == POISON {
            return Err(CallError::Refused("666 is no score".to_owned()));
        }
        loop {
            let read = self.0.get_versioned(&SCORES, &body.shard, &body.project).await;
            let found = read.map_err(|error| CallError::Unavailable(error.to_string()))?;
            if found.value.is_some_and(|found| found.rank >= body.rank) {
                return Ok(());
            }
            let score = Score { rank: body.rank, score: body.score };
            let commit = Commit {
                table: SCORES.def(),
                partition: SCORES.partition(&body.shard).expect("a key"),
                expected: found.version,
                changes: vec![SCORES.insert(&body.project, &score)],
                op: index::new_op().expect("random"),
                result: bytes::Bytes::new(),
            };
            match self.0.commit(commit).await {
                Ok(_) => return Ok(()),
                Err(CommitError::Conflict { .. }) => tokio::task::yield_now().await,
                Err(error) => return Err(CallError::Unavailable(error.to_string())),
            }
        }
    }
}

impl Apply for SetScore {
    fn kind(&self) -> &'static str {
        Self::KIND
    }
    fn apply<'a>(&'a self, body: &'a [u8]) -> Task<'a, Result<(), CallError>> {
        Box::pin(async {
            let body = SetBody::from_bytes(body).expect("a body");
            self.set(&body).await
        })
    }
}

/// A store with the project's tables and effects on it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) lists: Lists,
    pub(crate) effects: Effects,
}

impl World {
    pub(crate) fn on(engine: Arc<dyn Engine>) -> Self {
        let store = Store::new(engine, 0);
        let calls = Calls::new()
            .with(PlaceCalls::new(store.clone(), lists()))
            .with(SetScore(store.clone()));
        let effects = Effects::new(store.clone(), schema(), calls);
        Self { lists: Lists::new(store.clone()), effects, store }
    }

    pub(crate) async fn version(&self, project: u64) -> Version {
        self.store.get_versioned(&PROJECTS, &project, &0).await.expect("reads").version
    }

    /// One attempt to give a project a score; 0 takes it out of the lists.
    pub(crate) async fn score(
        &self,
        project: u64,
        score: u64,
        op: OpId,
    ) -> Result<Changed, ChangeError> {
        let (commit, calls) = change(project, self.version(project).await, score, op);
        self.effects.change(commit, calls).await
    }

    /// What the four partitions say of a project: ranks and scores.
    pub(crate) async fn seen(&self, project: u64) -> [Option<(u64, u64)>; 4] {
        let stored = self.store.get_versioned(&PROJECTS, &project, &0).await.expect("reads");
        let own = stored.value.map(|value| (stored.version.0, value.0));
        let flat = |(rank, sort): (u64, Option<u64>)| (rank, sort.unwrap_or(0));
        let owner = self.lists.standing(&BY_OWNER, &owner(project), &project).await;
        let chain = self.lists.standing(&BY_CHAIN, &chain(project), &project).await;
        let score = self.store.get(&SCORES, &owner_shard(project), &project).await.expect("reads");
        [
            own,
            owner.expect("reads").map(flat),
            chain.expect("reads").map(flat),
            score.map(|score| (score.rank, score.score)),
        ]
    }

    /// Whether all four partitions show the same change.
    pub(crate) async fn is_whole(&self, project: u64) -> bool {
        let [own, rest @ ..] = self.seen(project).await;
        rest.iter().all(|seen| *seen == own)
    }

    /// The operations that changed a project. There is one for each of its versions.
    pub(crate) async fn operations(&self, project: u64) -> Vec<u128> {
        let mut request = PageRequest::first(10_000);
        request.from = std::ops::Bound::Excluded(0);
        let page = self.store.page(&PROJECTS, &project, request).await.expect("reads");
        assert_eq!(page.rows.len() as u64, page.version.0, "a change of {project} is done twice");
        page.rows.into_iter().map(|(op, _)| op).collect()
    }
}

fn owner(project: u64) -> u64 {
    project % 3
}

fn owner_shard(project: u64) -> u64 {
    project % 2
}

fn chain(project: u64) -> String {
    format!("chain {}", project % 2)
}

/// The commit that gives a project a score, and its consequences.
pub(crate) fn change(project: u64, expected: Version, score: u64, op: OpId) -> (Commit, Vec<Call>) {
    let rank = expected.next().0;
    let at = (score != 0).then(|| (score, vec![7; 3]));
    let place = Place { entry: project, rank, at };
    let set = SetBody { shard: owner_shard(project), project, rank, score };
    let calls = vec![
        BY_OWNER.call(&owner(project), &place),
        BY_CHAIN.call(&chain(project), &place),
        Call { kind: SetScore::KIND.to_owned(), body: set.to_bytes() },
    ];
    let commit = Commit {
        table: PROJECTS.def(),
        partition: PROJECTS.partition(&project).expect("a key"),
        expected,
        changes: vec![
            PROJECTS.insert(&0, &u64Value(score)),
            PROJECTS.insert(&u128::from_be_bytes(op.0), &u64Value(rank)),
        ],
        op,
        result: bytes::Bytes::from(score.to_be_bytes().to_vec()),
    };
    (commit, calls)
}

/// A random operation id.
pub(crate) fn op() -> OpId {
    index::new_op().expect("random")
}

/// An engine and, for fjall, the directory it lives in.
pub(crate) struct Home {
    pub(crate) engine: Arc<dyn Maintenance>,
    _directory: Option<TempDir>,
}

impl Home {
    pub(crate) fn model() -> Self {
        Self { engine: Arc::new(ModelEngine::default()), _directory: None }
    }

    pub(crate) fn fjall() -> Self {
        let directory = TempDir::new().expect("a directory");
        Self { engine: open(directory.path()), _directory: Some(directory) }
    }

    /// An engine that lives elsewhere.
    pub(crate) fn of(engine: Arc<dyn Maintenance>) -> Self {
        Self { engine, _directory: None }
    }

    /// Both engines, with their names.
    pub(crate) fn both() -> [(&'static str, Self); 2] {
        [("model", Self::model()), ("fjall", Self::fjall())]
    }

    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.engine.clone()
    }

    pub(crate) fn world(&self) -> World {
        World::on(self.engine())
    }

    /// Verifies with no patience for unfinished intents.
    pub(crate) async fn verify(&self) -> IndexReport {
        let now = Millis(Millis::now().0 + 60_000);
        let longest = std::time::Duration::ZERO;
        verify(self.engine.as_ref(), &lists(), longest, now).await.expect("walks")
    }

    pub(crate) async fn expect_clean(&self) {
        let report = self.verify().await;
        assert!(report.is_clean(), "{:#?}", report.findings);
    }
}

pub(crate) fn open(directory: &Path) -> Arc<dyn Maintenance> {
    let mut options = Options::new(directory);
    options.cache_bytes = 16 * 1024 * 1024;
    Arc::new(FjallEngine::open(&options, &schema()).expect("opens"))
}

/// Fails unless the error says all of the words.
pub(crate) fn says(error: &impl std::fmt::Display, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

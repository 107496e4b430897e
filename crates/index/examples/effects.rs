//! A project changes, and so does the list of its owner: both, whatever crashes in between.

use std::sync::Arc;

use index::{
    Calls, Driver, DriverSettings, Effects, List, Lists, Millis, Place, PlaceCalls, new_op,
};
use placement::Placement;
use store::{Bounds, Commit, ModelEngine, PageRequest, Schema, Store, Table};

static PROJECTS: Table<u64, (), Vec<u8>> =
    Table::guarded("demo.projects", "A project.", Placement::Hashed, Bounds::rows(1));
static BY_OWNER: List<String, u64, u64, Vec<u8>> =
    List::new("demo.by_owner", "A project of an owner, by update time.", 10_000, 256);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let calls = Calls::new().with(PlaceCalls::new(store.clone(), [BY_OWNER.def()]));
    let effects = Effects::new(store.clone(), Schema::new([PROJECTS.def()]), calls);

    let project = 7;
    let before = store.get_versioned(&PROJECTS, &project, &()).await?;
    let commit = Commit {
        table: PROJECTS.def(),
        partition: PROJECTS.partition(&project)?,
        expected: before.version,
        changes: vec![PROJECTS.insert(&(), &b"a new name".to_vec())],
        op: new_op()?,
        result: bytes::Bytes::new(),
    };
    // The rank is the version the commit leads to.
    let place = Place::at(project, commit.expected.next().0, 1_700, b"a new name".to_vec());
    let changed = effects.change(commit, vec![BY_OWNER.call(&"ada".to_owned(), &place)]).await?;
    assert!(changed.finished);

    // A server runs `Driver::run` beside its requests; here nothing was left by a crash.
    let step = Driver::new(effects, DriverSettings::default()).step(Millis::now()).await?;
    println!("{changed:?}, then {step:?}");
    let list = Lists::new(store).page(&BY_OWNER, &"ada".to_owned(), PageRequest::last(10)).await?;
    assert_eq!(list.rows.first().map(|row| row.entry), Some(project));
    Ok(())
}

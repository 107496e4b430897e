//! Projects against a simple model: random interleavings, lies about commits, two engines.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::{Home, World, op, user};
use fastrand::Rng;
use platform::StoreError;
use platform::chains::ChainName;
use platform::projects::{
    By, KeyError, Keys, ListError, ListRequest, NewProject, Pid, Project, ProjectError, Status,
    Which,
};
use store::conformance::{Fault, Faulty, full, seed};
use store::{OpId, Order};

const USERS: [&str; 3] = ["ann", "bob", "71114336"];
const CHAINS: [&str; 3] = ["conflux", "bitcoin", "eth"];

fn chain(name: &str) -> ChainName {
    ChainName::new(name).expect("a name")
}

fn new(uid: &str, chain: &str, name: &str) -> NewProject {
    NewProject { uid: user(uid), chain: chain.into(), name: name.into() }
}

async fn create(world: &World, uid: &str, chain: &str, name: &str) -> Project {
    world.hand.forward(1);
    world.projects.create(new(uid, chain, name), op()).await.expect("creates").project
}

/// All pages of a list, and that they are pages.
async fn all(world: &World, which: &Which, by: By, order: Order, limit: usize) -> Vec<Project> {
    let mut request = ListRequest { by, order, ..ListRequest::latest(which.clone(), limit) };
    let mut projects = Vec::new();
    loop {
        let page = world.projects.list(&request).await.expect("reads");
        assert!(page.projects.len() <= limit);
        projects.extend(page.projects);
        request.cursor = page.next;
        if request.cursor.is_none() {
            return projects;
        }
    }
}

fn everything() -> Vec<Which> {
    let mut all = Vec::new();
    for name in CHAINS {
        all.push(Which::Chain(chain(name)));
        all.extend(USERS.map(|uid| Which::UserChain(user(uid), chain(name))));
    }
    all.extend(USERS.map(|uid| Which::User(user(uid))));
    all
}

fn belongs(project: &Project, which: &Which) -> bool {
    match which {
        Which::User(uid) => project.uid == *uid,
        Which::UserChain(uid, chain) => project.uid == *uid && project.chain == *chain,
        Which::Chain(chain) => project.chain == *chain,
    }
}

/// Compares every list and count with what the model says.
async fn compare(world: &World, model: &BTreeMap<Pid, Project>, rng: &mut Rng) {
    let active = || model.values().filter(|project| project.status == Status::Active);
    let count = world.projects.count_all().await.expect("reads");
    assert_eq!(count, active().count() as u64, "all projects");
    for which in everything() {
        let there: Vec<_> = active().filter(|project| belongs(project, &which)).cloned().collect();
        let count = world.projects.count(&which).await.expect("reads");
        assert_eq!(count, there.len() as u64, "{which:?}");
        for by in [By::Created, By::Updated] {
            let time = |project: &Project| match by {
                By::Created => project.createtime,
                By::Updated => project.lasttime,
            };
            let mut expected = there.clone();
            expected.sort_by_key(|project| (time(project), project.pid));
            let limit = rng.usize(1..8);
            let found = all(world, &which, by, Order::Ascending, limit).await;
            assert_eq!(found, expected, "{which:?} {by:?}");
            expected.reverse();
            let found = all(world, &which, by, Order::Descending, limit).await;
            assert_eq!(found, expected, "{which:?} {by:?} backwards");
            let times: Vec<_> = there.iter().map(time).collect();
            let (Some(from), Some(to)) = (rng.choice(&times), rng.choice(&times)) else { continue };
            let between = times.iter().filter(|time| (from..to).contains(time)).count();
            let count = world.projects.count_between(&which, by, Some(*from), Some(*to)).await;
            assert_eq!(count.expect("reads"), between as u64, "{which:?} {by:?} in a period");
            expected.retain(|project| (*from..*to).contains(&time(project)));
            let latest = ListRequest::latest(which.clone(), 200);
            let request = ListRequest { by, from: Some(*from), to: Some(*to), ..latest };
            let page = world.projects.list(&request).await.expect("reads");
            assert_eq!(page.projects, expected, "{which:?} {by:?} in a period");
        }
    }
    for (pid, project) in model {
        let found = world.projects.find(*pid).await.expect("reads").expect("is there");
        assert_eq!(found, *project);
    }
}

#[tokio::test]
async fn a_project_is_listed_counted_renamed_and_deleted() {
    for home in Home::both() {
        let world = World::on(home.engine.clone()).await;
        let one = create(&world, "ann", "conflux", "one").await;
        let two = create(&world, "ann", "bitcoin", "two").await;
        let three = create(&world, "bob", "conflux", "three").await;
        world.hand.forward(1);
        let renamed = world.projects.rename(&user("ann"), one.pid, "uno", op()).await;
        let one = renamed.expect("renames");
        assert_eq!(one.name, "uno");
        assert!(one.lasttime > one.createtime);
        let mut model: BTreeMap<_, _> =
            [one.clone(), two, three.clone()].map(|project| (project.pid, project)).into();
        compare(&world, &model, &mut Rng::with_seed(1)).await;
        let conflux = Which::Chain(chain("conflux"));
        let updated = all(&world, &conflux, By::Updated, Order::Descending, 9).await;
        assert_eq!(updated, [one.clone(), three], "the one changed last comes first");
        let deleted = world.projects.delete(&user("ann"), one.pid, op()).await.expect("deletes");
        assert_eq!(deleted.status, Status::Deleted);
        model.insert(deleted.pid, deleted);
        compare(&world, &model, &mut Rng::with_seed(2)).await;
        for error in [
            world.projects.delete(&user("ann"), one.pid, op()).await.expect_err("gone"),
            world.projects.rename(&user("ann"), one.pid, "x", op()).await.expect_err("gone"),
            world.projects.rename(&user("bob"), one.pid, "x", op()).await.expect_err("not his"),
        ] {
            assert!(matches!(error, ProjectError::Missing), "{error}");
        }
        let error =
            world.projects.create(new("ann", "nochain", "x"), op()).await.expect_err("none");
        assert!(matches!(error, ProjectError::Chain { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_repeated_request_makes_one_project_and_shows_its_key_once() {
    let world = World::on(Home::model().engine).await;
    let name = op();
    let first = world.projects.create(new("ann", "eth", "one"), name).await.expect("creates");
    let again = world.projects.create(new("ann", "eth", "one"), name).await.expect("repeats");
    assert_eq!(first.project, again.project);
    assert!(first.key.is_some() && again.key.is_none());
    let name = op();
    let pid = first.project.pid;
    let rotated = world.projects.rotate_key(&user("ann"), pid, name).await.expect("rotates");
    let again = world.projects.rotate_key(&user("ann"), pid, name).await.expect("repeats");
    assert!(rotated.key.is_some() && again.key.is_none());
    world.projects.rename(&user("ann"), pid, "uno", op()).await.expect("renames");
    let late = world.projects.rotate_key(&user("ann"), pid, name).await.expect("repeats late");
    assert!(late.key.is_none());
    assert_eq!(world.projects.count_all().await.expect("reads"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_opens_its_project_until_it_is_rotated() {
    let world = World::on(Home::model().engine).await;
    let keys = Keys::new(world.store.clone());
    let made = world.projects.create(new("ann", "eth", "one"), op()).await.expect("creates");
    let (pid, key) = (made.project.pid.to_string(), made.key.expect("is new"));
    let other = world.projects.create(new("ann", "eth", "two"), op()).await.expect("creates");
    let other_pid = other.project.pid.to_string();
    let access = keys.find(&pid, key.reveal()).await.expect("opens");
    assert_eq!((&access.uid, &access.chain), (&user("ann"), &chain("eth")));
    assert_eq!(keys.open(key.reveal()).await.expect("names its project"), access);
    for wrong in ["", "osk_", "osk_x_y", &key.reveal()[4..], &format!("{}x", key.reveal())] {
        let error = keys.open(wrong).await.expect_err("wrong");
        assert!(matches!(error, KeyError::Wrong), "{error}");
    }
    let bare = key.reveal().trim_start_matches("osk_");
    for (pid, key) in [
        (pid.as_str(), "osk_"),
        (&pid, bare),
        (&pid, &key.reveal()[..46]),
        (&other_pid, key.reveal()),
        (&pid[1..], key.reveal()),
        (&"0".repeat(32), key.reveal()),
    ] {
        let error = keys.find(pid, key).await.expect_err("wrong");
        assert!(matches!(error, KeyError::Wrong), "{error}");
    }
    let rotated = world.projects.rotate_key(&user("ann"), made.project.pid, op()).await;
    let new_key = rotated.expect("rotates").key.expect("is new");
    tokio::time::advance(std::time::Duration::from_secs(4)).await;
    keys.find(&pid, key.reveal()).await.expect_err("the old key");
    keys.find(&pid, new_key.reveal()).await.expect("the new key");
    world.projects.delete(&user("ann"), made.project.pid, op()).await.expect("deletes");
    tokio::time::advance(std::time::Duration::from_secs(4)).await;
    keys.find(&pid, new_key.reveal()).await.expect_err("deleted");
    assert_eq!(keys.project(made.project.pid).await.expect("reads"), None);
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let world = World::on(Home::model().engine).await;
    for number in 0..5 {
        create(&world, "ann", "eth", &format!("p{number}")).await;
    }
    let which = Which::User(user("ann"));
    let first = world.projects.list(&ListRequest::latest(which.clone(), 2)).await.expect("reads");
    let cursor = first.next;
    assert!(cursor.is_some());
    let good = ListRequest { cursor: cursor.clone(), ..ListRequest::latest(which.clone(), 3) };
    assert_eq!(world.projects.list(&good).await.expect("reads").projects.len(), 3);
    for wrong in [
        ListRequest { by: By::Updated, ..good.clone() },
        ListRequest { order: Order::Ascending, ..good.clone() },
        ListRequest { from: Some(1), ..good.clone() },
        ListRequest { which: Which::User(user("bob")), ..good.clone() },
        ListRequest { which: Which::UserChain(user("ann"), chain("eth")), ..good.clone() },
    ] {
        let error = world.projects.list(&wrong).await.expect_err("another list");
        assert!(matches!(error, ListError::Cursor(_)), "{error}");
    }
    for limit in [0, 201] {
        let request = ListRequest { limit, ..good.clone() };
        world.projects.list(&request).await.expect_err("out of range");
    }
}

/// What one writer of the random test is told.
struct Told {
    /// Projects as they were last reported.
    projects: BTreeMap<Pid, Project>,
    unknown: usize,
}

fn is_unknown(error: &ProjectError) -> bool {
    matches!(error, ProjectError::Store(error @ StoreError::Change(_)) if error.is_unknown())
}

/// Repeats a request under its operation id until its outcome is known, as a client would.
macro_rules! settled {
    ($told:expr, $world:expr, $request:expr) => {
        loop {
            match $request.await {
                Err(error) if is_unknown(&error) => {
                    $told.unknown += 1;
                    $world.drive_some().await;
                }
                settled => break settled,
            }
        }
    };
}

/// One writer, with projects of its own: what it is told is what must be.
async fn write(world: World, uid: &'static str, mut rng: Rng, changes: usize) -> Told {
    let mut told = Told { projects: BTreeMap::new(), unknown: 0 };
    for number in 0..changes {
        world.hand.forward(rng.u64(0..3));
        let op = OpId(rng.u128(1..).to_be_bytes());
        let active: Vec<_> =
            told.projects.values().filter(|p| p.status == Status::Active).map(|p| p.pid).collect();
        let chosen = rng.choice(&active).copied();
        let name = format!("{uid} {number}");
        let project = match (rng.u8(0..8), chosen) {
            (0..=3, _) | (_, None) => {
                let chain = CHAINS[rng.usize(0..CHAINS.len())];
                settled!(told, world, world.projects.create(new(uid, chain, &name), op))
                    .map(|created| created.project)
            }
            (4 | 5, Some(pid)) => {
                settled!(told, world, world.projects.rename(&user(uid), pid, &name, op))
            }
            (6, Some(pid)) => settled!(told, world, world.projects.rotate_key(&user(uid), pid, op))
                .map(|rotated| rotated.project),
            (_, Some(pid)) => settled!(told, world, world.projects.delete(&user(uid), pid, op)),
        };
        let project = project.expect("is done");
        told.projects.insert(project.pid, project);
        tokio::task::yield_now().await;
    }
    told
}

async fn at_random(home: Home, seed: u64, changes: usize, share: u8) {
    let mut rng = Rng::with_seed(seed);
    let faults = &[Fault::AppliedUnknown, Fault::LostUnknown];
    let faulty = Faulty::at_random(home.engine.clone(), rng.u64(..), share, faults);
    let worlds = [World::on(faulty.clone()).await, World::on(faulty.clone()).await];
    let writers = USERS.iter().enumerate().map(|(number, uid)| {
        let world = worlds[number % 2].clone();
        tokio::spawn(write(world, uid, rng.fork(), changes))
    });
    let mut model = BTreeMap::new();
    let mut unknown = 0;
    for writer in futures_util::future::join_all(writers).await {
        let told = writer.expect("no panic");
        unknown += told.unknown;
        model.extend(told.projects);
    }
    assert!(share == 0 || faulty.injected() > 0);
    println!("{} faults, {unknown} outcomes unknown to callers", faulty.injected());
    let world = World::on(home.engine.clone()).await;
    world.drive().await;
    let pids: BTreeSet<_> = model.keys().collect();
    assert_eq!(pids.len(), model.len());
    compare(&world, &model, &mut rng).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_agree_with_a_model_whatever_commits_tell() {
    let seed = seed("projects on the model engine");
    let changes = if full() { 400 } else { 60 };
    // With more lies than truths the store's own repetitions no longer hide them.
    for (round, share) in [0, 40, 170].into_iter().enumerate() {
        at_random(Home::model(), seed.wrapping_add(round as u64), changes, share).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_agree_with_a_model_on_disk() {
    let seed = seed("projects on fjall");
    at_random(Home::fjall(), seed, if full() { 200 } else { 25 }, 40).await;
}

/// A process dies after each commit in turn; the driver of the next one finishes the rest.
#[tokio::test]
async fn a_crash_between_any_two_commits_is_finished_by_the_driver() {
    let mut died = 0;
    for commits in 0.. {
        let home = Home::model();
        let healthy = World::on(home.engine.clone()).await;
        let kept = create(&healthy, "ann", "eth", "kept").await;
        let dying = World::on(Faulty::dies_after(home.engine.clone(), commits)).await;
        let name = op();
        let told = dying.projects.create(new("ann", "eth", "new"), name).await;
        healthy.drive().await;
        let count = healthy.projects.count_all().await.expect("reads");
        let again = healthy.projects.create(new("ann", "eth", "new"), name).await;
        let project = again.expect("repeats").project;
        let mut model = BTreeMap::from([(kept.pid, kept)]);
        assert!(count == 2 || told.is_err(), "what was reported done is done");
        model.insert(project.pid, project);
        healthy.drive().await;
        compare(&healthy, &model, &mut Rng::with_seed(commits)).await;
        died += usize::from(told.is_err());
        if told.is_ok() && commits > 20 {
            break;
        }
    }
    assert!(died > 0, "nobody died before the commit");
}

#[tokio::test]
async fn a_user_has_a_limit_of_projects() {
    let world = World::on(Arc::new(store::ModelEngine::default())).await;
    for number in 0..platform::projects::USER_PROJECTS_LIMIT {
        create(&world, "ann", "eth", &format!("p{number}")).await;
    }
    let error = world.projects.create(new("ann", "eth", "more"), op()).await.expect_err("full");
    assert!(matches!(error, ProjectError::Full), "{error}");
    create(&world, "bob", "eth", "another's").await;
}

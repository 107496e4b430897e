//! What the platform itself finds, and for whom.

mod common;

use common::{Home, PASSWORD, World, client, op};
use platform::accounts::Caller;
use platform::projects::NewProject;
use platform::search::{Query, Searchers};

async fn caller(world: &World, name: &str) -> Caller {
    let login = world.accounts.log_in(name, PASSWORD, client(1)).await.expect("logs in");
    world.accounts.check_session(login.session.reveal()).await.expect("valid")
}

#[tokio::test]
async fn chains_projects_and_accounts_are_found_by_whom_they_concern() {
    let world = World::on(Home::model().engine).await;
    for name in ["ann", "bob"] {
        world.accounts.register(name, PASSWORD, op()).await.expect("registers");
    }
    world.accounts.make_operator("root", PASSWORD, op()).await.expect("makes");
    let ann = common::user("ann");
    let new = NewProject { uid: ann.clone(), chain: "eth".into(), name: "mine".into() };
    let pid = world.projects.create(new, op()).await.expect("creates").project.pid;
    let searchers = Searchers::new()
        .with(world.registry.clone())
        .with(world.projects.clone())
        .with(world.accounts.clone());
    let find = async |text: &str, asker: Option<&str>| {
        let asker = match asker {
            Some(name) => Some(caller(&world, name).await),
            None => None,
        };
        let query = Query::parse(text, asker).expect("a query");
        let found = searchers.find(&query).await;
        assert!(found.late.is_empty());
        found.hits.into_iter().map(|hit| format!("{} {}", hit.kind, hit.title)).collect::<Vec<_>>()
    };
    assert_eq!(find("ETH", None).await, ["chain eth"]);
    assert_eq!(find("co", None).await, ["chain conflux"]);
    assert_eq!(find(&pid.to_string(), None).await, Vec::<String>::new(), "nor projects");
    assert_eq!(find(&pid.to_string(), Some("bob")).await, Vec::<String>::new());
    assert_eq!(find(&pid.to_string(), Some("ann")).await, ["project mine"]);
    assert_eq!(find(&pid.to_string(), Some("root")).await, ["project mine"]);
    assert_eq!(find(&"0".repeat(32), None).await, Vec::<String>::new());
    assert_eq!(find("ann", None).await, Vec::<String>::new(), "strangers find no accounts");
    assert_eq!(find("ann", Some("bob")).await, Vec::<String>::new());
    assert_eq!(find("ann", Some("ann")).await, ["account ann"]);
    assert_eq!(find("ann", Some("root")).await, ["account ann"]);
    world.projects.delete(&ann, pid, op()).await.expect("deletes");
    assert_eq!(find(&pid.to_string(), Some("ann")).await, Vec::<String>::new());
}

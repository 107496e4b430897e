//! Three nodes, three copies: with two of them dead errors are clear, and when they return the same
//! engine goes on by itself. What one dead node does not stop is shown by the kernel's own tests.

mod common;
#[path = "common/counter.rs"]
mod counter;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use counter::{Account, Writer, check};
use parts::cassandra::Cluster;
use store::conformance::{CELLS, FACTS, schema, seed};
use store::{PageRequest, Store};
use store_cassandra::CassandraEngine;
use tokio::task::{JoinSet, block_in_place};

const WRITERS: usize = 8;
/// So many that no counter outgrows its table, however fast the machine is.
const COUNTERS: u8 = 64;
const PATIENCE: Duration = Duration::from_secs(4);
const REQUEST: Duration = Duration::from_secs(1);
/// When a verb must have failed: its patience, the last request, and room for a machine that is
/// short of everything. Far less than commits would take that wait for each other.
const FAILED: Duration = Duration::from_secs(12);
/// What an error of a ring with dead nodes may tell the operator to do.
const REMEDIES: [&str; 3] =
    ["start the missing Cassandra nodes", "start the Cassandra nodes", "`nodetool status`"];

/// Writers that never stop for an error.
struct Run {
    stop: Arc<AtomicBool>,
    known: Arc<AtomicUsize>,
    tasks: JoinSet<Account>,
}

impl Run {
    fn start(engines: &[Arc<CassandraEngine>], seed: u64) -> Self {
        let (stop, known) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for (number, engine) in (0..WRITERS).zip(engines.iter().cycle()) {
            let (mut writer, stop, known) = (Writer::new(engine), stop.clone(), known.clone());
            let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(number as u64));
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let before = writer.account.known();
                    writer.increment(rng.u8(0..COUNTERS)).await;
                    known.fetch_add(writer.account.known() - before, Ordering::Relaxed);
                }
                writer.account
            });
        }
        Self { stop, known, tasks }
    }

    /// Waits for more increments that are known to be done.
    async fn go_on(&self, more: usize) {
        let goal = self.known.load(Ordering::Relaxed) + more;
        let done = async {
            while self.known.load(Ordering::Relaxed) < goal {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), done).await.expect("the run goes on");
    }

    async fn end(self) -> Account {
        self.stop.store(true, Ordering::Relaxed);
        let mut account = Account::default();
        for one in self.tasks.join_all().await {
            account.add(one);
        }
        account
    }
}

fn names_a_remedy(error: &str) -> bool {
    REMEDIES.iter().any(|remedy| error.contains(remedy))
}

/// Waits until the node that is left knows that it is alone, as it does after some seconds.
async fn wait_until_alone(engine: &Arc<CassandraEngine>) {
    let store = Store::new(engine.clone(), 0);
    for _ in 0..30 {
        let error = store.get(&FACTS, &1, &1).await.expect_err("two of three are dead").to_string();
        assert!(names_a_remedy(&error), "{error}");
        if error.contains("too few replicas are up") {
            return;
        }
    }
    panic!("no error says that replicas are missing");
}

/// Every verb fails in time and says what to do.
async fn expect_clear_errors(engine: &Arc<CassandraEngine>) {
    let store = Store::new(engine.clone(), 0);
    let row = FACTS.row(&1, &1, &vec![1]).expect("a row");
    let since = Instant::now();
    let (got, listed, put) = tokio::join!(
        store.get(&FACTS, &1, &1),
        store.page(&CELLS, &1, PageRequest::first(10)),
        store.put(vec![row]),
    );
    let told = [
        got.expect_err("two of three are dead").to_string(),
        listed.expect_err("two of three are dead").to_string(),
        put.expect_err("two of three are dead").to_string(),
    ];
    for error in told {
        println!("{error}");
        assert!(error.contains("too few replicas are up: start the missing"), "{error}");
    }
    assert!(since.elapsed() < FAILED, "told after {:?}", since.elapsed());
}

/// Commits to one partition must not wait for each other's patience.
async fn expect_commits_to_fail_together(engine: &Arc<CassandraEngine>) {
    let since = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let engine = engine.clone();
        tasks.spawn(async move { counter::try_blindly(&engine, COUNTERS).await });
    }
    for error in tasks.join_all().await {
        let error = error.expect_err("two of three are dead").to_string();
        assert!(names_a_remedy(&error), "{error}");
    }
    assert!(since.elapsed() < FAILED, "the last one was told after {:?}", since.elapsed());
}

fn bring_back(ring: &mut Cluster) {
    for node in [1, 2] {
        ring.node(node).process().start_again().expect("starts again");
    }
    ring.wait_ready().expect("the ring is whole again");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_killed_give_clear_errors_and_work_goes_on_by_itself() {
    let Some(mut ring) = block_in_place(common::ring) else { return };
    let mut options = common::options_of(&ring.addresses(), 3);
    (options.request_timeout, options.patience) = (REQUEST, PATIENCE);
    let engines = common::open_apart(&options, &schema()).await;
    let run = Run::start(&engines, seed("two nodes killed"));
    run.go_on(100).await;
    for node in [1, 2] {
        ring.node(node).process().kill();
    }
    wait_until_alone(&engines[0]).await;
    let alone = run.known.load(Ordering::Relaxed);
    expect_clear_errors(&engines[0]).await;
    expect_commits_to_fail_together(&engines[1]).await;
    let still = run.known.load(Ordering::Relaxed);
    assert_eq!(still, alone, "nothing is acknowledged by a minority");
    block_in_place(|| bring_back(&mut ring));
    run.go_on(200).await;
    let account = run.end().await;
    println!(
        "{} done, {} resolved as done, {} as not done, {} errors, the longest after {:?}",
        account.done.len(),
        account.resolved.len(),
        account.dropped,
        account.errors.len(),
        account.longest_failure,
    );
    let unknown = account.resolved.len() as u64 + account.dropped;
    assert!(unknown > 0, "no commit was under way when the nodes died");
    let mute = account.errors.iter().find(|error| !names_a_remedy(error));
    assert!(mute.is_none(), "an error without a remedy: {mute:?}");
    check(&engines[0], COUNTERS, &account).await;
}

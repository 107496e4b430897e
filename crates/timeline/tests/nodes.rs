//! Three nodes, three copies: writers publish and readers check while one node is killed with -9
//! and brought back; no view is torn, and nothing acknowledged is gone.

#[path = "../../store-cassandra/tests/common/mod.rs"]
mod cassandra;
mod common;
#[path = "common/remote.rs"]
mod remote;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::actors::World;
use common::tree::schema;
use parts::cassandra::Cluster;
use remote::Remote;
use store::conformance::seed;
use tokio::runtime::Runtime;

/// The issue's own bound.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Kills a node, lets the others work without it for long enough that they notice, and waits until
/// it is back among them.
fn kill_and_bring_back(ring: &mut Cluster, node: usize) {
    thread::sleep(Duration::from_secs(6));
    ring.node(node).process().kill();
    println!("node {node} is dead");
    thread::sleep(Duration::from_secs(25));
    ring.node(node).process().start_again().expect("starts again");
    ring.wait_ready().expect("the ring is whole again");
    println!("node {node} is back");
    thread::sleep(Duration::from_secs(6));
}

/// Says so when it is dropped, so that a failure of its owner does not let others wait for ever.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn one_node_killed_loses_nothing_and_stops_nobody() {
    let Some(mut ring) = cassandra::ring() else { return };
    let runtime = Runtime::new().expect("a runtime");
    let options = cassandra::options_of(&ring.addresses(), 3);
    let engines = runtime.block_on(cassandra::open_apart(&options, &schema()));
    let seed = seed("one node killed, timeline");
    let victim = usize::try_from(seed % 3).expect("small");
    let remotes = engines.map(|engine| Remote::before(engine, runtime.handle()));
    let world = World::new(remotes.into(), seed, None).dying(150).unsure();
    let done = AtomicBool::new(false);
    let counts = thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&done);
            kill_and_bring_back(&mut ring, victim);
        });
        world.run_while(|_| !done.load(Ordering::Relaxed)).expect("no view is torn")
    });
    let longest = world.longest_pause();
    println!("{counts:?}, longest pause {longest:?}");
    // What the dead one missed must not depend on those who were there.
    ring.node((victim + 1) % 3).process().kill();
    let more = counts.checks + 10;
    let counts = world.run_while(|now| now.checks < more).expect("no view is torn");
    println!("{counts:?} with another node dead");
    assert!(counts.publishes > 20 && counts.checks > 20, "too slow to prove anything: {counts:?}");
    assert!(longest <= LONGEST_PAUSE, "the run stood still for {longest:?}");
}

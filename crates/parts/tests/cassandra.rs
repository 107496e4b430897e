//! Cassandra starts, forms a ring, comes back after kill -9, and ends with its owner.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parts::cassandra::{self, Secured};
use parts::{require, wait_until};

/// Set in the process that a test kills.
const ROLE: &str = "PARTS_TEST_OWNER";

/// Runs it and prints how long it took.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    println!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    done
}

fn runs(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Memory of a process as the kernel counts it, in MiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    let size = line.split_whitespace().nth(1).expect("a number");
    size.parse::<u64>().expect("a number") / 1024
}

#[test]
fn one_node_starts_answers_pauses_and_ends() {
    let Some(cassandra) = require(timed("install", cassandra::install)) else { return };
    let mut server = timed("one node", || cassandra.start().expect("starts"));
    let (address, pid) = (server.address(), server.process().id());
    println!("one node: {} MiB", resident(pid));
    server.wait_ready().expect("answers");
    server.process().pause().expect("pauses");
    // The kernel accepts in its place; only an answer tells that it is awake.
    TcpStream::connect(address).expect("the port is still open");
    server.process().resume().expect("goes on");
    server.wait_ready().expect("answers again");
    let dir = server.process().dir().to_owned();
    drop(server);
    assert!(!runs(pid) && !dir.exists());
    assert!(TcpStream::connect(address).is_err(), "its port is free again");
}

#[test]
fn the_tests_of_a_process_share_a_node() {
    let Some(cassandra) = require(cassandra::install()) else { return };
    let address = std::thread::scope(|scope| {
        let ask = || cassandra.shared().expect("starts");
        let (one, two) = (scope.spawn(ask), scope.spawn(ask));
        let (one, two) = (one.join().expect("no panic"), two.join().expect("no panic"));
        assert_eq!(one.address(), two.address());
        one.address()
    });
    assert!(TcpStream::connect(address).is_err(), "it has ended with its last holder");
}

#[test]
fn a_wrong_setting_is_quoted_from_the_log() {
    let Some(cassandra) = require(cassandra::install()) else { return };
    let wrong = ["-Dcassandra.settings.commitlog_sync=sometimes"];
    let error = cassandra.start_with(&wrong).expect_err("it refuses").to_string();
    assert!(error.contains("sometimes"), "{error}");
    // The log was kept, as for any part that does not come up; here that was the plan.
    let log = error.split("log: ").nth(1).and_then(|rest| rest.split(", its end").next());
    let dir = Path::new(log.expect("the log is named")).parent().expect("a directory");
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn three_nodes_form_a_ring_and_one_comes_back() {
    let Some(cassandra) = require(cassandra::install()) else { return };
    let mut cluster = timed("three nodes", || cassandra.cluster(3).expect("forms"));
    assert_eq!(cluster.len(), 3);
    let addresses: Vec<String> =
        cluster.addresses().iter().map(|address| address.ip().to_string()).collect();
    assert_eq!(addresses, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    let pids: Vec<u32> = (0..3).map(|index| cluster.node(index).process().id()).collect();
    println!("each: {:?} MiB", pids.iter().map(|pid| resident(*pid)).collect::<Vec<_>>());

    let node = cluster.node(2);
    let (address, dir) = (node.address(), node.process().dir().to_owned());
    node.process().kill();
    assert!(TcpStream::connect(address).is_err(), "it is dead");
    assert!(dir.join("data").is_dir(), "what it wrote is there");
    node.process().start_again().expect("starts again");
    timed("killed and back in the ring", || cluster.wait_ready().expect("whole again"));
    let node = cluster.node(2);
    assert_eq!((node.address(), node.process().dir()), (address, dir.as_path()));
    let log = std::fs::read_to_string(node.process().log()).expect("a log");
    let made = log.matches("No host ID found").count();
    assert_eq!(made, 1, "it is the same node, and no new one in its place");
    let status = timed("nodetool status", || cluster.node(0).nodetool(&["status"]));
    let status = status.expect("answers");
    let normal = status.lines().filter(|line| line.starts_with("UN")).count();
    assert_eq!(normal, 3, "{status}");

    let pids: Vec<u32> = (0..3).map(|index| cluster.node(index).process().id()).collect();
    drop(cluster);
    assert!(!pids.iter().any(|pid| runs(*pid)));
}

#[test]
fn a_ring_has_at_least_one_node() {
    let Some(cassandra) = require(cassandra::install()) else { return };
    let error = cassandra.cluster(0).expect_err("nothing to start").to_string();
    assert!(error.contains("1 to 16 nodes"), "{error}");
}

#[test]
fn a_secured_node_speaks_tls_again_after_kill_9() {
    let Some(cassandra) = require(cassandra::install()) else { return };
    let mut secured = timed("a secured node", || cassandra.start_secured().expect("starts"));
    let pem = std::fs::read_to_string(secured.ca_pem_path()).expect("a certificate");
    assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"), "{pem}");
    assert_eq!((Secured::USER, Secured::PASSWORD), ("cassandra", "cassandra"));
    let mut plain = TcpStream::connect(secured.address()).expect("connects");
    plain.write_all(&[4, 0, 0, 0, 5, 0, 0, 0, 0]).expect("OPTIONS without TLS");
    let mut answer = Vec::new();
    // It may answer with an alert of TLS or close the connection, but not as to a client.
    let _ = plain.read_to_end(&mut answer);
    assert_ne!(answer.first(), Some(&0x84), "it speaks CQL without TLS");
    secured.process().kill();
    secured.process().start_again().expect("starts again");
    secured.wait_ready().expect("speaks again");
    let pid = secured.process().id();
    drop(secured);
    assert!(!runs(pid));
}

#[test]
fn kill_9_of_the_owner_ends_the_node() {
    let Some(_) = require(cassandra::install()) else { return };
    let mut owner = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "owner_that_is_killed", "--nocapture"])
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(owner.stdout.take().expect("piped")).lines();
    let line = lines
        .map(|line| line.expect("text"))
        .find_map(|line| line.split_once("node ").map(|(_, node)| node.to_owned()))
        .expect("the owner speaks");
    let (pid, dir) = line.split_once(' ').expect("pid and directory");
    let pid: u32 = pid.parse().expect("a pid");
    assert!(runs(pid));
    owner.kill().expect("killed with -9");
    owner.wait().expect("dead");
    wait_until("the node is gone", Duration::from_secs(20), || {
        if runs(pid) { Err("it runs") } else { Ok(()) }
    })
    .expect("gone");
    std::fs::remove_dir_all(dir).expect("its directory is left, as after any kill");
}

/// Not a test of its own: the process that the test above starts and kills.
#[test]
fn owner_that_is_killed() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let cassandra = cassandra::install().expect("installed");
    let mut server = cassandra.start().expect("starts");
    let process = server.process();
    println!("node {} {}", process.id(), process.dir().display());
    std::thread::sleep(Duration::from_secs(60));
}

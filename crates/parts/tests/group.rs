//! A part ends with its owner: dropped, panicking, or killed with -9.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use parts::{Part, Process, wait_until};

/// The program of these tests: a shell with a child, a grandchild, and a daemon in a session of its
/// own, each of which writes its process id.
const FAMILY: &str = r#"
sleep 600 & echo $! >> pids
sh -c 'sleep 600 & echo $! >> pids; wait' &
setsid sh -c 'echo $$ >> pids; exec sleep 600' </dev/null >/dev/null 2>&1 &
echo $$ >> pids
wait"#;

/// Set in the process that the test kills.
const ROLE: &str = "PARTS_TEST_OWNER";

fn family() -> (Process, Vec<u32>) {
    let part = Part::new("family", "sh").expect("a directory");
    let mut process = part.args(["-c", FAMILY]).start().expect("starts");
    let file = process.dir().join("pids");
    let pids = process.wait_until("four processes", Duration::from_secs(10), || {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if pids.len() == 4 { Ok(pids) } else { Err(text) }
    });
    (process, pids.expect("they come"))
}

/// Whether a process runs; one that is dead and not yet reaped does not.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn gone(pids: &[u32]) {
    wait_until("the whole family is gone", Duration::from_secs(10), || {
        let left: Vec<&u32> = pids.iter().filter(|pid| runs(**pid)).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?} still run")) }
    })
    .expect("gone");
}

#[test]
fn drop_ends_the_whole_family() {
    let (process, pids) = family();
    assert!(pids.iter().all(|pid| runs(*pid)));
    let dir = process.dir().to_owned();
    drop(process);
    // At once, without waiting: a dropped part no longer holds its port.
    assert!(!pids.iter().any(|pid| runs(*pid)));
    assert!(!dir.exists(), "the directory of a passing test is removed");
}

#[test]
fn a_panic_ends_the_family_and_keeps_the_log() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let failing = std::thread::spawn(move || {
        let (process, pids) = family();
        sender.send((process.log().to_owned(), pids)).expect("sent");
        panic!("a test fails here, on purpose");
    });
    assert!(failing.join().is_err());
    let (log, pids) = receiver.recv().expect("received");
    gone(&pids);
    assert!(log.is_file(), "the log of a failed test is kept");
    let dir = log.parent().expect("a directory");
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn kill_9_of_the_owner_ends_the_family() {
    let mut owner = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "owner_that_is_killed", "--nocapture"])
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(owner.stdout.take().expect("piped")).lines();
    let line = loop {
        let line = lines.next().expect("the owner speaks").expect("text");
        if let Some((_, pids)) = line.split_once("family ") {
            break pids.to_owned();
        }
    };
    let (dir, pids) = line.split_once(' ').expect("directory and pids");
    let pids: Vec<u32> = pids.split(',').map(|pid| pid.parse().expect("a pid")).collect();
    assert!(pids.iter().all(|pid| runs(*pid)));
    owner.kill().expect("killed with -9");
    owner.wait().expect("dead");
    gone(&pids);
    std::fs::remove_dir_all(Path::new(dir)).expect("its directory is left, as after any kill");
}

/// Not a test of its own: the process that the test above starts and kills.
#[test]
fn owner_that_is_killed() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    // Started in a thread that ends at once: the death of a thread must not end a part.
    let started = std::thread::spawn(family).join();
    let (process, pids) = started.expect("starts");
    std::thread::sleep(Duration::from_millis(200));
    assert!(pids.iter().all(|pid| runs(*pid)), "a part outlives the thread that started it");
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    println!("family {} {}", process.dir().display(), pids.join(","));
    std::thread::sleep(Duration::from_secs(60));
}

//! A counting process killed with -9 again and again: the replay leads to exact sums.

mod common;

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{check, check_sound, event, events, fjall, overall, tallies};
use store::conformance::seed;
use tally::{Settings, Tallies};

const DIRECTORY: &str = "OSTRAKON_TALLY_DIRECTORY";
const SEED: &str = "OSTRAKON_TALLY_SEED";
const ENTRIES: &str = "OSTRAKON_TALLY_ENTRIES";
/// Shards fill up all the time, so that kills meet raises too.
const SETTINGS: Settings = Settings { shards: 2, shard_entries: 100, in_flight: 16 };

/// What the child was asked to do; none in the parent.
fn duty() -> Option<(PathBuf, u64, u64)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    Some((std::env::var_os(DIRECTORY)?.into(), number(SEED)?, number(ENTRIES)?))
}

/// Not a test: the child's part of the test below. It replays all events from the start, like a
/// consumer whose queue was never acknowledged.
#[test]
fn child() {
    let Some((directory, seed, entries)) = duty() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let tallies = tallies(fjall(&directory), SETTINGS);
        let events = events(&mut fastrand::Rng::with_seed(seed), entries);
        let mut tasks = tokio::task::JoinSet::new();
        for (writer, events) in events.chunks(events.len().div_ceil(8)).enumerate() {
            tasks.spawn(replay(tallies.clone(), events.to_vec(), writer));
        }
        tasks.join_all().await;
        tell("all");
    });
}

async fn replay(tallies: Tallies, events: Vec<(u64, u64)>, writer: usize) {
    // Half of the writers set one by one.
    for group in events.chunks(if writer.is_multiple_of(2) { 1 } else { 25 }) {
        let sets = group.iter().map(|(entry, rank)| event(&overall(), *entry, *rank)).collect();
        let answers = tallies.set_many(sets).await;
        for ((entry, rank), answer) in group.iter().zip(answers) {
            let now = answer.expect("is set").rank();
            tell(&format!("{entry} {now}"));
            assert!(now >= *rank);
        }
    }
}

/// Tells the parent a line, at once: a killed child has no time to flush.
fn tell(line: &str) {
    let _ = std::io::stdout().lock().write_all(format!("@{line}\n").as_bytes());
}

/// Starts a child, kills it soon after it was told that `answers` sets are counted, and returns
/// what it was told, and whether it got to the end.
fn run(directory: &Path, seed: u64, entries: u64, answers: usize) -> (Vec<(u64, u64)>, bool) {
    // Ends the child also when this process is killed.
    let group = parts::Group::new().expect("a group");
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(DIRECTORY, directory).env(SEED, seed.to_string());
    command.env(ENTRIES, entries.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = group.spawn(&mut command).expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its words"));
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    let listener = std::thread::spawn(move || {
        let (mut told, mut all) = (Vec::new(), false);
        let mut line = String::new();
        // A line without its end was cut by the kill: it was never told.
        while lines.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
            // The test harness writes its own words before the first line.
            if let Some((_, words)) = line.trim_end().split_once('@') {
                all |= words == "all";
                let numbers = words.split_once(' ');
                told.extend(numbers.map(|(entry, rank)| {
                    (entry.parse::<u64>().expect("a number"), rank.parse().expect("a number"))
                }));
                counter.store(told.len(), Ordering::SeqCst);
            }
            line.clear();
        }
        (told, all)
    });
    while heard.load(Ordering::SeqCst) < answers && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_micros(300));
    }
    child.kill().expect("can be killed");
    child.wait().expect("ends");
    listener.join().expect("read to the end")
}

#[tokio::test]
async fn a_killed_process_counts_exactly_after_its_replay() {
    let seed = seed("tally kill");
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let (entries, kills) = parts::pick((2_000, 10), (8_000, 60));
    let events = events(&mut fastrand::Rng::with_seed(seed), entries);
    let mut early = 0;
    for kill in 0..kills {
        // A little further each time, because what was counted before is only repeated.
        let answers = events.len() * kill / kills + random.usize(..events.len() / kills);
        let (told, all) = run(directory.path(), seed, entries, answers);
        early += usize::from(!all);
        let engine = fjall(directory.path());
        let tallies = tallies(engine.clone(), SETTINGS);
        for (entry, rank) in told.iter().rev().take(500) {
            let found = tallies.entry(&overall(), &entry.to_be_bytes()).await.expect("an entry");
            assert!(found.is_some_and(|found| found.rank >= *rank), "entry {entry} went back");
        }
        check_sound(engine.clone(), &tallies, &overall()).await;
    }
    let (_, all) = run(directory.path(), seed, entries, usize::MAX);
    assert!(all, "the last child gets to the end");
    let engine = fjall(directory.path());
    let tallies = tallies(engine.clone(), SETTINGS);
    check(engine.clone(), &tallies, &overall(), &events).await;
    let shards = tallies.shards(&overall()).await.expect("shards");
    println!("{kills} kills, {early} of them before the end; shards {shards:?}");
    assert!(early * 2 > kills, "the children were killed too late");
    assert!(shards.len() >= 3, "{shards:?}");
}

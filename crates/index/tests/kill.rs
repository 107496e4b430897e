//! kill -9 between every two steps of a change that touches four partitions.
//!
//! A child makes the change on an engine that stops before verb N of the store and says so; the
//! parent kills it there, opens the store again, and lets the driver take one step.

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::faults::Faulty;
use common::{World, lists, op, open};
use index::{Driver, DriverSettings, Millis, verify};
use store::conformance::full;
use store::{Engine, Maintenance};

const DIRECTORY: &str = "OSTRAKON_TEST_DIRECTORY";
const ROLE: &str = "OSTRAKON_TEST_ROLE";
const STEP: &str = "OSTRAKON_TEST_STEP";
const PROJECT: u64 = 7;

/// A moment at which what is there now is old enough for the driver.
fn after_the_age() -> Millis {
    let age = u64::try_from(DriverSettings::default().age.as_millis()).expect("small");
    Millis(Millis::now().0 + age + 1000)
}

/// Not a test: the child's part of the tests below.
#[test]
fn child() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).expect("a directory"));
    let step = std::env::var(STEP).expect("a step").parse().expect("a number");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let engine: Arc<dyn Engine> = open(&directory);
        if role == "change" {
            let honest = World::on(engine.clone());
            honest.score(PROJECT, 10, op()).await.expect("is done");
            let expected = honest.version(PROJECT).await;
            let (commit, calls) = common::change(PROJECT, expected, 20, op());
            let world = World::on(Faulty::stopping(engine, step));
            world.effects.change(commit, calls).await.expect("is done");
        } else {
            let world = World::on(Faulty::stopping(engine, step));
            let mut driver = Driver::new(world.effects, DriverSettings::default());
            driver.step(after_the_age()).await.expect("reads");
        }
    });
}

/// Runs a child that is killed before verb `step`; false when it ended before it got there.
fn run_and_kill(role: &str, directory: &Path, step: usize) -> bool {
    let group = parts::Group::new().expect("a group");
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(DIRECTORY, directory).env(STEP, step.to_string());
    command.stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = group.spawn(&mut command).expect("the child starts");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let stopped = lines.map_while(Result::ok).any(|line| line.contains("@at "));
    if stopped {
        child.kill().expect("can be killed");
    }
    let status = child.wait().expect("ends");
    assert!(stopped || status.success(), "the child failed: {status}");
    stopped
}

struct After {
    engine: Arc<dyn Maintenance>,
    world: World,
}

impl After {
    fn open(directory: &Path) -> Self {
        let engine = open(directory);
        let verbs: Arc<dyn Engine> = engine.clone();
        Self { world: World::on(verbs), engine }
    }

    /// One step of the driver, and what must hold from then on.
    async fn recover(&self, expected: u64) {
        let mut driver = Driver::new(self.world.effects.clone(), DriverSettings::default());
        let step = driver.step(after_the_age()).await.expect("reads");
        assert_eq!((step.left, step.more), (0, false), "{step:?}");
        let seen = self.world.seen(PROJECT).await;
        assert!(self.world.is_whole(PROJECT).await, "half done after the driver's step: {seen:?}");
        assert_eq!(seen[0], Some((expected, expected * 10)));
        assert_eq!(self.world.operations(PROJECT).await.len() as u64, expected);
        let again = driver.step(after_the_age()).await.expect("reads");
        assert_eq!(again.found, 0, "nothing is left for a second step");
        let (lists, longest) = (lists(), std::time::Duration::ZERO);
        let report = verify(self.engine.as_ref(), &lists, longest, after_the_age()).await;
        let report = report.expect("walks");
        assert!(report.is_clean(), "{:#?}", report.findings);
    }
}

#[tokio::test]
async fn a_change_killed_between_any_two_steps_is_finished_by_one_step_of_the_driver() {
    let (mut half_done, mut steps) = (0, 0);
    for step in 0.. {
        let directory = tempfile::tempdir().expect("a directory");
        if !run_and_kill("change", directory.path(), step) {
            break;
        }
        steps += 1;
        let after = After::open(directory.path());
        half_done += usize::from(!after.world.is_whole(PROJECT).await);
        // Before the intent is written nothing has happened; from then on all of it will.
        after.recover(if step == 0 { 1 } else { 2 }).await;
    }
    println!("{steps} kills, {half_done} left the change half done");
    assert!(steps >= 10, "intent, commit, three reads with a commit each, removal");
    assert!(half_done >= 5, "the kills came too early or too late to prove anything");
}

#[tokio::test]
async fn a_driver_killed_between_any_two_steps_is_finished_by_the_next() {
    // The writer dies right after its intent, right after its commit, and amid its calls.
    let deaths: Vec<usize> = if full() { (1..=10).collect() } else { vec![1, 2, 6] };
    let mut kills = 0;
    for death in deaths {
        for step in 0.. {
            let directory = tempfile::tempdir().expect("a directory");
            assert!(run_and_kill("change", directory.path(), death), "it had fewer steps");
            let killed = run_and_kill("drive", directory.path(), step);
            After::open(directory.path()).recover(2).await;
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    println!("{kills} drivers killed");
    assert!(kills >= 3 * 6, "commit, calls and removal are steps of the driver");
}

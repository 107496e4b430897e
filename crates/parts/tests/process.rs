//! A part is watched, paused, asked to end, and started again in its directory.

use std::time::{Duration, Instant};

use parts::{Part, require};

const SOON: Duration = Duration::from_secs(10);

#[test]
fn an_early_end_is_told_at_once_with_the_log() {
    let part = Part::new("faulty", "sh").expect("a directory");
    let part = part.args(["-c", "echo unknown option --colour; exit 7"]);
    let mut process = part.start().expect("starts");
    let start = Instant::now();
    let never = || Err::<(), _>("connection refused");
    let error = process.wait_until("it answers", Duration::from_secs(60), never);
    let text = error.expect_err("it never answers").to_string();
    assert!(start.elapsed() < SOON, "no waiting for a dead process");
    assert!(text.contains("faulty: it answers: the process ended"), "{text}");
    assert!(text.contains("exit status: 7") && text.contains("unknown option --colour"), "{text}");
    let dir = process.dir().to_owned();
    drop(process);
    assert!(dir.join("faulty.log").is_file(), "the log stays after a failed wait");
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn an_absent_program_is_named() {
    let part = Part::new("nothing", "no-such-program-here").expect("a directory");
    let error = part.start().expect_err("it cannot start").to_string();
    assert!(error.contains("no-such-program-here"), "{error}");
}

#[test]
fn terminate_lets_the_program_end_by_itself() {
    let script = "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.05; done";
    let part = Part::new("polite", "sh").expect("a directory");
    let mut process = part.args(["-c", script]).start().expect("starts");
    wait_for_log(&mut process, "up");
    let status = process.terminate(SOON).expect("it ends");
    assert_eq!(status.code(), Some(5));
    assert!(std::fs::read_to_string(process.log()).expect("a log").contains("bye"));
}

#[test]
fn a_program_that_ignores_the_request_still_runs() {
    let script = "trap '' TERM; echo up; while :; do sleep 0.05; done";
    let part = Part::new("stubborn", "sh").expect("a directory");
    let mut process = part.args(["-c", script]).start().expect("starts");
    wait_for_log(&mut process, "up");
    let error = process.terminate(Duration::from_millis(200)).expect_err("it does not end");
    assert!(error.to_string().contains("it ends after SIGTERM"), "{error}");
    assert!(process.exited().is_none());
    let dir = process.dir().to_owned();
    drop(process);
    std::fs::remove_dir_all(dir).expect("kept, because the wait failed");
}

#[test]
fn it_starts_again_in_its_directory() {
    let script = "echo start >> starts; echo up; exec sleep 600";
    let part = Part::new("again", "sh").expect("a directory");
    let mut process = part.args(["-c", script]).start().expect("starts");
    wait_for_log(&mut process, "up");
    let first = process.id();
    process.kill();
    assert!(process.exited().is_some());
    process.start_again().expect("starts again");
    assert_ne!(process.id(), first);
    let starts = process.dir().join("starts");
    let twice = process.wait_until("a second start", SOON, || {
        let text = std::fs::read_to_string(&starts).map_err(|error| error.to_string())?;
        if text.lines().count() == 2 { Ok(()) } else { Err(text) }
    });
    twice.expect("started twice");
}

#[test]
fn a_paused_program_stands_still_until_it_is_resumed() {
    let script = "echo up; while :; do echo tick; sleep 0.01; done";
    let part = Part::new("ticking", "sh").expect("a directory");
    let mut process = part.args(["-c", script]).start().expect("starts");
    wait_for_log(&mut process, "tick");
    process.pause().expect("pauses");
    let log = process.log().to_owned();
    let size = || std::fs::metadata(&log).expect("a log").len();
    std::thread::sleep(Duration::from_millis(50));
    let before = size();
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(size(), before);
    process.resume().expect("resumes");
    let grows = || if size() > before { Ok(()) } else { Err("still") };
    process.wait_until("it goes on", SOON, grows).expect("goes on");
}

#[test]
fn root_runs_a_part_as_another_user() {
    let root = if parts::is_root() {
        Ok(())
    } else {
        let command = r#"sudo -E env "PATH=$PATH" cargo test -p parts"#;
        Err(parts::Missing::new("another user", "only root can become one", command))
    };
    let Some(()) = require(root) else { return };
    let part = Part::new("other", "sh").expect("a directory").user("nobody");
    let script = "id -un; touch made-by-it; exec sleep 600";
    let mut process = part.args(["-c", script]).start().expect("starts");
    wait_for_log(&mut process, "nobody");
    let made = process.dir().join("made-by-it");
    let there = || if made.exists() { Ok(()) } else { Err("not yet") };
    process.wait_until("it writes in its directory", SOON, there).expect("written");
}

fn wait_for_log(process: &mut parts::Process, word: &str) {
    let log = process.log().to_owned();
    let logged = || {
        let text = std::fs::read_to_string(&log).map_err(|error| error.to_string())?;
        if text.contains(word) { Ok(()) } else { Err(text) }
    };
    process.wait_until("a word in the log", SOON, logged).expect("it is logged");
}

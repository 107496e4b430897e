//! The first real part, which proves the means for all others.

use std::net::TcpStream;

use parts::{redis, require};

#[test]
fn redis_starts_answers_and_ends() {
    let Some(redis) = require(redis::install()) else { return };
    let mut server = redis.start().expect("starts");
    assert_eq!(server.cli(&["PING"]).expect("answers"), "PONG");
    assert_eq!(server.cli(&["SET", "epoch", "7"]).expect("writes"), "OK");
    assert!(server.cli(&["NO-SUCH-COMMAND"]).is_err());
    let port = server.port();
    let pid = server.process().id();
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "its port is free again");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn two_servers_do_not_meet() {
    let Some(redis) = require(redis::install()) else { return };
    let one = redis.start().expect("starts");
    let two = redis.start().expect("starts");
    one.cli(&["SET", "who", "one"]).expect("writes");
    assert_eq!(two.cli(&["GET", "who"]).expect("answers"), "");
}

#[test]
fn rows_on_disk_survive_kill_9_and_a_new_start() {
    let Some(redis) = require(redis::install()) else { return };
    let settings = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = redis.start_with(&settings).expect("starts");
    server.cli(&["SET", "epoch", "7"]).expect("writes");
    server.process().kill();
    assert!(server.cli(&["GET", "epoch"]).is_err(), "it is dead");
    server.process().start_again().expect("starts again");
    server.wait_ready().expect("answers again");
    assert_eq!(server.cli(&["GET", "epoch"]).expect("answers"), "7");
}

#[test]
fn a_wrong_setting_is_quoted_from_the_log() {
    let Some(redis) = require(redis::install()) else { return };
    let error = redis.start_with(&["--no-such-setting", "1"]).expect_err("it refuses").to_string();
    assert!(error.contains("no-such-setting"), "{error}");
    // The log was kept, as for any part that does not come up; here that was the plan.
    let log = error.split("log: ").nth(1).and_then(|rest| rest.split(", its end").next());
    let dir = std::path::Path::new(log.expect("the log is named")).parent().expect("a directory");
    std::fs::remove_dir_all(dir).expect("removed");
}

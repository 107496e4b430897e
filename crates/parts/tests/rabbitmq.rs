//! A real RabbitMQ: it answers, keeps its queues, and takes its port mapper with it when it ends.

use std::net::TcpStream;
use std::path::Path;

use parts::{rabbitmq, require};

/// Declares a durable queue, which outlives its server.
const DECLARE: &str = r#"rabbit_amqqueue:declare(
    rabbit_misc:r(<<"/">>, queue, <<"kept">>), true, false, [], none, <<"test">>)."#;

#[test]
fn rabbitmq_starts_answers_and_ends() {
    let Some(rabbitmq) = require(rabbitmq::install()) else { return };
    let mut server = rabbitmq.start().expect("starts");
    let pid = server.process().id();
    assert!(server.ctl(&["status"]).expect("answers").contains("RabbitMQ version"));
    assert!(server.ctl(&["no-such-command"]).is_err());
    assert!(server.queues().expect("answers").is_empty());
    let mapper = port_mapper(server.process().dir());
    assert!(mapper.is_some(), "it has a port mapper of its own");
    let port = server.port();
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "its port is free again");
    assert!(!runs(pid) && !mapper.is_some_and(runs));
}

#[test]
fn two_servers_do_not_meet_and_queues_survive_an_end_of_either_kind() {
    let Some(rabbitmq) = require(rabbitmq::install()) else { return };
    let mut one = rabbitmq.start().expect("starts");
    let two = rabbitmq.start().expect("starts");
    one.ctl(&["eval", DECLARE]).expect("declares");
    assert!(two.queues().expect("answers").is_empty());
    one.restart().expect("comes back");
    assert!(one.queues().expect("answers").contains_key("kept"));
    one.process().kill();
    assert!(one.queues().is_err(), "it is dead");
    one.process().start_again().expect("starts again");
    one.wait_ready().expect("answers again");
    assert!(one.queues().expect("answers").contains_key("kept"));
}

#[test]
fn a_wrong_setting_is_told_from_the_log() {
    let Some(rabbitmq) = require(rabbitmq::install()) else { return };
    let error = rabbitmq.start_with(&["no_such_setting = 1"]).expect_err("it refuses").to_string();
    assert!(error.contains("failed_to_prepare_configuration"), "{error}");
    let log = error.split("log: ").nth(1).and_then(|rest| rest.split(", its end").next());
    let log = Path::new(log.expect("the log is named"));
    // Erlang says so much when it ends that the name stands above the lines that are quoted.
    assert!(std::fs::read_to_string(log).expect("kept").contains("no_such_setting"));
    let dir = log.parent().expect("a directory");
    std::fs::remove_dir_all(dir).expect("removed");
}

/// Whether a process runs; one that is dead and not yet reaped does not.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The process id of the `epmd` whose home is this directory.
fn port_mapper(home: &Path) -> Option<u32> {
    let home = format!("HOME={}", home.join("").display());
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let epmd = String::from_utf8_lossy(&read("cmdline")).contains("epmd");
        let ours = read("environ").split(|byte| *byte == 0).any(|line| line == home.as_bytes());
        if epmd && ours { entry.file_name().to_str()?.parse().ok() } else { None }
    })
}

//! A server that runs, commands that reach it, and how it ends.

mod common;

use common::{Place, exists, rows};

#[test]
fn the_demo_shows_its_pages_and_stops_cleanly() {
    let place = Place::new();
    let demo = place.demo("data");
    assert!(demo.printed.contains("Log in as demo with the password "), "{}", demo.printed);
    let home = demo.get("/");
    assert!(home.starts_with("HTTP/1.1 200 OK") && home.contains("devnet"), "{home}");
    let page = demo.get("/status");
    assert!(page.contains("system.samples") && page.contains("fjall"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    assert!(demo.get("/shards").contains("Shard report"));
    assert!(demo.get("/metrics").contains("ostrakon_store_commits_total"));
    assert!(demo.get("/health").contains("\"alive\":true"));
    assert!(demo.get("/ready").contains("\"ready\":true"));
    assert!(demo.get("/nothing").starts_with("HTTP/1.1 404"));
    assert!(exists(&place.path("data/admin.sock")));
    assert!(demo.terminate().success());
    assert!(!exists(&place.path("data/admin.sock")), "the socket goes with the server");
    let again = place.demo("data");
    assert!(again.get("/status").contains("2<small>this one</small>"), "it knows its starts");
    assert!(again.terminate().success());
}

#[test]
fn a_demo_without_a_directory_leaves_nothing_unless_told_to() {
    let place = Place::new();
    let start = |line| common::Server::start(place.command(line));
    let store = |printed: &str| {
        let line = printed.lines().find_map(|line| line.strip_prefix("Store: "));
        std::path::PathBuf::from(line.expect("named").split(" (").next().expect("a path"))
    };
    let passing = start("demo --listen 127.0.0.1:0");
    let path = store(&passing.printed);
    assert!(path.is_dir());
    assert!(passing.terminate().success());
    assert!(!path.exists());
    let kept = start("demo --listen 127.0.0.1:0 --keep");
    let path = store(&kept.printed);
    assert!(kept.terminate().success());
    assert!(path.is_dir());
    std::fs::remove_dir_all(path).expect("removed");
}

#[test]
fn commands_reach_the_server_that_holds_the_store() {
    let place = Place::new();
    let demo = place.demo("data");
    assert!(place.run("schema show --data data").ok().contains("[in the store]"));
    let verified = rows(&place.run("verify store --data data --json").ok());
    assert!(verified.contains(&("system.starts".to_owned(), 1)), "{verified:?}");
    let report = place.run("shards --data data --json").ok();
    assert!(report.contains("system.settings"), "{report}");
    place.run("backup a.backup --data data").ok();
    assert!(place.path("a.backup").is_file(), "a relative path is the caller's");
    let refused = place.run("backup a.backup --data data").fails(1);
    assert!(refused.contains("exists already"), "{refused}");
    assert!(demo.terminate().success());
}

#[test]
fn what_needs_the_store_for_itself_is_refused_while_it_is_held() {
    let place = Place::new();
    let demo = place.demo("data");
    place.run("backup a.backup --data data").ok();
    let apply = place.run("schema apply --data data").fails(1);
    assert!(apply.contains("in use by a running server; stop it"), "{apply}");
    let restore = place.run("restore a.backup --data data").fails(1);
    assert!(restore.contains("restore into a new directory"), "{restore}");
    let second = place.run("demo --listen 127.0.0.1:0 --data data").fails(1);
    assert!(second.contains("is in use by process"), "{second}");
    assert!(demo.get("/health").contains("\"alive\":true"), "the first one is not disturbed");
    assert!(demo.terminate().success());
}

#[test]
fn a_backup_of_a_running_server_restores_to_equal_tables() {
    let place = Place::new();
    let demo = place.demo("data");
    let written = place.run("backup a.backup --data data").ok();
    assert!(demo.terminate().success());
    let restored = place.run("restore a.backup --data copy").ok();
    let tables = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("system."));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(tables(&written), tables(&restored));
    place.run("backup b.backup --data copy").ok();
    let read = |name| std::fs::read(place.path(name)).expect("read");
    assert_eq!(read("a.backup"), read("b.backup"), "the same tables give the same file");
    let copy = place.demo("copy");
    assert!(
        copy.get("/status").contains("2<small>this one</small>"),
        "the copy goes on where the first one was"
    );
    assert!(copy.terminate().success());
}

#[test]
fn a_server_killed_with_9_leaves_a_socket_that_is_no_hindrance() {
    let place = Place::new();
    place.demo("data").kill();
    assert!(exists(&place.path("data/admin.sock")), "nobody could remove it");
    let verified = rows(&place.run("verify store --data data --json").ok());
    assert!(verified.contains(&("system.starts".to_owned(), 1)), "{verified:?}");
    let again = place.demo("data");
    assert!(place.run("schema show --data data").ok().contains("[in the store]"));
    assert!(again.get("/status").contains("2<small>this one</small>"));
    assert!(again.terminate().success());
}

#[test]
fn logs_can_be_json_and_say_how_it_ended() {
    let place = Place::new();
    place.write("o.toml", "[log]\nformat = \"json\"\nlevel = \"info\"\n");
    let mut command = place.command("demo --listen 127.0.0.1:0 --data data --config o.toml");
    let log = std::fs::File::create(place.path("log")).expect("made");
    command.stderr(log);
    assert!(common::Server::start(command).terminate().success());
    let log = std::fs::read_to_string(place.path("log")).expect("read");
    let parse = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    let lines: Vec<serde_json::Value> = log.lines().map(parse).collect();
    let said = |text: &str| lines.iter().any(|line| line["message"] == text);
    assert!(said("serving") && said("stopping") && said("the store is closed"), "{log}");
}

#[test]
fn a_store_in_a_deep_directory_has_a_socket_too() {
    let place = Place::new();
    let deep = format!("{}/{}", "a".repeat(90), "b".repeat(90));
    let demo = place.demo(&deep);
    let verified = place.run(&format!("verify store --json --data {deep}")).ok();
    assert!(rows(&verified).iter().any(|(table, _)| table == "system.starts"), "{verified}");
    assert!(demo.terminate().success());
}

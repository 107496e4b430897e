//! Commands on a store that nobody holds.

mod common;

use common::{Place, rows};

#[test]
fn init_then_apply_then_show() {
    let place = Place::new();
    place.run("init").ok();
    let missing = place.run("schema show").fails(1);
    assert!(missing.contains("there is no store in"), "{missing}");
    assert!(!place.path("data").exists(), "a command that looks must not make a store");
    let applied = place.run("schema apply").ok();
    assert!(applied.contains("created   system.samples  bucketed(720), once"), "{applied}");
    let again = place.run("schema apply").ok();
    assert!(again.contains("Nothing to do"), "{again}");
    let shown = place.run("schema show").ok();
    for text in ["system.settings  single, guarded  [in the store]", "At most 16 rows", "format 1"]
    {
        assert!(shown.contains(text), "{text} is not in {shown}");
    }
    let json = place.run("schema show --json").ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["tables"][0]["state"], "stored");
}

#[test]
fn init_does_not_overwrite_and_its_file_can_be_named() {
    let place = Place::new();
    place.run("init my.toml").ok();
    let refused = place.run("init my.toml").fails(2);
    assert!(refused.contains("my.toml exists already; --force"), "{refused}");
    place.run("init my.toml --force").ok();
    place.run("schema apply --config my.toml").ok();
    assert!(place.path("data").exists());
}

#[test]
fn a_wrong_configuration_is_named_with_file_line_and_remedy() {
    let place = Place::new();
    place.write("ostrakon.toml", "[store]\ndirectory = \"data\"\ncahce = \"64 MiB\"\n");
    assert_eq!(
        place.run("schema show").fails(2),
        "error: ostrakon.toml:3:1: unknown key `cahce`\n  \
         did you mean `cache`? known here: `engine`, `directory`, `cache`, `cassandra`\n"
    );
    place.write("ostrakon.toml", "[http]\nlisten = \"localhost:99\"\n");
    assert_eq!(
        place.run("verify store").fails(2),
        "error: ostrakon.toml:2:10: `listen` is \"localhost:99\"\n  \
         an address is an IP number and a port: listen = \"127.0.0.1:99\"\n"
    );
    place.write("ostrakon.toml", [0xff, 0xfe]);
    assert_eq!(
        place.run("shards").fails(2),
        "error: ostrakon.toml: it is not text in UTF-8\n  save it as UTF-8 text\n"
    );
    let missing = place.run("shards --config other.toml").fails(2);
    assert!(missing.contains("other.toml: there is no such"), "{missing}");
    assert!(missing.contains("ostrakon init"), "{missing}");
}

#[test]
fn a_wrong_call_ends_with_2_and_help_with_0() {
    let place = Place::new();
    place.run("shards --nodes 0").fails(2);
    place.run("shard").fails(2);
    let listen = place.run("demo --listen localhost:1").fails(2);
    assert!(listen.contains("127.0.0.1:1"), "{listen}");
    place.run("--help").ok();
    assert!(place.run("--version").ok().starts_with("ostrakon 0."));
}

#[test]
fn a_store_can_be_judged_verified_and_backed_up_without_a_server() {
    let place = Place::new();
    place.run("schema apply --data data").ok();
    let report = place.run("shards --data data --nodes 5 --json").ok();
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let tables = report["tables"].as_array().expect("tables");
    assert!(tables.iter().any(|table| table["table"] == "system.samples"), "{tables:?}");
    assert!(place.run("shards --data data").ok().contains("system.samples"));
    assert!(place.run("verify kernel --data data").ok().contains("tally.shards"));
    place.run("shards --data data --html report.html").ok();
    let page = std::fs::read_to_string(place.path("report.html")).expect("written");
    assert!(page.starts_with("<!doctype html>") && page.contains("system.starts"));
    let verified = rows(&place.run("verify store --data data --json").ok());
    assert!(verified.contains(&("system.samples".to_owned(), 0)), "{verified:?}");
    place.run("backup a.backup --data data").ok();
    let refused = place.run("backup a.backup --data data").fails(1);
    assert!(refused.contains("exists already"), "{refused}");
}

#[test]
fn a_backup_that_is_damaged_restores_nothing() {
    let place = Place::new();
    place.run("schema apply --data data").ok();
    place.run("backup a.backup --data data").ok();
    let mut bytes = std::fs::read(place.path("a.backup")).expect("read");
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    place.write("bad.backup", bytes);
    place.write("none.backup", "hello");
    for file in ["bad.backup", "none.backup", "missing.backup"] {
        let error = place.run(&format!("restore {file} --data new")).fails(1);
        assert!(error.contains("backup"), "{error}");
        for left in ["new", "new.restoring"] {
            assert!(!common::exists(&place.path(left)), "{file} left {left}");
        }
    }
    let used = place.run("restore a.backup --data data").fails(1);
    assert!(used.contains("is not empty; restore into a new directory"), "{used}");
}

#[test]
fn generated_activity_needs_no_store() {
    let place = Place::new();
    let text = place.run("shards --generated activity").ok();
    for figure in ["takes 80 values in 252 months, all multiples of 3", "mod N", "fixed slots"] {
        assert!(text.contains(figure), "{figure} is not in {text}");
    }
}

#[test]
fn documents_are_generated() {
    let place = Place::new();
    place.run("docs out").ok();
    let read = |name| std::fs::read_to_string(place.path(name)).expect("written");
    assert!(read("out/cli.md").contains("## ostrakon verify store"));
    assert!(read("out/tables.md").contains("erDiagram"));
}

#[test]
fn what_verify_finds_ends_with_1() {
    let place = Place::new();
    place.run("schema apply --data data").ok();
    place.write("data/incidents.log", "1794770000 batches 7 to 9 were lost\n");
    let found = place.run("verify store --data data");
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.out.contains("incident: 1794770000 batches 7 to 9 were lost"), "{found:?}");
    assert!(found.out.contains("1 findings."), "{found:?}");
}

#[test]
fn a_store_held_by_a_process_without_a_socket_is_a_clear_error() {
    let place = Place::new();
    place.run("schema apply --data data").ok();
    let lock = std::fs::File::open(place.path("data/ostrakon.lock")).expect("it is there");
    lock.try_lock().expect("nobody holds it");
    let error = place.run("verify store --data data").fails(1);
    assert!(error.contains("held by a process that has no admin socket; wait"), "{error}");
    assert!(error.contains("is in use by process"), "{error}");
    let error = place.run("schema apply --data data").fails(1);
    assert!(error.contains("is in use by process"), "{error}");
}

//! The same rows on a real Cassandra: copied there and back, served, compared and secured.

mod common;
mod rows;
mod treegraph;
mod workers;

use std::process::Stdio;

use common::{Place, Server};
use parts::cassandra::{self, Secured};
use parts::{conflux, require};
use rows::{Cluster, Fill, digests, fill};
use store::COPY_NOTE;

/// Rows of a copy that must take a while.
fn many() -> u64 {
    parts::pick(150_000, 1_500_000)
}

#[test]
fn copy_embedded_to_cassandra_and_back_gives_equal_digests() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.write("there.toml", cluster.config(&place, "there"));
    place.write("back.toml", "[store]\ndirectory = \"back\"\n");
    place.run("schema apply --data data").ok();
    fill(&place.path("data"), Fill { once: parts::pick(20_000, 500_000), guarded: 300 });
    let there = place.run("copy --to there.toml --data data").ok();
    assert!(there.contains("digests are equal") && there.contains("Next: "), "{there}");
    let back = place.run("copy --to back.toml --config there.toml").ok();
    assert_eq!(digests(&there), digests(&back));
    assert!(digests(&there).iter().filter(|(_, entries, _)| *entries > 0).count() >= 6, "{there}");
    place.run("backup a.backup --data data").ok();
    place.run("backup b.backup --config back.toml").ok();
    let read = |name| std::fs::read(place.path(name)).expect("read");
    assert_eq!(read("a.backup"), read("b.backup"), "operations came along too");
    let again = place.run("copy --to there.toml --data data").fails(1);
    assert!(again.contains("not empty") && again.contains("copy into a new store"), "{again}");
    let verified = place.run("verify store --config there.toml").ok();
    assert!(verified.contains("Everything is as it should be."), "{verified}");
}

#[test]
fn a_copy_killed_half_way_resumes() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.write("there.toml", cluster.config(&place, "half"));
    place.run("schema apply --data data").ok();
    fill(&place.path("data"), Fill { once: many(), guarded: 50 });
    let mut copy = place.command("copy --to there.toml --data data");
    copy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut copy = copy.spawn().expect("it starts");
    cluster.wait_for_rows("half", "timeline.heights", || {
        assert_eq!(copy.try_wait().expect("asked"), None, "the copy ended before it was killed");
    });
    copy.kill().expect("killed");
    copy.wait().expect("gone");
    assert!(cluster.open("half").note(COPY_NOTE).is_some(), "the copy is not finished");
    for command in ["demo --listen 127.0.0.1:0", "verify store", "backup a.backup"] {
        let refused = place.run(&format!("{command} --config there.toml")).fails(1);
        assert!(refused.contains("unfinished copy; run `ostrakon copy` again"), "{refused}");
    }
    place.write("other.toml", "[store]\ndirectory = \"other\"\n");
    place.run("schema apply --config other.toml").ok();
    let other = place.run("copy --to there.toml --config other.toml").fails(1);
    assert!(other.contains("unfinished copy of"), "another source is refused: {other}");
    let done = place.run("copy --to there.toml --data data").ok();
    assert!(done.contains("It went on with a copy begun earlier."), "{done}");
    assert!(!done.contains("copied once more"), "what was there was not copied twice: {done}");
    let heights = digests(&done).into_iter().find(|(table, ..)| table == "timeline.heights");
    assert_eq!(heights.expect("a table").1, many());
    assert!(cluster.open("half").note(COPY_NOTE).is_none());
    place.run("verify store --config there.toml").ok();
}

#[test]
fn a_copy_ended_by_ctrl_c_ends_cleanly_and_resumes() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.write("there.toml", cluster.config(&place, "interrupted"));
    place.run("schema apply --data data").ok();
    fill(&place.path("data"), Fill { once: many(), guarded: 50 });
    let mut copy = place.command("copy --to there.toml --data data");
    copy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut copy = copy.spawn().expect("it starts");
    cluster.wait_for_rows("interrupted", "timeline.heights", || {
        assert_eq!(copy.try_wait().expect("asked"), None, "the copy ended before its signal");
    });
    let id = rustix::process::Pid::from_child(&copy);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let ended = copy.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("run it again to go on"), "{said}");
    let done = place.run("copy --to there.toml --data data").ok();
    assert!(done.contains("It went on with a copy begun earlier."), "{done}");
}

#[test]
fn a_running_server_is_copied_from_a_consistent_view() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.run("schema apply --data data").ok();
    fill(&place.path("data"), Fill { once: many() / 2, guarded: 50 });
    let demo = place.demo("data");
    let samples = |line: &str| {
        let counted = common::rows(&place.run(&format!("verify store --json {line}")).ok());
        let found = counted.into_iter().find(|(table, _)| table == "system.samples");
        found.expect("the table is there").1
    };
    // A server samples every few seconds; a copy during which it did must be among the first few.
    let written_meanwhile = (0..20).any(|turn| {
        place.write("there.toml", cluster.config(&place, &format!("view_{turn}")));
        let before = samples("--data data");
        let done = place.run("copy --to there.toml --data data").ok();
        assert!(done.contains("digests are equal"), "{done}");
        assert!(!done.contains("once more"), "the view did not change: {done}");
        let after = samples("--data data");
        let copied = samples("--config there.toml");
        assert!((before..=after).contains(&copied), "{before} <= {copied} <= {after}");
        copied < after
    });
    assert!(written_meanwhile, "the server wrote nothing during twenty copies");
    assert!(demo.terminate().success());
}

#[test]
fn a_password_and_encryption_are_used() {
    let Some(cassandra) = parts::require(cassandra::install()) else { return };
    let node = cassandra.start_secured().expect("Cassandra starts");
    let place = Place::new();
    let (user, ca) = (Secured::USER, node.ca_pem_path().display());
    place.write("secret", format!("{}\n", Secured::PASSWORD));
    place.write("wrong", "swordfish\n");
    let config = |rest: &str| {
        format!(
            "[store]\nengine = \"cassandra\"\n[store.cassandra]\ncontact_points = [\"{}\"]\n\
             replication = 1\nrequest_timeout = \"10 s\"\npatience = \"30 s\"\n{rest}",
            node.address()
        )
    };
    place.write(
        "right.toml",
        config(&format!("user = \"{user}\"\npassword_file = \"secret\"\ntls_ca = \"{ca}\"\n")),
    );
    place.write(
        "wrong.toml",
        config(&format!("user = \"{user}\"\npassword_file = \"wrong\"\ntls_ca = \"{ca}\"\n")),
    );
    place.write("none.toml", config(&format!("user = \"{user}\"\ntls_ca = \"{ca}\"\n")));
    let applied = place.run("schema apply --config right.toml").ok();
    assert!(applied.contains("created   system.samples"), "{applied}");
    place.run("verify store --config right.toml").ok();
    let wrong = place.run("verify store --config wrong.toml").fails(1);
    for word in ["could be reached", "user, password and tls_ca", "incorrect"] {
        assert!(wrong.contains(word), "{word} is not in {wrong}");
    }
    assert!(!wrong.contains("swordfish"), "{wrong}");
    let none = place.run("verify store --config none.toml").fails(1);
    assert!(none.contains("OSTRAKON_CASSANDRA_PASSWORD"), "{none}");
    let mut given = place.command("verify store --config none.toml");
    given.env("OSTRAKON_CASSANDRA_PASSWORD", Secured::PASSWORD);
    let given = given.output().expect("it runs");
    assert!(given.status.success(), "{}", String::from_utf8_lossy(&given.stderr));
}

#[test]
fn shards_are_compared_with_the_estimates_of_cassandra() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.write("o.toml", cluster.config(&place, "estimated"));
    place.run("schema apply --config o.toml").ok();
    let store = cluster.open("estimated");
    store.put("timeline.heights", parts::pick(20_000, 200_000));
    let shards = || {
        let json = place.run("shards --json --config o.toml").ok();
        let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let tables = report["tables"].as_array().expect("tables").clone();
        tables.into_iter().find(|table| table["table"] == "timeline.heights").expect("a table")
    };
    for command in [["flush", "estimated"].as_slice(), &["refreshsizeestimates"]] {
        cluster.node.nodetool(command).expect("nodetool");
    }
    let table = shards();
    let view = &table["engine"];
    let (seen, estimated) = (&table["partitions"]["count"], &view["partitions"]);
    let ratio = view["partitions_ratio"].as_f64().expect("a ratio");
    eprintln!("timeline.heights: {seen} partitions seen, {estimated} estimated; {view}");
    assert!((0.8..1.25).contains(&ratio), "{view}");
    assert!(view["bytes_ratio"].as_f64().expect("a ratio") > 0.0, "{view}");
    let text = place.run("shards --config o.toml").ok();
    assert_eq!(text.matches("As cassandra itself estimates it").count(), 1, "{text}");
    place.run("shards --html report.html --config o.toml").ok();
    let page = std::fs::read_to_string(place.path("report.html")).expect("written");
    assert!(page.contains("As cassandra itself estimates it"), "{page}");
    place.run("schema apply --data data").ok();
    let embedded = place.run("shards --data data").ok();
    assert!(!embedded.contains("itself estimates it"), "it has no opinion: {embedded}");
}

#[test]
fn a_server_runs_on_cassandra_and_answers_its_pages() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.write("o.toml", cluster.config(&place, "served"));
    let start = |data: &str| {
        let line = format!("demo --listen 127.0.0.1:0 --config o.toml --data {data}");
        let mut command = place.command(&line);
        command.env("OSTRAKON_LOG", "warn");
        Server::start(command)
    };
    let server = start("one");
    assert!(server.printed.contains("Store: keyspace served at "), "{}", server.printed);
    let page = server.get("/status");
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(page.contains("system.samples") && page.contains("cassandra"), "{page}");
    assert!(server.get("/ready").contains("\"ready\":true"));
    assert!(server.get("/shards").contains("Shard report"));
    assert!(server.get("/metrics").contains("ostrakon_store_commits_total"));
    let taken = place.run("demo --listen 127.0.0.1:0 --config o.toml --data one").fails(1);
    assert!(taken.contains("a server already runs in"), "{taken}");
    let second = start("two");
    assert!(second.get("/status").contains("2<small>this one</small>"), "servers share a cluster");
    let counted = common::rows(&place.run("verify store --json --config o.toml").ok());
    assert!(counted.contains(&("system.starts".to_owned(), 2)), "{counted:?}");
    assert!(place.run("schema show --config o.toml").ok().contains("[in the store]"));
    assert!(place.run("schema apply --config o.toml").ok().contains("Nothing to do"));
    place.run("verify kernel --config o.toml").ok();
    for server in [server, second] {
        assert!(server.terminate().success());
    }
    assert!(!place.path("one/identity").exists(), "no rows in the directory");
    let restored = place.run("restore a.backup --config o.toml").fails(2);
    assert!(restored.contains("then `ostrakon copy`"), "{restored}");
}

#[test]
fn a_cluster_that_is_not_there_is_a_clear_error_and_its_schema_is_printed_all_the_same() {
    let place = Place::new();
    place.write(
        "ostrakon.toml",
        "[store]\nengine = \"cassandra\"\n[store.cassandra]\n\
         contact_points = [\"127.0.0.1:1\"]\nkeyspace = \"mine\"\nreplication = 2\n",
    );
    let error = place.run("verify store").fails(1);
    assert!(error.contains("127.0.0.1:1") && error.contains("check that they run"), "{error}");
    let text = place.run("schema show --engine cassandra").ok();
    for words in [
        "CREATE KEYSPACE IF NOT EXISTS mine WITH",
        "'replication_factor': 2",
        "CREATE TABLE IF NOT EXISTS mine.system_samples",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn when_the_holder_of_a_lease_is_killed_the_other_goes_on_on_cassandra() {
    let Some(cluster) = Cluster::shared() else { return };
    let place = Place::new();
    place.write("o.toml", cluster.config(&place, "lease") + workers::LOOPBACK);
    place.run("schema apply --config o.toml").ok();
    workers::make_operator(&place, "--config o.toml");
    // A process each, and a directory each for its admin socket.
    let web = place.serve("run --only web --config o.toml --data web");
    workers::the_other_goes_on(&web, |number| {
        place.serve(&format!("run --only webhooks --config o.toml --data worker{number}"))
    });
    assert!(web.terminate().success());
}

#[test]
fn killed_with_9_while_it_indexes_a_real_node_the_cluster_has_the_same_chain() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(conflux) = require(conflux::install()) else { return };
    let node = conflux.start().expect("starts");
    let place = Place::new();
    let config = cluster.config(&place, "scan") + &treegraph::chain(&node);
    place.write("o.toml", config);
    place.run("schema apply --config o.toml").ok();
    treegraph::killed(&place, &node, "o.toml");
}

//! Several processes on one embedded store: one holds it, the others work through its socket.

mod common;
mod workers;

use common::{Place, exists};

#[test]
fn when_the_holder_of_a_lease_is_killed_the_other_goes_on_through_one_server() {
    let place = Place::new();
    place.write("o.toml", format!("[store]\ndirectory = \"data\"\n{}", workers::LOOPBACK));
    place.run("schema apply --config o.toml").ok();
    workers::make_operator(&place, "--config o.toml");
    let web = place.serve("run --only web --config o.toml");
    workers::the_other_goes_on(&web, |_| place.serve("run --only webhooks --config o.toml"));
    assert!(web.terminate().success());
    assert!(!exists(&place.path("data/store.sock")), "the socket goes with the server");
}

#[test]
fn a_worker_without_a_server_says_what_to_start() {
    let place = Place::new();
    place.write("o.toml", "[store]\ndirectory = \"data\"\n");
    place.run("schema apply --config o.toml").ok();
    let error = place.run("run --only webhooks --config o.toml --listen 127.0.0.1:0").fails(1);
    assert!(error.contains("start `ostrakon run`"), "{error}");
    let error = place.run("run --only scna --config o.toml").fails(2);
    assert!(
        error.contains("possible values: web, webhooks, tips, scan, staking, upkeep"),
        "{error}"
    );
}

#[test]
fn a_worker_answers_its_supervisor_and_nobody_else() {
    let place = Place::new();
    place.write("o.toml", "[store]\ndirectory = \"data\"\n");
    place.run("schema apply --config o.toml").ok();
    let web = place.serve("run --only web --config o.toml");
    let worker = place.serve("run --only tips,upkeep --config o.toml");
    assert!(worker.get("/ready").contains("\"ready\":true"));
    assert!(worker.get("/metrics").contains("ostrakon_http"));
    assert!(worker.get("/api/chains").starts_with("HTTP/1.1 404"));
    assert!(worker.get("/").starts_with("HTTP/1.1 404"));
    assert!(web.terminate().success());
    assert!(worker.get("/health").starts_with("HTTP/1.1 200"), "it waits for the store");
    let web = place.serve("run --only web --config o.toml");
    assert!(worker.get("/ready").contains("\"ready\":true"), "and goes on by itself");
    assert!(worker.terminate().success() && web.terminate().success());
}

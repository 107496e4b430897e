//! The API document and the API agree: it is the one in the repository, and schemathesis, which
//! makes requests from it, finds no server error and nothing that the document does not say.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Place, Server};
use parts::{python, require};
use serde_json::{Value, json};

/// The version of schemathesis, first in the list.
const VERSION: &str = "4.32.5";
const LIST: &str = include_str!("document/requirements.txt");
/// An event stream never ends, so it has tests of its own: `streams.rs` here, `http/events.rs` in
/// the platform.
const ENDLESS: &str = "/api/events";
/// These take away what the other requests are made with: the token, and the role of its owner.
/// They run last.
const SUICIDAL: [&str; 2] = ["revoke_token", "set_role"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/document")
}

/// The document in the repository.
fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/openapi.json")
}

fn served(demo: &Server) -> Value {
    let answer = demo.get("/api/openapi.json");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn the_document_that_is_served_is_the_one_in_the_repository() {
    let place = Place::new();
    let demo = place.demo("data");
    let text = std::fs::read_to_string(path()).expect("the snapshot is there");
    let snapshot: Value = serde_json::from_str(&text).expect("JSON");
    assert!(served(&demo) == snapshot, "run `cargo xtask docs` and look at what changed");
    assert!(demo.terminate().success());
}

/// One run of schemathesis. What it printed, when it found nothing.
fn examine(environment: &python::Environment, demo: &Server, more: &[&str]) -> String {
    let seed = new_seed();
    let examples = parts::pick("20", "300");
    let mut command: Command = environment.module("schemathesis.cli");
    // From the file: loaded from the server, the document's own route would be left out.
    command.args(["--no-color", "run", "--url", &format!("http://{}", demo.address)]).arg(path());
    command.args(["--exclude-path", ENDLESS, "--max-examples", examples, "--seed", &seed]);
    // Its own check of valid data knows statuses only; the one in hooks.py knows reasons as well.
    command.args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"]);
    command.args(["--request-timeout", "30", "--continue-on-failure"]);
    // How long it takes to make an example says something about the machine, not about the API.
    command.args(["--suppress-health-check", "all"]).args(more);
    command.env("SCHEMATHESIS_HOOKS", folder().join("hooks.py"));
    let dir = tempfile::tempdir().expect("a directory");
    command.current_dir(dir.path());
    let out = command.output().expect("schemathesis starts");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let trouble = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "seed {seed}, {more:?}:\n{said}\n{trouble}");
    assert!(said.contains(&format!("Seed: {seed}")), "{said}");
    println!("seed {seed}: {}", cases(&said));
    said
}

/// The line that says how many requests were made.
fn cases(said: &str) -> &str {
    said.lines().find(|line| line.contains(" generated, ")).map(str::trim).expect("a count")
}

fn generated(said: &str) -> u64 {
    cases(said).split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// The one that a failure printed, or a new one. With reduced counts always the same: what a fixed
/// examination has found right stays right, and new questions are asked with `--full`.
fn new_seed() -> String {
    if let Ok(seed) = std::env::var("OSTRAKON_SEED") {
        return seed;
    }
    if !parts::full() {
        return "1062322993".to_owned();
    }
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).expect("randomness");
    u32::from_le_bytes(bytes).to_string()
}

/// A token that may do everything, made as a program would make it.
fn operators_token(demo: &Server) -> String {
    let body = json!({ "name": "demo", "password": demo.password() }).to_string();
    let answer = demo.send("POST", "/api/session", &[], &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.cookie().expect("a session");
    let csrf = answer.json()["csrf"].as_str().expect("a token").to_owned();
    let origin = format!("http://{}", demo.address);
    let headers = [("Cookie", &*cookie), ("X-CSRF-Token", &csrf), ("Origin", &origin)];
    let body = json!({ "name": "examiner", "scopes": ["read", "write", "operator"] }).to_string();
    let answer = demo.send("POST", "/api/account/tokens", &headers, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["token"].as_str().expect("a token").to_owned()
}

#[test]
fn nothing_outside_of_the_document_is_taken_or_answered() {
    let need = python::install("schemathesis", VERSION, LIST);
    let Some(environment) = require(need) else { return };
    let place = Place::new();
    let demo = place.demo("data");
    let document = served(&demo);
    let paths = document["paths"].as_object().expect("paths");
    let operations: usize = paths.values().map(methods).sum();
    let all = |said: &str, of: usize| {
        let line = format!("Tested: {of}\n");
        assert!(said.contains(&line), "{of} operations should be examined\n{said}");
    };
    let said = examine(&environment, &demo, &[]);
    all(&said, operations - 1);
    assert!(generated(&said) > 1000, "{said}");

    let authorization = format!("Authorization: Bearer {}", operators_token(&demo));
    let mut most = vec!["--header", &authorization];
    let mut rest = most.clone();
    for id in SUICIDAL {
        most.extend(["--exclude-operation-id", id]);
        rest.extend(["--include-operation-id", id]);
    }
    let said = examine(&environment, &demo, &most);
    all(&said, operations - 1 - SUICIDAL.len());
    assert!(generated(&said) > 1000, "{said}");
    // A token that had been taken away would have made all of this one refusal.
    let bearer = authorization.split_once(": ").expect("a header");
    let account = demo.send("GET", "/api/account", &[bearer], "");
    assert_eq!(account.json()["role"], "operator", "{account:?}");
    rest.extend(["--include-operation-id", "tokens", "--include-operation-id", "create_token"]);
    all(&examine(&environment, &demo, &rest), SUICIDAL.len() + 2);
    assert!(demo.terminate().success());
}

fn methods(item: &Value) -> usize {
    let known = ["get", "post", "put", "patch", "delete"];
    known.into_iter().filter(|method| item.get(method).is_some()).count()
}

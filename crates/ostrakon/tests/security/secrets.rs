//! What is secret stands in no log and in no answer but the one that gives it.

use std::fs::File;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Answer, Place, Server};
use crate::people::{FORM, Person, log_in, origin};

/// Everything that is logged, the engine's own files aside.
const LOUD: &str = "trace,fjall=off,lsm_tree=off";

fn loud_demo(place: &Place, log: &Path) -> Server {
    let mut command = place.command("demo --listen 127.0.0.1:0 --data data");
    command.env("OSTRAKON_LOG", LOUD).stderr(File::create(log).expect("made"));
    Server::start(command)
}

#[test]
fn no_secret_is_logged_or_answered_twice() {
    let place = Place::new();
    let log = place.path("log");
    let demo = loud_demo(&place, &log);
    let own = origin(&demo);
    let ann = Person::registers(&demo, "anna");
    let (project, key) = ann.makes_project(&demo, "mine");
    let (_, token) = ann.makes_token(&demo, "mine", &["read", "write"]);
    let (_, hook) = ann.makes_webhook(&demo);
    let demo_password = demo.password();
    let operator = Person::logs_in(&demo, "demo", &demo_password);
    let wrong = "a password that is wrong";
    let mut secrets = vec![
        ("Anna's password", ann.password.clone()),
        ("the demo's password", demo_password),
        ("a wrong password", wrong.to_owned()),
        ("Anna's session", ann.secret().to_owned()),
        ("the operator's session", operator.secret().to_owned()),
        ("a token", token.clone()),
        ("a key", key.clone()),
        ("a webhook's secret", hook),
    ];

    let bearer = format!("Bearer {token}");
    let form = [FORM, ("Origin", &*own), ("Accept", "text/html")];
    let encoded = |text: &str| text.replace(' ', "+");
    let mut answers: Vec<Answer> = vec![
        log_in(&demo, "anna", wrong),
        log_in(&demo, wrong, wrong),
        demo.send("POST", "/login", &form, &format!("name=anna&password={}", encoded(wrong))),
        // A body that does not fit is quoted in its refusal; a password must not be.
        demo.send(
            "POST",
            "/api/session",
            &[],
            &json!({ "name": "anna", "password": [wrong] }).to_string(),
        ),
        demo.send("POST", "/api/session", &[], &format!("{{\"password\": \"{wrong}\" \"x")),
        demo.send("GET", "/api/account", &[("Authorization", &bearer)], ""),
        demo.send("GET", &format!("/api/chains?key={key}"), &[], ""),
        demo.send("GET", &format!("/api/chains?limit=0&key={key}"), &[], ""),
        demo.send("POST", &format!("/api/projects?key={key}"), &[], "{}"),
        demo.send("GET", &format!("/nothing/{key}?token={token}"), &[("X-Api-Key", &key)], ""),
        demo.send("GET", "/api/account", &[("Authorization", &format!("Basic {token}"))], ""),
        demo.send("GET", "/api/account", &[("Authorization", &bearer), ("X-Api-Key", &key)], ""),
        demo.send("GET", "/metrics", &[], ""),
        demo.send("GET", "/api/openapi.json", &[], ""),
    ];
    for path in ["/", "/account", "/status", "/shards", "/chains", &format!("/projects/{project}")]
    {
        answers.push(ann.reads(&demo, path));
        answers.push(operator.reads(&demo, path));
    }
    for path in ["/api/account", "/api/projects", "/api/account/tokens", "/api/webhooks"] {
        answers.push(ann.asks(&demo, "GET", path, &Value::Null));
    }
    // What is made again gets a new secret, shown once; the old ones appear nowhere.
    let rotated = ann.asks(&demo, "POST", &format!("/api/projects/{project}/key"), &Value::Null);
    secrets.push(("a new key", rotated.json()["key"].as_str().expect("shown").to_owned()));
    let change = json!({ "old": ann.password, "new": "quite another password" });
    let changed = ann.asks(&demo, "PUT", "/api/account/password", &change);
    let fresh = changed.cookie().expect("a session");
    secrets.push(("a new password", "quite another password".to_owned()));
    let fresh = fresh.split_once('=').expect("a cookie").1.to_owned();
    assert!(!changed.body.contains(&fresh), "the secret is in the cookie alone");
    secrets.push(("a new session", fresh));
    answers.push(ann.reads(&demo, "/account"));

    for answer in &answers {
        assert_ne!(answer.status, 0, "{answer:?}");
        let all = format!("{answer:?}");
        for (what, secret) in &secrets {
            assert!(!all.contains(secret.as_str()), "{what} is in {all}");
        }
    }
    assert!(demo.terminate().success());
    let log = std::fs::read_to_string(&log).expect("a log");
    assert!(log.contains("route=\"/api/account/tokens\""), "requests are logged");
    for (what, secret) in &secrets {
        for text in [secret.clone(), encoded(secret), secret.replace(' ', "%20")] {
            assert!(!log.contains(&text), "{what} is in the log");
        }
    }
}

//! Guessing names, passwords, ids, tokens and keys.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Answer, Place, Server};
use crate::people::{FORM, Person, log_in, origin};

/// What differs in any two answers, taken out; the rest must not tell one refusal from another.
fn comparable(answer: &Answer, own: &[&str]) -> Answer {
    let mut answer = answer.clone();
    answer.headers.retain(|(name, _)| name != "date" && name != "x-request-id");
    if let Ok(mut body) = serde_json::from_str::<Value>(&answer.body) {
        body["instance"] = "".into();
        answer.body = body.to_string();
    }
    for word in own {
        assert!(!word.is_empty());
        answer.body = answer.body.replace(word, "(own)");
    }
    answer
}

#[test]
fn a_wrong_name_looks_like_a_wrong_password() {
    let place = Place::new();
    let demo = place.demo("data");
    Person::registers(&demo, "anna");
    let wrong = "a wrong password";
    let known = log_in(&demo, "anna", wrong);
    let nobody = log_in(&demo, "otto", wrong);
    let strange = log_in(&demo, "<no name at all>", wrong);
    assert_eq!((known.status, &*known.code()), (401, "bad-credential"), "{known:?}");
    assert_eq!(comparable(&known, &[]), comparable(&nobody, &[]));
    assert_eq!(comparable(&known, &[]), comparable(&strange, &[]));
    let own = origin(&demo);
    let form = |name: &str| {
        let headers = [FORM, ("Origin", &*own), ("Accept", "text/html")];
        let body = format!("name={name}&password=a+wrong+password");
        comparable(&demo.send("POST", "/login", &headers, &body), &[name])
    };
    let known = form("anna");
    assert_eq!(known.status, 401, "{known:?}");
    assert_eq!(known, form("otto"));
    assert!(demo.terminate().success());
}

/// Seconds to wait, as a refusal says it.
fn wait(answer: &Answer) -> u64 {
    assert_eq!((answer.status, &*answer.code()), (429, "too-many"), "{answer:?}");
    let seconds = answer.header("retry-after").expect("when").parse().expect("seconds");
    assert_eq!(answer.json()["retry_after"], seconds, "{answer:?}");
    seconds
}

/// Guesses until it must wait for at least so many seconds; how many guesses were looked at.
fn guess(demo: &Server, name: &str, seconds: u64) -> usize {
    let mut looked_at = 0;
    loop {
        let answer = log_in(demo, name, "a wrong guess");
        if answer.status == 401 {
            looked_at += 1;
            assert!(looked_at < 20, "{name}: delays do not grow");
            continue;
        }
        match wait(&answer) {
            enough if enough >= seconds => return looked_at,
            shorter => std::thread::sleep(Duration::from_secs(shorter)),
        }
    }
}

#[test]
fn whoever_guesses_waits_longer_each_time() {
    let place = Place::new();
    let demo = place.demo("data");
    let ann = Person::registers(&demo, "anna");
    for name in ["anna", "otto"] {
        let looked_at = guess(&demo, name, 7);
        assert!(looked_at >= 6, "{name}: people mistype, and {looked_at} guesses were looked at");
        // Nor does another address help that nobody vouches for.
        let body = json!({ "name": name, "password": "a wrong guess" }).to_string();
        let headers = [("X-Forwarded-For", "10.9.8.7"), ("Forwarded", "for=10.9.8.7")];
        wait(&demo.send("POST", "/api/session", &headers, &body));
    }
    guess(&demo, "anna", 7);
    // Until the time is over the right password is as good as any other.
    wait(&log_in(&demo, "anna", &ann.password));
    let own = origin(&demo);
    let body = format!("name=anna&password={}", ann.password.replace(' ', "+"));
    let form = demo.send("POST", "/login", &[FORM, ("Origin", &own)], &body);
    assert_eq!((form.status, form.cookie()), (429, None), "{form:?}");
    assert!(form.header("retry-after").is_some(), "{form:?}");
    assert_eq!(ann.reads(&demo, "/account").status, 200, "whoever is logged in stays so");
    assert!(demo.terminate().success());
}

#[test]
fn what_belongs_to_others_does_not_exist() {
    let place = Place::new();
    let demo = place.demo("data");
    let (ann, eve) = (Person::registers(&demo, "anna"), Person::registers(&demo, "evie"));
    let (project, _) = ann.makes_project(&demo, "mine");
    let (token, _) = ann.makes_token(&demo, "mine", &["read"]);
    let (hook, _) = ann.makes_webhook(&demo);
    let name = json!({ "name": "theirs" });
    let cases: [(&str, &str, &str, &str, &Value); 7] = [
        ("GET", "/api/projects/", &project, "", &Value::Null),
        ("PATCH", "/api/projects/", &project, "", &name),
        ("DELETE", "/api/projects/", &project, "", &Value::Null),
        ("POST", "/api/projects/", &project, "/key", &Value::Null),
        ("DELETE", "/api/account/tokens/", &token, "", &Value::Null),
        ("DELETE", "/api/webhooks/", &hook, "", &Value::Null),
        ("POST", "/api/webhooks/", &hook, "/enable", &Value::Null),
    ];
    for (method, before, id, after, body) in cases {
        let none: String = id.chars().map(|c| if c == '0' { '1' } else { '0' }).collect();
        let ask = |id: &str| {
            let answer = eve.asks(&demo, method, &format!("{before}{id}{after}"), body);
            comparable(&answer, &[id])
        };
        let theirs = ask(id);
        assert_eq!(theirs.status, 404, "{method} {before}: {theirs:?}");
        assert_eq!(theirs, ask(&none), "{method} {before}: it tells that it exists");
    }
    assert_eq!(eve.reads(&demo, &format!("/projects/{project}")).status, 404);
    let found = eve.asks(&demo, "GET", &format!("/api/search?q={project}"), &Value::Null).json();
    assert_eq!(found["hits"], json!([]));
    let read = |path: &str| ann.asks(&demo, "GET", path, &Value::Null);
    assert_eq!(read(&format!("/api/projects/{project}")).json()["name"], "mine", "it is untouched");
    assert_eq!(read("/api/account/tokens").json()["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(read("/api/webhooks").json()["items"].as_array().map(Vec::len), Some(1));
    // What only operators may, their names and their chains, is refused to everybody else.
    let role = json!({ "role": "operator" });
    let chain = json!({ "name": "evil", "kind": "evm", "network": "x" });
    for (method, path, body) in [
        ("GET", "/api/projects?owner=anna", &Value::Null),
        ("GET", "/api/projects/count?owner=anna", &Value::Null),
        ("GET", "/api/chains/devnet/projects", &Value::Null),
        ("GET", "/api/accounts/anna", &Value::Null),
        ("GET", "/api/accounts/nobody", &Value::Null),
        ("PUT", "/api/accounts/evie/role", &role),
        ("POST", "/api/chains", &chain),
        ("DELETE", "/api/chains/devnet", &Value::Null),
    ] {
        let answer = eve.asks(&demo, method, path, body);
        assert_eq!((answer.status, &*answer.code()), (403, "forbidden"), "{path}: {answer:?}");
    }
    assert_eq!(eve.reads(&demo, "/accounts/anna").status, 403);
    assert!(demo.terminate().success());
}

#[test]
fn a_key_opens_no_account_and_a_guessed_one_nothing() {
    let place = Place::new();
    let demo = place.demo("data");
    let operator = Person::logs_in(&demo, "demo", &demo.password());
    let (_, key) = operator.makes_project(&demo, "of an operator");
    let (id, token) = operator.makes_token(&demo, "reads", &["read"]);
    let bearer = |text: &str| format!("Bearer {text}");
    let with = |method: &str, path: &str, credential: (&str, &str), body: &Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        demo.send(method, path, &[credential], &body)
    };
    let role = json!({ "role": "user" });
    let chain = json!({ "name": "evil", "kind": "evm", "network": "x" });
    let new = json!({ "chain": "devnet", "name": "more" });
    let wanted = json!({ "name": "more", "scopes": ["operator"] });
    // The key is known, but stands for a project alone, whoever owns that.
    for (method, path, body) in [
        ("GET", "/api/account", &Value::Null),
        ("GET", "/api/projects", &Value::Null),
        ("GET", "/api/account/tokens", &Value::Null),
        ("GET", "/api/webhooks", &Value::Null),
        ("GET", "/api/accounts/demo", &Value::Null),
        ("POST", "/api/projects", &new),
        ("POST", "/api/account/tokens", &wanted),
        ("PUT", "/api/accounts/demo/role", &role),
        ("POST", "/api/chains", &chain),
    ] {
        for credential in [("X-Api-Key", &*key), ("Authorization", &*bearer(&key))] {
            let answer = with(method, path, credential, body);
            assert_eq!((answer.status, &*answer.code()), (403, "forbidden"), "{path}: {answer:?}");
        }
    }
    assert_eq!(with("GET", "/api/chains", ("X-Api-Key", &key), &Value::Null).status, 200);
    // A token that may read does nothing else, and makes no token that may more.
    let reads = bearer(&token);
    let reads = ("Authorization", &*reads);
    assert_eq!(with("GET", "/api/account", reads, &Value::Null).status, 200);
    for (method, path, body) in [
        ("POST", "/api/projects", &new),
        ("POST", "/api/account/tokens", &wanted),
        ("POST", "/api/chains", &chain),
    ] {
        assert_eq!(with(method, path, reads, body).code(), "forbidden", "{path}");
    }
    // What is nearly right is wrong, and all of it is wrong in the same words.
    let wrong = with("GET", "/api/account", ("Authorization", "Bearer x"), &Value::Null);
    assert_eq!((wrong.status, &*wrong.code()), (401, "bad-credential"));
    for real in [&token, &key] {
        let (short, changed) = (&real[..real.len() - 1], changed(real));
        for guess in [short, &changed, &format!("{real}A"), &real.to_uppercase(), "ost_", "osk_"] {
            let answer =
                with("GET", "/api/account", ("Authorization", &bearer(guess)), &Value::Null);
            assert_eq!(comparable(&answer, &[]), comparable(&wrong, &[]), "{guess}");
        }
    }
    let gone = operator.asks(&demo, "DELETE", &format!("/api/account/tokens/{id}"), &Value::Null);
    assert_eq!(gone.status, 204);
    let after = with("GET", "/api/account", reads, &Value::Null);
    assert_eq!(comparable(&after, &[]), comparable(&wrong, &[]), "a revoked one is unknown");
    assert!(demo.terminate().success());
}

/// The text with its last letter but three changed: the last one may hold bits that do not count.
fn changed(text: &str) -> String {
    let place = text.len() - 4;
    let other = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
    format!("{}{other}{}", &text[..place], &text[place + 1..])
}

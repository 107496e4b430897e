//! Session fixation: nobody is ever logged in under a secret that somebody else has chosen or kept.

use serde_json::{Value, json};

use crate::common::{Answer, Place, Server};
use crate::people::{FORM, Person, log_in, origin};

/// Shaped as ours are, and ours it is not.
const PLANTED: &str = "ostrakon=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn logs_in_by_form(demo: &Server, person: &Person, cookie: &str) -> Answer {
    let (name, password) = (&person.name, person.password.replace(' ', "+"));
    let body = format!("name={name}&password={password}");
    let origin = origin(demo);
    demo.send("POST", "/login", &[FORM, ("Origin", &origin), ("Cookie", cookie)], &body)
}

/// A secret that opens nothing: the API refuses it, a page leads to the login and removes it.
fn opens_nothing(demo: &Server, cookie: &str) {
    let answer = demo.send("GET", "/api/account", &[("Cookie", cookie)], "");
    assert_eq!((answer.status, &*answer.code()), (401, "bad-credential"), "{answer:?}");
    let answer = demo.send("GET", "/account", &[("Cookie", cookie)], "");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/login")), "{answer:?}");
    let forgotten = answer.header("set-cookie").expect("the cookie is removed");
    assert!(forgotten.starts_with("ostrakon=; ") && forgotten.contains("Max-Age=0"), "{forgotten}");
}

#[test]
fn a_planted_cookie_is_never_adopted() {
    let place = Place::new();
    let demo = place.demo("data");
    let ann = Person::registers(&demo, "ann");
    opens_nothing(&demo, PLANTED);
    let answer = logs_in_by_form(&demo, &ann, PLANTED);
    assert_eq!(answer.status, 303, "{answer:?}");
    let given = answer.cookie().expect("a session");
    assert_ne!(given, PLANTED);
    assert_ne!(given, ann.cookie, "each login has a secret of its own");
    opens_nothing(&demo, PLANTED);
    let with = |cookie: &str| demo.send("GET", "/api/account", &[("Cookie", cookie)], "");
    assert_eq!(with(&given).json()["name"], "ann");
    // Nor is a secret taken from anywhere but the cookie.
    let secret = given.split_once('=').expect("a cookie").1;
    for path in [format!("/account?ostrakon={secret}"), format!("/account?session={secret}")] {
        let answer = demo.send("GET", &path, &[], "");
        assert!([303, 400].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.cookie(), None);
    }
    // Two cookies of our name are a trick of a neighbour: which one counts would be a guess.
    let both = format!("{PLANTED}; {given}");
    assert_eq!(with(&both).code(), "ambiguous-credentials");
    assert!(demo.terminate().success());
}

#[test]
fn a_session_of_somebody_else_stays_theirs() {
    let place = Place::new();
    let demo = place.demo("data");
    let (eve, ann) = (Person::registers(&demo, "eve"), Person::registers(&demo, "ann"));
    // Eve's cookie lies in Ann's browser, and Ann logs in there.
    let origin = origin(&demo);
    let headers = [("Cookie", &*eve.cookie), ("X-CSRF-Token", &*eve.csrf), ("Origin", &*origin)];
    let body = json!({ "name": "ann", "password": ann.password }).to_string();
    let answer = demo.send("POST", "/api/session", &headers, &body);
    assert_eq!(answer.json()["name"], "ann", "{answer:?}");
    assert_ne!(answer.cookie().expect("a session"), eve.cookie);
    assert_eq!(eve.asks(&demo, "GET", "/api/account", &Value::Null).json()["name"], "eve");
    assert!(demo.terminate().success());
}

#[test]
fn a_secret_ends_with_its_session_and_with_the_password() {
    let place = Place::new();
    let demo = place.demo("data");
    let ann = Person::registers(&demo, "ann");
    let flags = log_in(&demo, "ann", &ann.password);
    let flags = flags.header("set-cookie").expect("a session").to_owned();
    for flag in ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age="] {
        assert!(flags.contains(flag), "{flag} is not in {flags}");
    }
    // By API, and by the form.
    let first = Person::logs_in(&demo, "ann", &ann.password);
    assert_eq!(first.asks(&demo, "DELETE", "/api/session", &Value::Null).status, 204);
    opens_nothing(&demo, &first.cookie);
    let second = Person::logs_in(&demo, "ann", &ann.password);
    let own = origin(&demo);
    let headers = [FORM, ("Origin", &*own), ("Cookie", &*second.cookie)];
    let left = demo.send("POST", "/logout", &headers, &format!("csrf={}", second.csrf));
    assert_eq!(left.status, 303, "{left:?}");
    opens_nothing(&demo, &second.cookie);
    assert_eq!(ann.reads(&demo, "/account").status, 200, "other sessions go on");
    // A new password ends all sessions, and the one that changed it gets a new secret.
    let other = Person::logs_in(&demo, "ann", &ann.password);
    let change = json!({ "old": ann.password, "new": "another way to go" });
    let changed = ann.asks(&demo, "PUT", "/api/account/password", &change);
    assert_eq!(changed.status, 200, "{changed:?}");
    let fresh = changed.cookie().expect("a new secret");
    for old in [&ann, &other] {
        assert_ne!(fresh, old.cookie);
        opens_nothing(&demo, &old.cookie);
    }
    let read = demo.send("GET", "/api/account", &[("Cookie", &fresh)], "");
    assert_eq!(read.json()["name"], "ann");
    assert_eq!(log_in(&demo, "ann", &ann.password).status, 401, "the old password is gone");
    assert!(demo.terminate().success());
}

//! People with accounts, and what their browsers send.

use serde_json::{Value, json};

use crate::common::{Answer, Server};

/// Somebody who is logged in.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    /// The account.
    pub(crate) name: String,
    /// Its password.
    pub(crate) password: String,
    /// `ostrakon=SECRET`.
    pub(crate) cookie: String,
    /// What their forms and scripts carry.
    pub(crate) csrf: String,
}

/// The type of a form.
pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// The server's own origin.
pub(crate) fn origin(demo: &Server) -> String {
    format!("http://{}", demo.address)
}

/// Logs in by API.
pub(crate) fn log_in(demo: &Server, name: &str, password: &str) -> Answer {
    let body = json!({ "name": name, "password": password }).to_string();
    demo.send("POST", "/api/session", &[], &body)
}

impl Person {
    /// A new account, logged in.
    pub(crate) fn registers(demo: &Server, name: &str) -> Self {
        let password = format!("{name} knows the way");
        let body = json!({ "name": name, "password": password }).to_string();
        let made = demo.send("POST", "/api/accounts", &[], &body);
        assert_eq!(made.status, 201, "{made:?}");
        Self::logs_in(demo, name, &password)
    }

    /// An account that is there, logged in.
    pub(crate) fn logs_in(demo: &Server, name: &str, password: &str) -> Self {
        let answer = log_in(demo, name, password);
        assert_eq!(answer.status, 200, "{answer:?}");
        Self {
            name: name.to_owned(),
            password: password.to_owned(),
            cookie: answer.cookie().expect("a session"),
            csrf: answer.json()["csrf"].as_str().expect("a token").to_owned(),
        }
    }

    /// The secret of the session.
    pub(crate) fn secret(&self) -> &str {
        self.cookie.split_once('=').expect("a cookie").1
    }

    /// Asks the API as a script of our own pages does.
    pub(crate) fn asks(&self, demo: &Server, method: &str, path: &str, body: &Value) -> Answer {
        let origin = origin(demo);
        let headers =
            [("Cookie", &*self.cookie), ("X-CSRF-Token", &*self.csrf), ("Origin", &*origin)];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        demo.send(method, path, &headers, &body)
    }

    /// Reads a page or the API with the cookie alone.
    pub(crate) fn reads(&self, demo: &Server, path: &str) -> Answer {
        demo.send("GET", path, &[("Cookie", &self.cookie), ("Accept", "text/html")], "")
    }

    /// Makes a project: its id and its key.
    pub(crate) fn makes_project(&self, demo: &Server, name: &str) -> (String, String) {
        let body = json!({ "chain": "devnet", "name": name });
        let answer = self.asks(demo, "POST", "/api/projects", &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        let made = answer.json();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        (text(&made["project"]["id"]), text(&made["key"]))
    }

    /// Makes a personal token: its id and itself.
    pub(crate) fn makes_token(
        &self,
        demo: &Server,
        name: &str,
        scopes: &[&str],
    ) -> (String, String) {
        let body = json!({ "name": name, "scopes": scopes });
        let answer = self.asks(demo, "POST", "/api/account/tokens", &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        let token = answer.json()["token"].as_str().expect("a token").to_owned();
        let list = self.asks(demo, "GET", "/api/account/tokens", &Value::Null).json();
        let own = list["items"].as_array().expect("a list").iter().find(|it| it["name"] == name);
        (own.expect("listed")["id"].as_str().expect("an id").to_owned(), token)
    }

    /// Makes a webhook: its id and its secret.
    pub(crate) fn makes_webhook(&self, demo: &Server) -> (String, String) {
        let body = json!({ "url": "https://example.org/hook", "kinds": ["none.such"] });
        let answer = self.asks(demo, "POST", "/api/webhooks", &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        let made = answer.json();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        (text(&made["id"]), text(&made["secret"]))
    }
}

//! Logging in and out, and registering.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::{Markup, html};
use platform::accounts::{LoggedIn, LoginError, PasswordError, RegisterError};
use platform::bridge::SESSION_SECONDS;
use platform::http::{Client, Operation, Problem};
use serde::Deserialize;
use web::Messages;

use super::kit::{Notice, Visitor, answer, see_other};
use crate::server::App;

/// A name and a password.
#[derive(Deserialize)]
struct Sent {
    name: String,
    password: String,
}

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/login", get(login).post(log_in))
        .route("/register", get(registration).post(register))
        .route("/logout", post(log_out))
}

/// The client's address for throttling. All clients whose address is unknown share one.
pub(super) fn address(client: Client) -> IpAddr {
    client.0.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

async fn login(visitor: Visitor) -> Response {
    let notice = match visitor.has_ended() {
        true => Notice::Done(visitor.words().session_ended),
        false => Notice::None,
    };
    form(&visitor, Kind::LogIn, "", &notice)
}

async fn registration(visitor: Visitor) -> Response {
    form(&visitor, Kind::Register, "", &Notice::None)
}

/// Which of the two forms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    LogIn,
    Register,
}

fn form(visitor: &Visitor, kind: Kind, name: &str, notice: &Notice) -> Response {
    let words = visitor.words();
    if visitor.who.is_some() {
        return see_other("/account");
    }
    let (path, title, hint) = match kind {
        Kind::LogIn => ("/login", words.log_in, "current-password"),
        Kind::Register => ("/register", words.register, "new-password"),
    };
    let content = html! {
        h1 { (title) }
        (notice.show(words))
        section {
            form.form method="post" action=(path) {
                label {
                    span { (words.name) @if kind == Kind::Register { " · " (words.name_rule) } }
                    input name="name" required autocomplete="username" autocapitalize="none"
                        spellcheck="false" maxlength="64" value=(name);
                }
                label {
                    span {
                        (words.password) @if kind == Kind::Register { " · " (words.password_rule) }
                    }
                    input type="password" name="password" required autocomplete=(hint)
                        maxlength="256";
                }
                button { (title) }
            }
            (other(words, kind))
        }
    };
    answer(visitor, notice.status(), (title, path), &content)
}

fn other(words: &Messages, kind: Kind) -> Markup {
    html! {
        p.note {
            @match kind {
                Kind::LogIn => { (words.no_account) " " a href="/register" { (words.register) } }
                Kind::Register => { (words.have_account) " " a href="/login" { (words.log_in) } }
            }
        }
    }
}

/// Sets the cookie of a new session and leads to the account.
pub(super) fn welcome(app: &App, opened: &LoggedIn) -> Result<Response, Problem> {
    let cookie = app.jar.keep(opened.session.reveal(), SESSION_SECONDS)?;
    Ok(([(header::SET_COOKIE, cookie)], see_other("/account")).into_response())
}

async fn log_in(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    client: Client,
    Form(sent): Form<Sent>,
) -> Result<Response, Problem> {
    let opened = app.platform.accounts.log_in(&sent.name, &sent.password, address(client)).await;
    match opened {
        Ok(opened) => welcome(&app, &opened),
        Err(error) => {
            let wait = wait(&error);
            let notice = refused(visitor.words(), error)?;
            Ok((wait, form(&visitor, Kind::LogIn, &sent.name, &notice)).into_response())
        }
    }
}

async fn register(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    client: Client,
    operation: Operation,
    Form(sent): Form<Sent>,
) -> Result<Response, Problem> {
    let words = visitor.words();
    let accounts = &app.platform.accounts;
    let notice = match accounts.register(&sent.name, &sent.password, operation.id).await {
        Ok(_) => {
            let opened = accounts.log_in(&sent.name, &sent.password, address(client)).await;
            match opened {
                Ok(opened) => return welcome(&app, &opened),
                Err(error) => refused(words, error)?,
            }
        }
        Err(RegisterError::Name { .. }) => {
            Notice::Refused(StatusCode::UNPROCESSABLE_ENTITY, words.name_bad.to_owned())
        }
        Err(RegisterError::Taken) => {
            Notice::Refused(StatusCode::CONFLICT, words.name_taken.to_owned())
        }
        Err(RegisterError::Password(error)) => password(words, error)?,
        Err(error) => return Err(error.into()),
    };
    Ok(form(&visitor, Kind::Register, &sent.name, &notice))
}

/// When to try again, for programs that send the form.
pub(super) fn wait(error: &LoginError) -> Option<[(HeaderName, String); 1]> {
    match error {
        LoginError::Throttled { seconds } => Some([(header::RETRY_AFTER, seconds.to_string())]),
        _ => None,
    }
}

/// Why nobody was logged in, in the reader's words.
pub(super) fn refused(words: &Messages, error: LoginError) -> Result<Notice, Problem> {
    Ok(match error {
        LoginError::Wrong => {
            Notice::Refused(StatusCode::UNAUTHORIZED, words.login_wrong.to_owned())
        }
        LoginError::Throttled { seconds } => {
            let text = format!("{} {seconds}", words.login_throttled);
            Notice::Refused(StatusCode::TOO_MANY_REQUESTS, text)
        }
        LoginError::Password(error) => password(words, error)?,
        error => return Err(error.into()),
    })
}

fn password(words: &Messages, error: PasswordError) -> Result<Notice, Problem> {
    let (status, text) = match error {
        PasswordError::Length => (StatusCode::UNPROCESSABLE_ENTITY, words.password_short),
        PasswordError::IsName | PasswordError::Common => {
            (StatusCode::UNPROCESSABLE_ENTITY, words.password_weak)
        }
        PasswordError::Busy => (StatusCode::SERVICE_UNAVAILABLE, words.login_busy),
        error => return Err(error.into()),
    };
    Ok(Notice::Refused(status, text.to_owned()))
}

async fn log_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(secret) = app.jar.secret(&headers) {
        app.platform.accounts.log_out(&secret).await?;
    }
    Ok(([(header::SET_COOKIE, app.jar.forget())], see_other("/")).into_response())
}

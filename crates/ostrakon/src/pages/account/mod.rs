//! The account: projects, personal tokens, webhooks, the password.

mod parts;
mod tokens;
mod webhooks;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::html;
use platform::accounts::{Role, UserId};
use platform::bridge;
use platform::http::{Client, Operation, Operator, Path, Problem, Query};
use platform::projects::{ListRequest, NewProject, Which};
use serde::Deserialize;

use super::kit::{Notice, Visitor, answer, log_in_first, moment, see_other};
use super::sign;
use crate::server::App;

/// Projects on one page.
const PROJECTS: usize = 20;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/account", get(show))
        .route("/account/projects", post(new_project))
        .route("/account/password", post(change_password))
        .route("/account/tokens", post(tokens::create))
        .route("/account/tokens/{id}/revoke", post(tokens::revoke))
        .route("/account/webhooks", post(webhooks::create))
        .route("/account/webhooks/{id}/remove", post(webhooks::remove))
        .route("/account/webhooks/{id}/enable", post(webhooks::enable))
        .route("/accounts/{name}", get(other).post(give_role))
}

/// Which page of the projects.
#[derive(Debug, Default, Deserialize)]
struct Place {
    cursor: Option<String>,
    /// The language, which the visitor has read already.
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(place): Query<Place>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    page(&app, &visitor, &user, place.cursor, &Notice::None).await
}

/// The page, with what became of a form.
async fn page(
    app: &App,
    visitor: &Visitor,
    user: &UserId,
    cursor: Option<String>,
    notice: &Notice,
) -> Result<Response, Problem> {
    let words = visitor.words();
    let account = app.platform.accounts.find(user).await?;
    let account = account.ok_or_else(|| Problem::not_found("such account"))?;
    let latest = ListRequest::latest(Which::User(user.clone()), PROJECTS);
    let later = cursor.is_some();
    let list = app.platform.projects.list(&ListRequest { cursor, ..latest }).await?;
    let tokens = app.platform.accounts.tokens(user).await?;
    let hooks = app.platform.webhooks.list(user).await?;
    let chains = app.platform.chains.current();
    let operator = account.role == Role::Operator;
    let content = html! {
        div.top { h1 { (user) } (visitor.button("/logout", words.log_out, "quiet")) }
        (notice.show(words))
        section {
            dl.facts {
                div { dt { (words.role) } dd { (parts::role(words, account.role)) } }
                div { dt { (words.member_since) } dd { (moment(account.created)) } }
            }
        }
        (parts::projects(visitor, &list, later, &chains))
        (tokens::section(visitor, &tokens, operator))
        (webhooks::section(visitor, &hooks))
        (parts::password(visitor))
    };
    Ok(answer(visitor, notice.status(), (words.account, "/account"), &content))
}

/// A project to be made.
#[derive(Deserialize)]
struct SentProject {
    chain: String,
    name: String,
}

async fn new_project(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    operation: Operation,
    Form(sent): Form<SentProject>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let new = NewProject { uid: user.clone(), chain: sent.chain, name: sent.name };
    let notice = match app.platform.projects.create(new, operation.id).await {
        Ok(made) => made.key.map_or(Notice::None, |key| {
            Notice::Secret(visitor.words().your_key, key.reveal().to_owned())
        }),
        Err(error) => Notice::Problem(error.into()),
    };
    page(&app, &visitor, &user, None, &notice).await
}

/// Two passwords.
#[derive(Deserialize)]
struct SentPasswords {
    old: String,
    new: String,
}

async fn change_password(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    client: Client,
    Form(sent): Form<SentPasswords>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let accounts = &app.platform.accounts;
    let client = sign::address(client);
    match accounts.change_password(&user, &sent.old, &sent.new, client).await {
        Ok(opened) => sign::welcome(&app, &opened),
        Err(error) => {
            let wait = sign::wait(&error);
            let notice = sign::refused(visitor.words(), error)?;
            let page = page(&app, &visitor, &user, None, &notice).await?;
            Ok((wait, page).into_response())
        }
    }
}

/// Another account, as operators see it.
async fn other(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    _operator: Operator,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("such account");
    let user = UserId::new(&name).map_err(|_| missing())?;
    let account = app.platform.accounts.find(&user).await?.ok_or_else(missing)?;
    let words = visitor.words();
    let (to, value) = match account.role {
        Role::User => (words.role_operator, "operator"),
        Role::Operator => (words.role_user, "user"),
    };
    let here = format!("/accounts/{user}");
    let content = html! {
        h1 { (user) }
        section {
            dl.facts {
                div { dt { (words.role) } dd { (parts::role(words, account.role)) } }
                div { dt { (words.member_since) } dd { (moment(account.created)) } }
            }
            form.row method="post" action=(here) {
                (visitor.token())
                input type="hidden" name="role" value=(value);
                button.quiet { (words.give_role) " " (to) }
            }
        }
    };
    Ok(answer(&visitor, StatusCode::OK, (user.as_str(), &here), &content))
}

/// A role.
#[derive(Deserialize)]
struct SentRole {
    role: Role,
}

async fn give_role(
    State(app): State<Arc<App>>,
    Operator(who): Operator,
    operation: Operation,
    Path(name): Path<String>,
    Form(sent): Form<SentRole>,
) -> Result<Response, Problem> {
    let user = UserId::new(&name).map_err(|_| Problem::not_found("such account"))?;
    let by = bridge::caller(&who).ok_or_else(|| Problem::forbidden("an account"))?;
    app.platform.accounts.set_role(&by, &user, sent.role, operation.id).await?;
    Ok(see_other(&format!("/accounts/{user}")))
}

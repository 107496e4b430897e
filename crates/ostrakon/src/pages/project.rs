//! One project: its name, its key, its end.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Form, Router};
use maud::{Markup, html};
use platform::accounts::UserId;
use platform::http::{Operation, Path, Problem};
use platform::projects::{Pid, Project, Status};
use serde::Deserialize;

use super::kit::{Notice, Visitor, answer, log_in_first, moment, see_other};
use crate::server::App;

/// A new name.
#[derive(Deserialize)]
struct Renamed {
    name: String,
}

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/projects/{id}", get(show))
        .route("/projects/{id}/rename", post(rename))
        .route("/projects/{id}/key", post(rotate))
        .route("/projects/{id}/delete", post(delete))
}

/// A project of this user. Others are not told whether it exists.
async fn own(app: &App, user: &UserId, id: &str) -> Result<Project, Problem> {
    let missing = || Problem::not_found("such project of yours");
    let pid = Pid::parse(id).ok_or_else(missing)?;
    let found = app.platform.projects.find(pid).await?;
    found.filter(|it| it.uid == *user && it.status == Status::Active).ok_or_else(missing)
}

async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    if visitor.user().is_none() {
        return Ok(log_in_first());
    }
    let missing = || Problem::not_found("such project of yours");
    let pid = Pid::parse(&id).ok_or_else(missing)?;
    let found = app.platform.projects.find(pid).await?;
    let seen = found.filter(|it| it.status == Status::Active && visitor.may_see(&it.uid));
    Ok(page(&visitor, &seen.ok_or_else(missing)?, &Notice::None))
}

fn page(visitor: &Visitor, project: &Project, notice: &Notice) -> Response {
    let words = visitor.words();
    let here = format!("/projects/{}", project.pid);
    let content = html! {
        h1 { (project.name) }
        p.lead { a href="/account" { "← " (words.account) } }
        (notice.show(words))
        section {
            dl.facts {
                div.wide { dt { (words.project) } dd { code { (project.pid) } } }
                div { dt { (words.chain) } dd {
                    a href={ "/chains/" (project.chain) } { (project.chain) }
                } }
                div { dt { (words.created) } dd { (moment(project.createtime)) } }
                div { dt { (words.updated) } dd { (moment(project.lasttime)) } }
            }
        }
        // Operators see what others have, and change nothing of it.
        @if visitor.user().as_ref() == Some(&project.uid) { (forms(visitor, project, &here)) }
    };
    answer(visitor, notice.status(), (project.name.as_str(), &here), &content)
}

/// What its owner may do with it.
fn forms(visitor: &Visitor, project: &Project, here: &str) -> Markup {
    let words = visitor.words();
    html! {
        section {
            h2 { (words.rename) }
            form.row method="post" action={ (here) "/rename" } {
                (visitor.token())
                label {
                    span { (words.name) }
                    input name="name" required maxlength="64" value=(project.name);
                }
                button { (words.rename) }
            }
        }
        section {
            h2 { (words.rotate) }
            p.lead { (words.rotate_note) }
            (visitor.button(&format!("{here}/key"), words.rotate, "quiet"))
        }
        section {
            h2 { (words.delete) }
            p.lead { (words.delete_note) }
            (visitor.button(&format!("{here}/delete"), words.delete, "grave"))
        }
    }
}

async fn rename(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    operation: Operation,
    Path(id): Path<String>,
    Form(sent): Form<Renamed>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let project = own(&app, &user, &id).await?;
    let projects = &app.platform.projects;
    match projects.rename(&user, project.pid, &sent.name, operation.id).await {
        Ok(project) => Ok(page(&visitor, &project, &Notice::None)),
        Err(error) => Ok(page(&visitor, &project, &Notice::Problem(error.into()))),
    }
}

async fn rotate(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    operation: Operation,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let project = own(&app, &user, &id).await?;
    let rotated = app.platform.projects.rotate_key(&user, project.pid, operation.id).await?;
    let notice = match rotated.key {
        Some(key) => Notice::Secret(visitor.words().your_key, key.reveal().to_owned()),
        None => Notice::None,
    };
    Ok(page(&visitor, &rotated.project, &notice))
}

async fn delete(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    operation: Operation,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let project = own(&app, &user, &id).await?;
    app.platform.projects.delete(&user, project.pid, operation.id).await?;
    Ok(see_other("/account"))
}

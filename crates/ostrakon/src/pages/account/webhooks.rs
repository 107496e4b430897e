//! Webhooks on the account page.

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::events::EventFilter;
use platform::http::{Path, Problem};
use platform::webhooks::{NewWebhook, ShownWebhook, WebhookId};
use serde::Deserialize;
use web::{Messages, format};

use crate::pages::kit::{Notice, Visitor, log_in_first, see_other};
use crate::server::App;

/// A webhook to be made.
#[derive(Deserialize)]
pub(super) struct Sent {
    url: String,
    #[serde(default)]
    kinds: String,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Form(sent): Form<Sent>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let kinds = sent.kinds.split(',').map(str::trim).filter(|kind| !kind.is_empty());
    let filter = EventFilter { kinds: kinds.map(str::to_owned).collect(), chain: None };
    let new = NewWebhook { url: sent.url.trim().to_owned(), filter };
    let notice = match app.platform.webhooks.create(&user, new).await {
        Ok((_, secret)) => Notice::Secret(visitor.words().your_secret, secret.reveal().to_owned()),
        Err(error) => Notice::Problem(error.into()),
    };
    super::page(&app, &visitor, &user, None, &notice).await
}

fn id_of(text: &str) -> Result<WebhookId, Problem> {
    WebhookId::parse(text).ok_or_else(|| Problem::not_found("such webhook"))
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    app.platform.webhooks.remove(&user, id_of(&id)?).await?;
    Ok(see_other("/account"))
}

pub(super) async fn enable(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    app.platform.webhooks.enable(&user, id_of(&id)?).await?;
    Ok(see_other("/account"))
}

pub(super) fn section(visitor: &Visitor, hooks: &[ShownWebhook]) -> Markup {
    let words = visitor.words();
    html! {
        section {
            h2 { (words.webhooks) }
            p.lead { (words.webhooks_note) }
            @if hooks.is_empty() {
                (web::empty(words.no_webhooks, words.no_webhooks_advice))
            } @else {
                div.scroll role="region" tabindex="0" aria-label=(words.webhooks) {
                    (table(visitor, hooks))
                }
            }
            form.row method="post" action="/account/webhooks" aria-label=(words.new_webhook) {
                (visitor.token())
                label {
                    span { (words.new_webhook) }
                    input type="url" name="url" required maxlength="512" placeholder="https://";
                }
                label {
                    span { (words.event_kinds) }
                    input name="kinds" maxlength="512" placeholder="chain.*";
                }
                button { (words.create) }
            }
        }
    }
}

fn table(visitor: &Visitor, hooks: &[ShownWebhook]) -> Markup {
    let words = visitor.words();
    html! {
        table {
            thead { tr {
                th { (words.url) } th { (words.event_kinds) } th.number { (words.delivered_to) }
                th { (words.state) } th { (words.change) }
            } }
            tbody {
                @for hook in hooks {
                    tr {
                        th scope="row" { (hook.url) }
                        td { (hook.filter.kinds.join(", ")) }
                        td.number { (format::count(hook.state.position)) }
                        td { (state(words, hook)) }
                        td {
                            @if hook.state.failures > 0 || hook.state.disabled.is_some() {
                                (visitor.button(
                                    &format!("/account/webhooks/{}/enable", hook.id),
                                    words.enable, "quiet"))
                                " "
                            }
                            (visitor.button(
                                &format!("/account/webhooks/{}/remove", hook.id),
                                words.remove, "quiet"))
                        }
                    }
                }
            }
        }
    }
}

fn state(words: &Messages, hook: &ShownWebhook) -> Markup {
    let state = &hook.state;
    html! {
        @if let Some(reason) = &state.disabled {
            span.badge.change { (words.disabled) } " " small lang="en" { (reason) }
        } @else if let Some(failure) = &state.last_failure {
            span.badge.watch { (words.failing) } " " small lang="en" { (failure) }
        } @else {
            span.badge.good { (words.delivering) }
        }
    }
}

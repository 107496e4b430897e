//! Personal tokens on the account page.

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::accounts::{NewToken, Scope, ShownToken};
use platform::http::{Path, Problem};
use serde::Deserialize;
use web::Messages;

use crate::pages::kit::{Notice, Visitor, log_in_first, moment, see_other};
use crate::server::App;

/// A token to be made. Boxes that are not ticked are not sent.
#[derive(Deserialize)]
pub(super) struct Sent {
    name: String,
    read: Option<String>,
    write: Option<String>,
    operator: Option<String>,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Form(sent): Form<Sent>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    let ticked = [
        sent.read.map(|_| Scope::Read),
        sent.write.map(|_| Scope::Write),
        sent.operator.map(|_| Scope::Operator),
    ];
    let scopes = ticked.into_iter().flatten().collect();
    let new = NewToken { name: sent.name, scopes, expires: None };
    let notice = match app.platform.accounts.create_token(&user, new).await {
        Ok(token) => Notice::Secret(visitor.words().your_token, token.reveal().to_owned()),
        Err(error) => Notice::Problem(error.into()),
    };
    super::page(&app, &visitor, &user, None, &notice).await
}

pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let Some(user) = visitor.user() else { return Ok(log_in_first()) };
    app.platform.accounts.revoke_token(&user, &id).await?;
    Ok(see_other("/account"))
}

fn scope(words: &Messages, scope: Scope) -> &'static str {
    match scope {
        Scope::Read => words.scope_read,
        Scope::Write => words.scope_write,
        Scope::Operator => words.role_operator,
    }
}

pub(super) fn section(visitor: &Visitor, tokens: &[ShownToken], operator: bool) -> Markup {
    let words = visitor.words();
    let tick = |name: &str, title: &str, ticked: bool| {
        html! {
            label.check {
                input type="checkbox" name=(name) value="on" checked[ticked];
                (title)
            }
        }
    };
    html! {
        section {
            h2 { (words.tokens) }
            p.lead { (words.tokens_note) }
            @if tokens.is_empty() {
                (web::empty(words.no_tokens, words.no_tokens_advice))
            } @else {
                div.scroll role="region" tabindex="0" aria-label=(words.tokens) {
                    (table(visitor, tokens))
                }
            }
            form.row method="post" action="/account/tokens" aria-label=(words.new_token) {
                (visitor.token())
                label {
                    span { (words.new_token) }
                    input name="name" required maxlength="64";
                }
                (tick("read", words.scope_read, true))
                (tick("write", words.scope_write, false))
                @if operator { (tick("operator", words.role_operator, false)) }
                button { (words.create) }
            }
        }
    }
}

fn table(visitor: &Visitor, tokens: &[ShownToken]) -> Markup {
    let words = visitor.words();
    html! {
        table {
            thead { tr {
                th { (words.name) } th { (words.scopes) } th { (words.created) }
                th { (words.expires) } th { (words.change) }
            } }
            tbody {
                @for ShownToken { id, token } in tokens {
                    @let scopes = Vec::from(token.scopes);
                    tr {
                        th scope="row" { (token.name) }
                        td {
                            @for (place, one) in scopes.iter().enumerate() {
                                @if place > 0 { ", " } (scope(words, *one))
                            }
                        }
                        td.word { (moment(token.created)) }
                        td.word {
                            @match token.expires {
                                Some(end) => (moment(end)),
                                None => (words.never),
                            }
                        }
                        td { (visitor.button(
                            &format!("/account/tokens/{id}/revoke"), words.revoke, "quiet")) }
                    }
                }
            }
        }
    }
}

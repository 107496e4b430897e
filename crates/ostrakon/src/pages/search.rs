//! The search page.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use platform::http::search::{Finder as _, HITS, Hit};
use platform::http::{Problem, Query};
use serde::Deserialize;
use web::Messages;

use super::kit::{Visitor, answer, see_other};
use crate::server::App;

/// What is looked for.
#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/search", get(search))
}

async fn search(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let words = visitor.words();
    let text = asked.q.trim();
    if text.is_empty() {
        let empty = web::empty(words.search_empty, words.search_none_advice);
        return Ok(page(&visitor, StatusCode::OK, text, &empty));
    }
    let hits = match app.platform.find(text, visitor.who.as_ref(), HITS).await {
        Ok(hits) => hits,
        Err(problem) if problem.status().is_client_error() => {
            let bad = web::empty(words.search_failed, words.search_none_advice);
            return Ok(page(&visitor, problem.status(), text, &bad));
        }
        Err(problem) => return Err(problem),
    };
    // Somebody who names a thing wants to see it, not a list of one.
    if let [Hit { exact: true, page, .. }] = hits.as_slice() {
        return Ok(see_other(page));
    }
    Ok(page(&visitor, StatusCode::OK, text, &list(words, &hits)))
}

fn page(visitor: &Visitor, status: StatusCode, text: &str, found: &Markup) -> Response {
    let words = visitor.words();
    let content = html! {
        h1 { (words.search) }
        form.row action="/search" role="search" {
            label {
                span { (words.search_hint) }
                input type="search" name="q" required maxlength="128" value=(text);
            }
            button { (words.search) }
        }
        section { (found) }
    };
    answer(visitor, status, (words.search, "/search"), &content)
}

fn list(words: &Messages, hits: &[Hit]) -> Markup {
    html! {
        @if hits.is_empty() {
            (web::empty(words.search_none, words.search_none_advice))
        } @else {
            h2 { (words.found) }
            div.scroll role="region" tabindex="0" aria-label=(words.found) {
                table {
                    thead { tr { th { (words.name) } th { (words.kind) } th { (words.chain) } } }
                    tbody {
                        @for hit in hits {
                            tr {
                                th scope="row" { a href=(hit.page) { (hit.title) } }
                                td { (hit.kind) }
                                td { @if let Some(chain) = &hit.chain { (chain) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

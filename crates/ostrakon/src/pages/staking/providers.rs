//! Finality providers: by what is staked with them, and one with its delegations.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::html;
use platform::http::{Path, Query};
use tally::Position;
use web::Pager;

use super::board::Board;
use super::page::{LINES, Listed, Page, Refused, cursor, here};
use super::parts::{Other, delegations, provider_link, sums};
use crate::pages::kit::Visitor;
use crate::server::App;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let board = Board {
        list: "staking.providers",
        place: ("/providers", "providers"),
        named: (words.providers, words.provider),
        none: words.no_providers,
        link: provider_link,
    };
    let asked = asked.cursor.as_deref();
    let found = app.staking.providers(board.after(&page, asked)?, LINES).await?;
    let all = app.staking.overall().await?.standing.active_tvl;
    Ok(board.answer(&page, asked, &found, all))
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(key): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let key = page.key(&key)?;
    let Some(standing) = app.staking.provider(key).await? else {
        return Err(page.missing(words.no_such_provider));
    };
    let bound = ("staking.provider.delegations", &key);
    let from: Option<Position> = page.place(bound, asked.cursor.as_deref())?;
    let later = from.is_some();
    let found = app.staking.provider_delegations(key, from, LINES).await?;
    let next = cursor(bound, found.next.as_ref());
    let place = format!("/providers/{key}");
    let path = page.path(&place);
    let pager = Pager { words, path: &path, later, next: next.as_deref() };
    let content = html! {
        h1 { (words.provider) }
        p.lead { code.whole { (key) } }
        (sums(words, &standing))
        section {
            h2 { (words.delegations) }
            (delegations(words, &found.rows, Other::Staker))
            (pager.links())
        }
    };
    let place = here(&place, asked.cursor.as_deref());
    Ok(page.answer(StatusCode::OK, ("/providers", &place), words.provider, &content))
}

//! Finality providers: by what is staked with them, and one with its delegations.

use std::sync::Arc;

use ::staking::RankPlace;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::html;
use platform::http::{Path, Query};
use tally::Position;
use web::Pager;

use super::page::{LINES, Listed, Page, Refused, cursor, here};
use super::parts::{Other, delegations, parties, provider_link, sums};
use crate::pages::kit::Visitor;
use crate::server::App;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let bound = ("staking.providers", &());
    let after: Option<RankPlace> = page.place(bound, asked.cursor.as_deref())?;
    let all = app.staking.overall().await?.standing.active_tvl;
    let found = app.staking.providers(after, LINES).await?;
    let next = cursor(bound, found.next.as_ref())?;
    let path = page.path("/providers");
    let pager = Pager { words, path: &path, later: after.is_some(), next: next.as_deref() };
    let named = (words.providers, words.provider);
    let content = html! {
        @if found.rows.is_empty() {
            (web::empty(words.no_providers, words.no_delegations_advice))
        } @else { (parties(words, named, (&found.rows, all), provider_link)) }
        (pager.links())
    };
    let content = html! {
        h1 { (words.providers) }
        @if after.is_none() { (page.live("providers", &content)) }
        @else { section { (content) } }
    };
    let place = here("/providers", asked.cursor.as_deref());
    Ok(page.answer(StatusCode::OK, ("/providers", &place), words.providers, &content))
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
    let next = cursor(bound, found.next.as_ref())?;
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

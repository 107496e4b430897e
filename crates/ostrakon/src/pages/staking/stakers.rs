//! Stakers: by what they have staked, and one with its delegations.

use std::sync::Arc;

use ::staking::address::Network;
use ::staking::delegation::State as Step;
use ::staking::{ListPage, Listed as Line, PublicKey, StakerPlace};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use serde::Deserialize;
use web::{Messages, Pager};

use super::board::Board;
use super::page::{LINES, Listed, Page, Refused, cursor, here};
use super::parts::{Other, delegations, staker_link, state_name, sums};
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
        list: "staking.stakers",
        place: ("/stakers", "stakers"),
        named: (words.stakers, words.staker),
        none: words.no_stakers,
        link: staker_link,
    };
    let asked = asked.cursor.as_deref();
    let found = app.staking.stakers(board.after(&page, asked)?, LINES).await?;
    let all = app.staking.overall().await?.standing.active_tvl;
    Ok(board.answer(&page, asked, &found, all))
}

/// What is asked of the list.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    state: Option<String>,
    cursor: Option<String>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Extension(network): Extension<Network>,
    Path(key): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let key = page.key(&key)?;
    let wanted = match asked.state.as_deref() {
        None | Some("") => None,
        Some(word) => {
            let known = Step::of_word(word);
            Some(known.ok_or_else(|| page.bad(words.bad_choice, words.bad_choice_advice))?)
        }
    };
    let Some(standing) = app.staking.staker(key).await? else {
        return Err(page.missing(words.no_such_staker));
    };
    let bound = ("staking.staker.delegations", &(key, wanted));
    let after: Option<StakerPlace> = page.place(bound, asked.cursor.as_deref())?;
    let states: Vec<Step> = wanted.into_iter().collect();
    let found = app.staking.staker_delegations(key, &states, after, LINES).await?;
    let next = cursor(bound, found.next.as_ref());
    let place = format!("/stakers/{key}");
    let sifted = wanted.map_or(place.clone(), |state| format!("{place}?state={}", state.word()));
    let path = page.path(&sifted);
    let pager = Pager { words, path: &path, later: after.is_some(), next: next.as_deref() };
    let content = html! {
        h1 { (words.staker) }
        (names(words, key, network))
        (sums(words, &standing))
        section {
            h2 { (words.delegations) }
            (choice(words, &page.path(&place), wanted))
            (listed(words, &found, wanted.is_some()))
            (pager.links())
        }
    };
    let place = here(&sifted, asked.cursor.as_deref());
    Ok(page.answer(StatusCode::OK, ("/stakers", &place), words.staker, &content))
}

/// A staker's key, and the address that follows from it.
fn names(words: &Messages, key: PublicKey, network: Network) -> Markup {
    html! {
        section {
            dl.facts {
                div.wide { dt { (words.public_key) } dd { code { (key) } } }
                div.wide { dt { (words.taproot_address) } dd {
                    @match network.taproot(key) {
                        Some(address) => code { (address) },
                        None => (words.off_the_curve),
                    }
                } }
            }
        }
    }
}

/// The states that can be chosen.
fn choice(words: &Messages, path: &str, wanted: Option<Step>) -> Markup {
    let here = |holds: bool| holds.then_some("page");
    html! {
        nav.tabs.small aria-label=(words.state) {
            a href=(path) aria-current=[here(wanted.is_none())] { (words.every_state) }
            @for state in Step::ALL {
                a href={ (path) "?state=" (state.word()) }
                    aria-current=[here(wanted == Some(state))] { (state_name(words, state)) }
            }
        }
    }
}

fn listed(words: &Messages, found: &ListPage<Line, StakerPlace>, is_sifted: bool) -> Markup {
    html! {
        @if !found.rows.is_empty() {
            (delegations(words, &found.rows, Other::Provider))
        } @else if is_sifted {
            (web::empty(words.none_in_state, words.none_in_state_advice))
        } @else {
            (web::empty(words.no_delegations, words.no_such_staking_advice))
        }
    }
}

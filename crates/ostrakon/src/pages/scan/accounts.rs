//! An account and its transactions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::{Address, Hash, Wanted};
use serde::Deserialize;
use store::Order;
use web::{Messages, format};

use super::page::{Page, Refused};
use super::parts::{LINES, Way};
use super::transactions::{self, Line};
use crate::pages::kit::Visitor;
use crate::server::App;

/// What is asked of the list.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    from: Option<u64>,
    direction: Option<String>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, address)): Path<(String, String)>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let address = page.address(&address)?;
    let wanted = match asked.direction.as_deref() {
        None | Some("") => None,
        Some(word) => {
            let known = Wanted::ALL.into_iter().find(|(name, _)| *name == word);
            Some(known.ok_or_else(|| page.bad(words.bad_choice, words.bad_choice_advice))?)
        }
    };
    let count = page.scan().account_count(address).await?;
    let blocks = page.scan().miner_count(address).await?;
    let (lines, way) = sift(&page, address, (count, asked.from), wanted.map(|it| it.1)).await?;
    let place = format!("/accounts/{}", address.base32(page.network));
    let path = page.path(&place);
    let listed = match wanted {
        None => path.clone(),
        Some((word, _)) => format!("{path}?direction={word}"),
    };
    let content = html! {
        h1 { (words.address) }
        (forms(&page, address))
        section {
            dl.facts {
                div { dt { (words.transactions) } dd { (format::count(count)) } }
                div { dt { (words.blocks) } dd {
                    @if blocks > 0 {
                        a href={ (page.path("/miners/")) (address.base32(page.network)) } {
                            (format::count(blocks))
                        }
                    } @else { "0" }
                } }
            }
        }
        section {
            h2 { (words.transactions) }
            nav.tabs.small aria-label=(words.direction) {
                @let here = |holds: bool| holds.then_some("page");
                a href=(path) aria-current=[here(wanted.is_none())] { (words.every_direction) }
                @for (word, each) in Wanted::ALL {
                    @let chosen = wanted.is_some_and(|(wanted, _)| wanted == word);
                    a href={ (path) "?direction=" (word) } aria-current=[here(chosen)] {
                        (name(words, each))
                    }
                }
            }
            @if lines.is_empty() && wanted.is_some() {
                (web::empty(words.none_in_direction, words.none_in_direction_advice))
            } @else {
                (transactions::table(&page, words.number, &lines)?)
            }
            @if let Some(way) = way { (way.links(words, &listed)) }
        }
    };
    let here = match (wanted, asked.from) {
        (None, None) => place,
        (None, Some(from)) => format!("{place}?from={from}"),
        (Some((word, _)), None) => format!("{place}?direction={word}"),
        (Some((word, _)), Some(from)) => format!("{place}?direction={word}&from={from}"),
    };
    page.answer(("/accounts", &here), words.address, &content)
}

/// An address in both of its forms.
pub(super) fn forms(page: &Page, address: Address) -> Markup {
    let words = page.words();
    html! {
        section {
            dl.facts {
                div.wide { dt { (words.base32_form) } dd {
                    code { (address.base32(page.network)) }
                } }
                div.wide { dt { (words.hex_form) } dd { code { (address) } } }
            }
        }
    }
}

/// What the account is asked for.
fn name(words: &Messages, wanted: Wanted) -> &'static str {
    match wanted {
        Wanted::In => words.incoming,
        Wanted::Out => words.outgoing,
        Wanted::Own => words.to_itself,
        Wanted::Create => words.creating,
    }
}

/// The lines that are wanted, and the way on: behind the last line that was looked at, since some
/// may be left out.
async fn sift(
    page: &Page,
    address: Address,
    (count, asked): (u64, Option<u64>),
    wanted: Option<Wanted>,
) -> Result<(Vec<Line>, Option<Way>), Refused> {
    let Some(way) = Way::new(count, asked) else { return Ok((Vec::new(), None)) };
    let stretch = (way.start, Order::Descending, LINES as usize);
    let found = page.scan().account_sifted(address, stretch, wanted).await?;
    let hashes: Vec<Hash> = found.lines.iter().map(|(_, line)| line.hash).collect();
    let known = page.scan().transactions_of(&hashes).await?;
    let way = match wanted {
        None => way,
        Some(_) => way.sifted(found.last.and_then(|last| last.checked_sub(1))),
    };
    let lines = found.lines.into_iter().zip(known);
    let lines = lines.map(|((at, it), known)| (at, it.hash, known, Some(it.direction)));
    Ok((lines.collect(), Some(way)))
}

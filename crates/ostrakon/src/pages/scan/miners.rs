//! Miners: in the order of their first blocks, and one with its blocks.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::Address;
use scan::tables::MinerFirst;
use store::Order;
use web::format;

use super::page::{Listed, Page, Refused};
use super::parts::{LINES, Way, here, scrolled};
use super::{accounts, blocks};
use crate::pages::kit::Visitor;
use crate::server::App;

/// A part of all blocks.
fn share(count: u64, all: u64) -> String {
    format!("{:.2} %", 100.0 * count as f64 / all.max(1) as f64)
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let totals = page.scan().totals().await?;
    let way = Way::new(totals.miners, asked.from);
    let found = match way {
        Some(way) => page.scan().miners((way.start, Order::Descending, LINES as usize)).await?,
        None => Vec::new(),
    };
    let addresses: Vec<Address> = found.iter().map(|(_, first)| first.address).collect();
    let counts = page.scan().miner_counts(&addresses).await?;
    let lines: Vec<_> = found.into_iter().zip(counts).collect();
    let content = html! {
        h1 { (words.miners) }
        section {
            @if lines.is_empty() { (web::empty(words.no_miners, words.no_blocks_advice)) }
            @else { (table(&page, &lines, totals.blocks)) }
            @if let Some(way) = way { (way.links(words, &page.path("/miners"))) }
        }
    };
    page.answer(("/miners", &here("/miners", asked.from)), words.miners, &content)
}

fn table(page: &Page, lines: &[((u64, MinerFirst), u64)], all: u64) -> Markup {
    let words = page.words();
    let table = html! {
        table {
            thead { tr {
                th.number { (words.number) } th { (words.miner) } th { (words.first_block) }
                th.number { (words.blocks) } th.number { (words.share) } th {}
            } }
            tbody {
                @for ((number, first), count) in lines {
                    tr {
                        td.number { (format::count(*number)) }
                        th scope="row" { (page.miner_link(first.address)) }
                        td { (page.block_link(first.block)) }
                        td.number { (format::count(*count)) }
                        td.number { (share(*count, all)) }
                        td { meter aria-label=(words.share) min="0" max=(all) value=(count) {} }
                    }
                }
            }
        }
    };
    scrolled(words.miners, &table)
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, address)): Path<(String, String)>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let address = page.address(&address)?;
    let count = page.scan().miner_count(address).await?;
    let all = page.scan().totals().await?.blocks;
    let way = Way::new(count, asked.from);
    let found = match way {
        None => Vec::new(),
        Some(way) => {
            page.scan().miner(address, (way.start, Order::Descending, LINES as usize)).await?
        }
    };
    let orders: Vec<u64> = found.iter().map(|(_, line)| line.order).collect();
    let lines = page.scan().blocks_at(&orders).await?;
    let lines: Vec<_> =
        orders.into_iter().zip(lines).filter_map(|(at, it)| Some((at, it?))).collect();
    let text = address.base32(page.network);
    let place = format!("/miners/{text}");
    let content = html! {
        h1 { (words.miner) }
        (accounts::forms(&page, address))
        section {
            dl.facts {
                div { dt { (words.blocks) } dd { (format::count(count)) } }
                div { dt { (words.share) } dd { (share(count, all)) } }
                div { dt { (words.address) } dd {
                    a href={ (page.path("/accounts/")) (text) } { (words.as_account) }
                } }
            }
        }
        section {
            h2 { (words.blocks) }
            (blocks::table(&page, &lines))
            @if let Some(way) = way { (way.links(words, &page.path(&place))) }
        }
    };
    page.answer(("/miners", &here(&place, asked.from)), words.miner, &content)
}

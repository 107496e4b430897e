//! Blocks: in the order of execution, and one with everything that is known of it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::Hash;
use scan::answers::BlockState;
use scan::query::BlockAnswer;
use scan::tables::BlockLine;
use store::Order;
use web::format;

use super::fields;
use super::page::{Listed, Page, Refused};
use super::parts::{LINES, Way, block_state, here, scrolled};
use super::transactions;
use crate::pages::kit::Visitor;
use crate::server::App;

/// Transactions of a block on one page.
const PACKED: u32 = 50;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let way = Way::new(page.scan().totals().await?.blocks, asked.from);
    let lines = match way {
        Some(way) => page.scan().blocks((way.start, Order::Descending, LINES as usize)).await?,
        None => Vec::new(),
    };
    page.list(("/blocks", words.blocks), (way, asked.from), &table(&page, &lines))
}

/// Blocks in a list, under their numbers in it.
pub(super) fn table(page: &Page, lines: &[(u64, BlockLine)]) -> Markup {
    let words = page.words();
    if lines.is_empty() {
        return web::empty(words.no_blocks, words.no_blocks_advice);
    }
    let table = html! {
        table {
            thead { tr {
                th.number { (words.order) } th { (words.block) } th.number { (words.epoch) }
                th { (words.time) } th { (words.miner) } th { (words.state) }
            } }
            tbody {
                @for (number, line) in lines {
                    tr {
                        td.number { (format::count(*number)) }
                        th scope="row" { (page.block_link(line.hash)) }
                        td.number { (page.epoch_link(line.epoch)) }
                        td.word { (web::time(line.timestamp)) }
                        td { (page.miner_link(line.miner)) }
                        td { (block_state(words, match line.is_pivot {
                            true => BlockState::Pivot,
                            false => BlockState::InEpoch,
                        })) }
                    }
                }
            }
        }
    };
    scrolled(words.blocks, &table)
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, hash)): Path<(String, String)>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let hash = page.hash(&hash)?;
    let Some(block) = page.scan().block(hash).await? else {
        return Err(page.missing(words.no_such_block, words.no_such_hash_advice));
    };
    let place = format!("/blocks/{hash}");
    let packed = packed(&page, (hash, &block), &place, asked.from).await?;
    let all = block.fields(hash)?;
    let content = html! {
        div.top { h1 { (words.block) } (block_state(words, block.state())) }
        p.lead { code.whole { (hash) } }
        (facts(&page, &block)?)
        (packed)
        section {
            h2 { (words.all_fields) }
            (page.fields(&all, &[]))
            p.note { (words.fields_note) }
        }
    };
    page.answer(("/blocks", &here(&place, asked.from)), words.block, &content)
}

/// What people look for first.
fn facts(page: &Page, block: &BlockAnswer) -> Result<Markup, Refused> {
    let words = page.words();
    let known = block.facts.fields.read()?;
    let number = |name: &str| fields::number(known.get(name));
    let time = number("timestamp").and_then(|at| u64::try_from(at).ok());
    let seat = block.seat;
    let referees = known.get("refereeHashes").and_then(|list| list.as_array());
    let referees: Vec<Hash> =
        referees.into_iter().flatten().filter_map(|it| fields::hash(Some(it))).collect();
    Ok(html! {
        section {
            dl.facts {
                div { dt { (words.epoch) } dd {
                    @if let Some(seat) = seat { (page.epoch_link(seat.epoch)) } @else { "–" }
                } }
                div { dt { (words.order) } dd {
                    (seat.and_then(|seat| seat.order).map_or("–".into(), format::count))
                } }
                div { dt { (words.time) } dd {
                    @if let Some(time) = time { (web::time(time)) } @else { "–" }
                } }
                div { dt { (words.miner) } dd {
                    @if let Some(it) = fields::address(known.get("miner")) {
                        (page.miner_link(it))
                    }
                } }
                div { dt { (words.transactions) } dd {
                    (format::count(block.facts.transactions.into()))
                } }
                div { dt { (words.new_transactions) } dd {
                    (seat.map_or("–".into(), |it| format::count(it.new_transactions.into())))
                } }
                div { dt { (words.difficulty) } dd {
                    (number("difficulty").map_or("–".into(), format::large))
                } }
                div { dt { (words.gas_used) } dd {
                    (block.result.map_or("–".into(), |result| format::large(result.gas_used)))
                } }
                div { dt { (words.parent) } dd {
                    @match fields::hash(known.get("parentHash")) {
                        Some(parent) if parent.0 != [0; 32] => (page.block_link(parent)),
                        _ => "–",
                    }
                } }
                div.wide { dt { (words.referees) } dd {
                    @if referees.is_empty() { "–" }
                    @for referee in &referees { (page.block_link(*referee)) " " }
                } }
            }
        }
    })
}

/// The transactions of a block from a place on.
async fn packed(
    page: &Page,
    (hash, block): (Hash, &BlockAnswer),
    place: &str,
    asked: Option<u64>,
) -> Result<Markup, Refused> {
    let words = page.words();
    let count = block.facts.transactions;
    let from = asked.and_then(|from| u32::try_from(from).ok()).unwrap_or(0);
    let from = from.min(count.saturating_sub(1));
    let hashes = page.scan().block_transactions(hash, from, PACKED as usize).await?;
    let known = page.scan().transactions_of(&hashes).await?;
    let lines = (u64::from(from)..).zip(hashes.into_iter().zip(known));
    let lines: Vec<_> = lines.map(|(at, (hash, known))| (at, hash, known, None)).collect();
    let path = page.path(place);
    let next = from.saturating_add(PACKED);
    Ok(html! {
        section {
            h2 { (words.transactions) }
            (transactions::table(page, words.place_in_block, &lines)?)
            @if from > 0 || next < count {
                nav.pager aria-label=(words.pages) {
                    @if from > 0 {
                        @let before = from.saturating_sub(PACKED);
                        a rel="prev" href={ (path) "?from=" (before) } { (words.previous) }
                    }
                    @if next < count {
                        a rel="next" href={ (path) "?from=" (next) } { (words.following) }
                    }
                }
            }
        }
    })
}

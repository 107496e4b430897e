//! Epochs: the list, one of them, and the chain of their pivots.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::Hash;
use scan::query::BlockAnswer;
use scan::tables::{BlockLine, EpochRow};
use store::Order;
use timeline::Lane;
use web::format;

use super::fields;
use super::page::{Listed, Page, Refused};
use super::parts::{LINES, Way, block_state, scrolled};
use crate::pages::kit::Visitor;
use crate::server::App;

/// An epoch in a list.
struct Line {
    number: u64,
    row: EpochRow,
    /// Transactions that no epoch before it packs.
    transactions: u64,
    pivot: Option<BlockLine>,
}

/// Epochs from one on downwards.
async fn lines(page: &Page, start: u64, limit: u64) -> Result<Vec<Line>, Refused> {
    let scan = page.scan();
    // One more: what is new in an epoch is the difference to the one below.
    let rows = scan.epochs((start, Order::Descending, limit as usize + 1)).await?;
    let shown = rows.iter().take(limit as usize);
    // The pivot is executed last, so it has the last place of its epoch.
    let orders: Vec<u64> =
        shown.clone().map(|(_, row)| row.totals.blocks.saturating_sub(1)).collect();
    let pivots = scan.blocks_at(&orders).await?;
    let line = |(index, ((number, row), pivot)): (usize, (&(u64, EpochRow), _))| {
        let below = rows.get(index + 1).map_or(0, |(_, row)| row.totals.transactions);
        let transactions = row.totals.transactions.saturating_sub(below);
        Line { number: *number, row: row.clone(), transactions, pivot }
    };
    Ok(shown.zip(pivots).enumerate().map(line).collect())
}

/// The newest epochs, for the chain's own page.
pub(super) async fn newest(page: &Page, limit: u64) -> Result<Markup, Refused> {
    let words = page.words();
    let lines = match page.scan().head(Lane::MINED) {
        Some(head) => lines(page, head, limit).await?,
        None => Vec::new(),
    };
    Ok(html! {
        h2 { (words.newest_epochs) }
        (table(page, &lines))
        @if !lines.is_empty() {
            p.note { a href=(page.path("/epochs")) { (words.all_epochs) " →" } }
        }
    })
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let way = Way::new(page.scan().head(Lane::MINED).map_or(0, |head| head + 1), asked.from);
    let lines = match way {
        Some(way) => lines(&page, way.start, LINES).await?,
        None => Vec::new(),
    };
    page.list(("/epochs", words.epochs), (way, asked.from), &table(&page, &lines))
}

fn table(page: &Page, lines: &[Line]) -> Markup {
    let words = page.words();
    if lines.is_empty() {
        return web::empty(words.no_epochs, words.no_blocks_advice);
    }
    let table = html! {
        table {
            thead { tr {
                th.number { (words.epoch) } th { (words.time) } th.number { (words.blocks) }
                th.number { (words.new_transactions) } th { (words.pivot_block) }
                th { (words.miner) } th { (words.state) }
            } }
            tbody {
                @for line in lines {
                    tr {
                        th.number scope="row" { (page.epoch_link(line.number)) }
                        td.word { @if let Some(it) = line.pivot { (web::time(it.timestamp)) } }
                        td.number {
                            (format::count(line.row.blocks.len() as u64))
                            @if !line.row.skipped.is_empty() { " +" (line.row.skipped.len()) }
                        }
                        td.number { (format::count(line.transactions)) }
                        td { @if let Some(it) = line.pivot { (page.block_link(it.hash)) } }
                        td { @if let Some(it) = line.pivot { (page.miner_link(it.miner)) } }
                        td { (page.epoch_state(line.number)) }
                    }
                }
            }
        }
    };
    scrolled(words.epochs, &table)
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, number)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let number = page.number(&number)?;
    let head = page.scan().head(Lane::MINED);
    let Some(row) = page.scan().epoch(number).await? else {
        let newest = head.map_or_else(|| "–".to_owned(), format::count);
        let advice = format!("{} {newest}.", words.no_such_epoch_advice);
        return Err(page.missing(words.no_such_epoch, &advice));
    };
    let below = match number.checked_sub(1) {
        Some(below) => page.scan().epoch(below).await?.map(|row| row.totals),
        None => None,
    };
    let below = below.unwrap_or_default();
    let blocks = page.scan().blocks_of(&row.blocks).await?;
    let skipped = page.scan().blocks_of(&row.skipped).await?;
    let fresh = row.totals.transactions.saturating_sub(below.transactions);
    let difficulty = row.totals.difficulty.saturating_sub(below.difficulty);
    let title = format!("{} {}", words.epoch, format::count(number));
    let content = html! {
        div.top { h1 { (title) } (page.epoch_state(number)) }
        nav.pager aria-label=(words.pages) {
            @if let Some(below) = number.checked_sub(1) {
                a rel="prev" href={ (page.path("/epochs/")) (below) } { (words.previous) }
            }
            @if head.is_some_and(|head| number < head) {
                a rel="next" href={ (page.path("/epochs/")) (number + 1) } { (words.following) }
            }
            a href={ (page.path("/graph")) (around(number, head)) } { (words.tree_graph) }
        }
        section {
            dl.facts {
                div { dt { (words.blocks) } dd { (format::count(row.blocks.len() as u64)) } }
                div { dt { (words.new_transactions) } dd { (format::count(fresh)) } }
                div { dt { (words.difficulty) } dd { (format::large(difficulty)) } }
                div { dt { (words.pivot_block) } dd {
                    @if let Some(pivot) = row.blocks.last() { (page.block_link(*pivot)) }
                } }
            }
        }
        section { h2 { (words.blocks) } (answers(&page, &row.blocks, &blocks)) }
        @if !row.skipped.is_empty() {
            section {
                h2 { (words.skipped_blocks) }
                (answers(&page, &row.skipped, &skipped))
                p.note { (words.skipped_note) }
            }
        }
    };
    page.answer(("/epochs", &format!("/epochs/{number}")), &title, &content)
}

/// The stretch of the graph around an epoch.
fn around(number: u64, head: Option<u64>) -> String {
    let to = number.saturating_add(12).min(head.unwrap_or(number));
    format!("?from={}&to={to}", number.saturating_sub(11))
}

/// A table of blocks with where they stand.
pub(super) fn answers(page: &Page, hashes: &[Hash], blocks: &[Option<BlockAnswer>]) -> Markup {
    let words = page.words();
    let table = html! {
        table {
            thead { tr {
                th.number { (words.order) } th { (words.block) } th { (words.time) }
                th { (words.miner) } th.number { (words.transactions) }
                th.number { (words.gas_used) } th { (words.state) }
            } }
            tbody {
                @for (hash, block) in hashes.iter().zip(blocks) {
                    @let known = block.as_ref().and_then(|it| it.facts.fields.read().ok());
                    @let known = known.unwrap_or_default();
                    @let seat = block.as_ref().and_then(|it| it.seat);
                    tr {
                        td.number {
                            (seat.and_then(|seat| seat.order).map_or("–".into(), format::count))
                        }
                        th scope="row" { (page.block_link(*hash)) }
                        td.word {
                            @if let Some(at) = fields::number(known.get("timestamp")) {
                                (web::time(u64::try_from(at).unwrap_or(0)))
                            }
                        }
                        td { @if let Some(it) = fields::address(known.get("miner")) {
                            (page.miner_link(it))
                        } }
                        td.number { @if let Some(it) = block {
                            (format::count(it.facts.transactions.into()))
                        } }
                        td.number { @if let Some(it) = block.as_ref().and_then(|it| it.result) {
                            (format::large(it.gas_used))
                        } @else { "–" } }
                        td { @if let Some(it) = block { (block_state(words, it.state())) } }
                    }
                }
            }
        }
    };
    scrolled(words.blocks, &table)
}

pub(super) async fn pivots(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let way = Way::new(page.scan().head(Lane::MINED).map_or(0, |head| head + 1), asked.from);
    let (first, hashes) = match way {
        None => (0, Vec::new()),
        Some(way) => {
            let first = (way.start + 1).saturating_sub(LINES);
            (first, page.scan().pivot_chain(first, way.start + 1 - first).await?)
        }
    };
    let blocks = page.scan().blocks_of(&hashes).await?;
    let lines: Vec<_> = (first..).zip(hashes.iter().zip(&blocks)).collect();
    let table = pivot_table(&page, &lines);
    page.list(("/pivot-chain", words.pivot_chain), (way, asked.from), &table)
}

/// A pivot block under the number of its epoch.
type Pivot<'a> = (u64, (&'a Hash, &'a Option<BlockAnswer>));

/// Pivots, the newest first.
fn pivot_table(page: &Page, lines: &[Pivot<'_>]) -> Markup {
    let words = page.words();
    if lines.is_empty() {
        return web::empty(words.no_epochs, words.no_blocks_advice);
    }
    let table = html! {
        table {
            thead { tr {
                th.number { (words.epoch) } th { (words.pivot_block) } th { (words.time) }
                th { (words.miner) } th.number { (words.difficulty) } th { (words.parent) }
            } }
            tbody {
                @for (number, (hash, block)) in lines.iter().rev() {
                    @let known = block.as_ref().and_then(|it| it.facts.fields.read().ok());
                    @let known = known.unwrap_or_default();
                    @let number_of = |name: &str| fields::number(known.get(name));
                    tr {
                        td.number { (page.epoch_link(*number)) }
                        th scope="row" { (page.block_link(**hash)) }
                        td.word { @if let Some(at) = number_of("timestamp") {
                            (web::time(u64::try_from(at).unwrap_or(0)))
                        } }
                        td { @if let Some(it) = fields::address(known.get("miner")) {
                            (page.miner_link(it))
                        } }
                        td.number { @if let Some(it) = number_of("difficulty") {
                            (format::large(it))
                        } }
                        td { @if let Some(it) = fields::hash(known.get("parentHash")) {
                            @if *number == 0 { "–" } @else { (page.block_link(it)) }
                        } }
                    }
                }
            }
        }
    };
    scrolled(words.pivot_chain, &table)
}

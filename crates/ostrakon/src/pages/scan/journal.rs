//! The journal: which switches popped epochs, and where everything in these went.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::Hash;
use scan::journal::{self, PoppedEpoch, SwitchLine};
use scan::query::{BlockAnswer, TransactionAnswer};
use web::format;

use super::page::{Listed, Page, Refused};
use super::parts::{LINES, block_state, here, scrolled};
use crate::pages::kit::Visitor;
use crate::server::App;

/// Transactions of a switch that are shown.
const TRANSACTIONS: usize = 500;

/// First and last of a run of epochs.
fn extent((first, last): (u64, u64)) -> String {
    match first == last {
        true => format::count(first),
        false => format!("{} – {}", format::count(first), format::count(last)),
    }
}

fn depth(line: &SwitchLine) -> u64 {
    line.popped.1.saturating_sub(line.popped.0) + 1
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let newest = page.view.tip().switches;
    // Switches are asked for below a number; people name the first one they see.
    let before = asked.from.map_or(newest, |from| from.saturating_add(1).min(newest));
    let found = journal::page(page.explorer.timeline(), before, LINES as usize).await?;
    let path = page.path("/journal");
    let later = before < newest;
    let content = html! {
        @if found.switches.is_empty() {
            (web::empty(words.no_switches, words.no_switches_advice))
        } @else {
            (scrolled(words.switches, &switches(&page, &found.switches)))
        }
        @if later || found.next.is_some() {
            nav.pager aria-label=(words.pages) {
                @if later { a href=(path) { (words.newest) } }
                @if let Some(next) = found.next.and_then(|next| next.checked_sub(1)) {
                    a rel="next" href={ (path) "?from=" (next) } { (words.older) }
                }
            }
        }
    };
    let content = html! {
        h1 { (words.journal) }
        @if later { section { (content) } } @else { (page.live("journal", &content)) }
    };
    page.answer(("/journal", &here("/journal", asked.from)), words.journal, &content)
}

fn switches(page: &Page, lines: &[(u64, SwitchLine)]) -> Markup {
    let words = page.words();
    html! {
        table {
            thead { tr {
                th.number { (words.switch) } th.number { (words.depth) }
                th { (words.popped) } th { (words.pushed) }
            } }
            tbody {
                @for (number, line) in lines {
                    tr {
                        th.number scope="row" {
                            a href={ (page.path("/journal/")) (number) } {
                                (format::count(*number))
                            }
                        }
                        td.number { (format::count(depth(line))) }
                        td.word { (extent(line.popped)) }
                        td.word { (line.pushed.map_or("–".into(), extent)) }
                    }
                }
            }
        }
    }
}

/// A block that was popped, with the epoch it was in.
type Popped = (u64, Hash, Option<BlockAnswer>);

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, number)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let number = page.number(&number)?;
    let Some((line, epochs)) = journal::switch(page.explorer.timeline(), number).await? else {
        return Err(page.missing(words.no_such_switch, words.no_such_switch_advice));
    };
    let blocks = popped(&page, &epochs).await?;
    let (hashes, more) = packed(&page, &blocks).await?;
    let known = page.scan().transactions_of(&hashes).await?;
    let title = format!("{} {}", words.switch, format::count(number));
    let content = html! {
        h1 { (title) }
        section {
            dl.facts {
                div { dt { (words.popped) } dd { (extent(line.popped)) } }
                div { dt { (words.pushed) } dd { (line.pushed.map_or("–".into(), extent)) } }
                div { dt { (words.depth) } dd { (format::count(depth(&line))) } }
                div { dt { (words.blocks) } dd { (format::count(blocks.len() as u64)) } }
            }
        }
        section {
            h2 { (words.popped_blocks) }
            @if blocks.is_empty() { (web::empty(words.no_blocks, words.no_switches_advice)) }
            @else { (scrolled(words.popped_blocks, &block_table(&page, &blocks))) }
        }
        section {
            h2 { (words.popped_transactions) }
            @if hashes.is_empty() {
                (web::empty(words.no_transactions, words.no_transactions_advice))
            } @else {
                @let table = transaction_table(&page, &hashes, &known);
                (scrolled(words.popped_transactions, &table))
            }
            @if more { p.note { (words.limited) " " (format::count(TRANSACTIONS as u64)) } }
        }
    };
    page.answer(("/journal", &format!("/journal/{number}")), &title, &content)
}

async fn popped(page: &Page, epochs: &[(u64, PoppedEpoch)]) -> Result<Vec<Popped>, Refused> {
    let places: Vec<(u64, Hash)> = epochs
        .iter()
        .flat_map(|(epoch, popped)| popped.blocks.iter().map(move |hash| (*epoch, *hash)))
        .collect();
    let hashes: Vec<Hash> = places.iter().map(|(_, hash)| *hash).collect();
    let known = page.scan().blocks_of(&hashes).await?;
    let with_answer = |((epoch, hash), known)| (epoch, hash, known);
    Ok(places.into_iter().zip(known).map(with_answer).collect())
}

/// The transactions of popped blocks, each once, and whether there are more.
async fn packed(page: &Page, blocks: &[Popped]) -> Result<(Vec<Hash>, bool), Refused> {
    let mut found: Vec<Hash> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (_, hash, known) in blocks {
        if known.as_ref().is_none_or(|known| known.facts.transactions == 0) {
            continue;
        }
        // One more than is shown tells whether there are more.
        let hashes = page.scan().block_transactions(*hash, 0, TRANSACTIONS + 1).await?;
        found.extend(hashes.into_iter().filter(|hash| seen.insert(*hash)));
        if found.len() > TRANSACTIONS {
            found.truncate(TRANSACTIONS);
            return Ok((found, true));
        }
    }
    Ok((found, false))
}

fn block_table(page: &Page, blocks: &[Popped]) -> Markup {
    let words = page.words();
    html! {
        table {
            thead { tr {
                th.number { (words.was_in_epoch) } th { (words.block) } th { (words.state) }
                th.number { (words.now_in_epoch) } th.number { (words.transactions) }
            } }
            tbody {
                @for (epoch, hash, known) in blocks {
                    tr {
                        td.number { (format::count(*epoch)) }
                        th scope="row" { (page.block_link(*hash)) }
                        td { @if let Some(it) = known { (block_state(words, it.state())) } }
                        td.number {
                            @match known.as_ref().and_then(|it| it.seat) {
                                Some(seat) => (page.epoch_link(seat.epoch)),
                                None => "–",
                            }
                        }
                        td.number { @if let Some(it) = known {
                            (format::count(it.facts.transactions.into()))
                        } }
                    }
                }
            }
        }
    }
}

fn transaction_table(page: &Page, hashes: &[Hash], known: &[Option<TransactionAnswer>]) -> Markup {
    let words = page.words();
    html! {
        table {
            thead { tr {
                th { (words.transaction) } th { (words.state) } th { (words.now_in_block) }
                th.number { (words.now_in_epoch) }
            } }
            tbody {
                @for (hash, known) in hashes.iter().zip(known) {
                    @let executed = known.as_ref().and_then(|it| it.receipt.as_ref());
                    @let executed = executed.map(|it| it.block);
                    @let first = known.as_ref().and_then(|it| it.packings.first());
                    @let now = executed.or(first.map(|(_, it)| it.block));
                    tr {
                        th scope="row" { (page.transaction_link(*hash)) }
                        td { @match (executed, first) {
                            (Some(_), _) => span.badge.good { (words.executed) },
                            (None, Some(_)) => span.badge { (words.mined) },
                            (None, None) => span.badge.watch { (words.not_packed) },
                        } }
                        td { @match now {
                            Some(block) => (page.block_link(block)),
                            None => "–",
                        } }
                        td.number { (now_in_epoch(page, known.as_ref(), now)) }
                    }
                }
            }
        }
    }
}

/// The epoch of the block that a transaction is in now.
fn now_in_epoch(page: &Page, known: Option<&TransactionAnswer>, now: Option<Hash>) -> Markup {
    let packings = known.map(|it| it.packings.as_slice()).unwrap_or_default();
    let found = packings.iter().find(|(_, packing)| Some(packing.block) == now);
    match found {
        Some((_, packing)) => page.epoch_link(packing.epoch),
        None => html! { "–" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_depths_are_named() {
        let line = SwitchLine { popped: (10, 12), pushed: Some((10, 10)) };
        assert_eq!(depth(&line), 3);
        assert_eq!(extent(line.popped), "10 – 12");
        assert_eq!(line.pushed.map(extent), Some("10".to_owned()));
    }
}

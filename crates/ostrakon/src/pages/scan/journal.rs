//! The journal: which switches popped epochs, and where everything in these went.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::Hash;
use scan::journal::{self, SwitchLine};
use scan::popped::{self, Place, Popped, PoppedBlock, PoppedTransaction};
use scan::query::{BlockAnswer, TransactionAnswer};
use serde::Deserialize;
use web::{Messages, format};

use super::page::{Listed, Page, Refused};
use super::parts::{LINES, block_state, here, scrolled};
use crate::pages::kit::Visitor;
use crate::server::App;

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

/// Where the two lists of a switch begin.
#[derive(Debug, Deserialize)]
pub(super) struct Places {
    blocks: Option<String>,
    transactions: Option<String>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

/// A place as addresses have it: three numbers.
fn written(place: Place) -> String {
    place.numbers().map(|number| number.to_string()).join("-")
}

/// The place that a list begins at; none when the text is no place.
fn place(text: Option<&str>) -> Option<Place> {
    let Some(text) = text else { return Some(Place::default()) };
    let numbers: Option<Vec<u64>> = text.split('-').map(|number| number.parse().ok()).collect();
    let place = Place::of(numbers?.try_into().ok()?)?;
    // The same place has one address.
    Some(place).filter(|place| written(*place) == text)
}

/// The address of a switch with where its lists begin.
fn address(path: &str, blocks: Place, transactions: Place) -> String {
    let begun = [("blocks", blocks), ("transactions", transactions)];
    let begun = begun.into_iter().filter(|(_, place)| *place != Place::default());
    let query: Vec<String> = begun.map(|(name, it)| format!("{name}={}", written(it))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, number)): Path<(String, String)>,
    Query(asked): Query<Places>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let number = page.number(&number)?;
    let timeline = page.explorer.timeline();
    let Some(line) = journal::switch(timeline, number).await? else {
        return Err(page.missing(words.no_such_switch, words.no_such_switch_advice));
    };
    let begins = (place(asked.blocks.as_deref()), place(asked.transactions.as_deref()));
    let (Some(blocks_from), Some(packed_from)) = begins else {
        return Err(page.bad(words.bad_choice, words.bad_choice_advice));
    };
    let counts = popped::counts(timeline, number).await?;
    let blocks = popped::blocks(timeline, number, blocks_from, LINES as usize).await?;
    let packed = popped::transactions(timeline, number, packed_from, LINES as usize).await?;
    let here = format!("/journal/{number}");
    let path = page.path(&here);
    let first = Place::default();
    let to_blocks = |place| address(&path, place, packed_from);
    let to_packed = |place| address(&path, blocks_from, place);
    let title = format!("{} {}", words.switch, format::count(number));
    let content = html! {
        h1 { (title) }
        section {
            dl.facts {
                div { dt { (words.popped) } dd { (extent(line.popped)) } }
                div { dt { (words.pushed) } dd { (line.pushed.map_or("–".into(), extent)) } }
                div { dt { (words.depth) } dd { (format::count(depth(&line))) } }
                div { dt { (words.blocks) } dd { (format::count(counts.blocks)) } }
            }
        }
        section {
            h2 { (words.popped_blocks) }
            (block_list(&page, &blocks.items).await?)
            (pager(words, (blocks_from != first).then(|| to_blocks(first)),
                blocks.next.map(to_blocks)))
        }
        section {
            h2 { (words.popped_transactions) }
            (transaction_list(&page, &packed).await?)
            (pager(words, (packed_from != first).then(|| to_packed(first)),
                packed.next.map(to_packed)))
        }
    };
    page.answer(("/journal", &address(&here, blocks_from, packed_from)), &title, &content)
}

/// The links to the first page and to the next one.
fn pager(words: &Messages, first: Option<String>, next: Option<String>) -> Markup {
    html! {
        @if first.is_some() || next.is_some() {
            nav.pager aria-label=(words.pages) {
                @if let Some(first) = first { a href=(first) { (words.first_page) } }
                @if let Some(next) = next { a rel="next" href=(next) { (words.following) } }
            }
        }
    }
}

async fn block_list(page: &Page, blocks: &[PoppedBlock]) -> Result<Markup, Refused> {
    let words = page.words();
    if blocks.is_empty() {
        return Ok(web::empty(words.no_blocks, words.no_switches_advice));
    }
    let hashes: Vec<Hash> = blocks.iter().map(|block| block.hash).collect();
    let known = page.scan().blocks_of(&hashes).await?;
    Ok(scrolled(words.popped_blocks, &block_table(page, blocks, &known)))
}

async fn transaction_list(
    page: &Page,
    packed: &Popped<PoppedTransaction>,
) -> Result<Markup, Refused> {
    let words = page.words();
    if packed.items.is_empty() {
        let none = || web::empty(words.no_transactions, words.no_transactions_advice);
        // Behind many empty blocks there may still be some: then there is only a link to them.
        return Ok(packed.next.map_or_else(none, |_| html! {}));
    }
    let hashes: Vec<Hash> = packed.items.iter().map(|transaction| transaction.hash).collect();
    let known = page.scan().transactions_of(&hashes).await?;
    Ok(scrolled(words.popped_transactions, &transaction_table(page, &packed.items, &known)))
}

fn block_table(page: &Page, blocks: &[PoppedBlock], known: &[Option<BlockAnswer>]) -> Markup {
    let words = page.words();
    html! {
        table {
            thead { tr {
                th.number { (words.was_in_epoch) } th { (words.block) } th { (words.state) }
                th.number { (words.now_in_epoch) } th.number { (words.transactions) }
            } }
            tbody {
                @for (block, known) in blocks.iter().zip(known) {
                    tr {
                        td.number { (format::count(block.place.epoch)) }
                        th scope="row" { (page.block_link(block.hash)) }
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

fn transaction_table(
    page: &Page,
    packed: &[PoppedTransaction],
    known: &[Option<TransactionAnswer>],
) -> Markup {
    let words = page.words();
    html! {
        table {
            thead { tr {
                th.number { (words.was_in_epoch) } th { (words.transaction) }
                th { (words.state) } th { (words.now_in_block) }
                th.number { (words.now_in_epoch) }
            } }
            tbody {
                @for (packed, known) in packed.iter().zip(known) {
                    @let executed = known.as_ref().and_then(|it| it.receipt.as_ref());
                    @let executed = executed.map(|it| it.block);
                    @let first = known.as_ref().and_then(|it| it.packings.first());
                    @let now = executed.or(first.map(|(_, it)| it.block));
                    tr {
                        td.number { (format::count(packed.place.epoch)) }
                        th scope="row" { (page.transaction_link(packed.hash)) }
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

    #[test]
    fn a_place_has_one_address() {
        let check = |text, expected| assert_eq!(place(text).map(Place::numbers), expected);
        check(None, Some([0, 0, 0]));
        check(Some("12-3-45"), Some([12, 3, 45]));
        for bad in ["", "12", "12-3", "12-3-45-6", "12-3-+4", "012-3-4", "1-4294967296-0", "a-b-c"]
        {
            check(Some(bad), None);
        }
        let (first, second) = (Place::default(), Place { epoch: 12, block: 3, index: 45 });
        assert_eq!(address("/journal/7", first, first), "/journal/7");
        assert_eq!(address("/journal/7", first, second), "/journal/7?transactions=12-3-45");
        let both = "/journal/7?blocks=12-3-45&transactions=12-3-45";
        assert_eq!(address("/journal/7", second, second), both);
    }
}

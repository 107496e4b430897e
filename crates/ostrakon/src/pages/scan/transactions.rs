//! Transactions: in the order of first packings, and one with everything that is known of it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Path, Query};
use scan::Hash;
use scan::query::TransactionAnswer;
use scan::tables::Direction;
use serde_json::{Map, Value};
use store::Order;
use web::{Messages, format};

use super::fields;
use super::page::{Listed, Page, Refused};
use super::parts::{LINES, Way, amount, scrolled};
use crate::pages::kit::Visitor;
use crate::server::App;

/// A line of a list: its number there, the transaction, and what it is to an account.
pub(super) type Line = (u64, Hash, Option<TransactionAnswer>, Option<Direction>);

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let way = Way::new(page.scan().totals().await?.transactions, asked.from);
    let found = match way {
        None => Vec::new(),
        Some(way) => {
            page.scan().transactions((way.start, Order::Descending, LINES as usize)).await?
        }
    };
    let hashes: Vec<Hash> = found.iter().map(|(_, line)| line.hash).collect();
    let known = page.scan().transactions_of(&hashes).await?;
    let lines: Vec<Line> =
        found.into_iter().zip(known).map(|((at, it), known)| (at, it.hash, known, None)).collect();
    let table = table(&page, words.order, &lines)?;
    page.list(("/transactions", words.transactions), (way, asked.from), &table)
}

/// What a transaction is to an account.
fn direction(words: &Messages, direction: Direction) -> &'static str {
    match direction {
        Direction::In => words.incoming,
        Direction::Out => words.outgoing,
        Direction::Own => words.to_itself,
        Direction::Create => words.creating,
    }
}

/// Transactions in a list; `number` names the first column.
pub(super) fn table(page: &Page, number: &str, lines: &[Line]) -> Result<Markup, Refused> {
    let words = page.words();
    if lines.is_empty() {
        return Ok(web::empty(words.no_transactions, words.no_transactions_advice));
    }
    let directed = lines.iter().any(|(.., direction)| direction.is_some());
    let table = html! {
        table {
            thead { tr {
                th.number { (number) } th { (words.transaction) }
                @if directed { th { (words.direction) } }
                th { (words.sender) } th { (words.recipient) } th.number { (words.value) }
                th.number { (words.epoch) } th { (words.time) } th { (words.outcome) }
            } }
            tbody {
                @for (number, hash, known, way) in lines {
                    @let fields = match known {
                        Some(known) => known.facts.fields.read()?,
                        None => Map::new(),
                    };
                    @let first = known.as_ref().and_then(|it| it.packings.first());
                    tr {
                        td.number { (format::count(*number)) }
                        th scope="row" { (page.transaction_link(*hash)) }
                        @if directed { td.word {
                            @if let Some(way) = way { (direction(words, *way)) }
                        } }
                        (parties(page, &fields))
                        td.number { @if let Some(it) = fields::number(fields.get("value")) {
                            (amount(it))
                        } }
                        td.number { @if let Some((_, it)) = first {
                            (page.epoch_link(it.epoch))
                        } @else { "–" } }
                        td.word { @if let Some((_, it)) = first { (web::time(it.timestamp)) } }
                        td { @if let Some(it) = known { (outcome(words, it)?) } }
                    }
                }
            }
        }
    };
    Ok(scrolled(words.transactions, &table))
}

/// Two cells: who sends, and who receives.
fn parties(page: &Page, known: &Map<String, Value>) -> Markup {
    html! {
        td { @if let Some(it) = fields::address(known.get("from")) { (page.account_link(it)) } }
        td.word {
            @match fields::address(known.get("to")) {
                Some(it) => (page.account_link(it)),
                None => (page.words().creates_contract),
            }
        }
    }
}

/// What came of it.
fn outcome(words: &Messages, known: &TransactionAnswer) -> Result<Markup, Refused> {
    let status = match &known.receipt {
        None => None,
        Some(receipt) => Some(fields::number(receipt.fields.read()?.get("outcomeStatus"))),
    };
    let founding = known.packings.first().is_some_and(|(_, it)| it.epoch == 0);
    Ok(html! {
        @match status {
            Some(Some(0)) => span.badge.good { (words.succeeded) },
            Some(_) => span.badge.change { (words.failed_execution) },
            None if founding => span.badge { (words.genesis_outcome) },
            None if known.packings.is_empty() => span.badge.watch { (words.not_packed) },
            None => span.badge { (words.not_executed) },
        }
    })
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((chain, hash)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let hash = page.hash(&hash)?;
    let Some(known) = page.scan().transaction(hash).await? else {
        return Err(page.missing(words.no_such_transaction, words.no_such_hash_advice));
    };
    let mut all = known.fields(hash)?;
    let receipt = match all.remove("receipt") {
        Some(Value::Object(receipt)) => Some(receipt),
        _ => None,
    };
    let content = html! {
        div.top { h1 { (words.transaction) } (outcome(words, &known)?) }
        p.lead { code.whole { (hash) } }
        (facts(&page, &all, receipt.as_ref()))
        (receipt_of(&page, receipt.as_ref()))
        (packings(&page, &known))
        section {
            h2 { (words.all_fields) }
            (page.fields(&all, &["packings"]))
            p.note { (words.fields_note) }
        }
    };
    let place = format!("/transactions/{hash}");
    page.answer(("/transactions", &place), words.transaction, &content)
}

/// What people look for first.
fn facts(page: &Page, all: &Map<String, Value>, receipt: Option<&Map<String, Value>>) -> Markup {
    let words = page.words();
    let number = |name: &str| fields::number(all.get(name));
    let of_receipt = |name: &str| receipt.and_then(|known| known.get(name));
    let block = |name: &str| match fields::hash(all.get(name)) {
        Some(block) => page.block_link(block),
        None => html! { "–" },
    };
    html! {
        section {
            dl.facts {
                div { dt { (words.sender) } dd {
                    @if let Some(it) = fields::address(all.get("from")) { (page.account_link(it)) }
                } }
                div { dt { (words.recipient) } dd {
                    @match fields::address(all.get("to")) {
                        Some(it) => (page.account_link(it)),
                        None => (words.creates_contract),
                    }
                } }
                div { dt { (words.value) } dd {
                    @if let Some(it) = number("value") { (amount(it)) }
                } }
                div { dt { (words.fee) } dd {
                    @match fields::number(of_receipt("gasFee")) {
                        Some(fee) => (amount(fee)),
                        None => "–",
                    }
                } }
                div { dt { (words.epoch) } dd {
                    @match number("epochNumber").and_then(|it| u64::try_from(it).ok()) {
                        Some(epoch) => (page.epoch_link(epoch)),
                        None => (words.not_packed),
                    }
                } }
                div { dt { (words.time) } dd {
                    @match number("timestamp").and_then(|it| u64::try_from(it).ok()) {
                        Some(at) => (web::time(at)),
                        None => "–",
                    }
                } }
                div { dt { (words.first_block) } dd { (block("firstBlockHash")) } }
                div { dt { (words.executing_block) } dd { (block("blockHash")) } }
                @if let Some(it) = fields::address(all.get("contractCreated")) {
                    div { dt { (words.contract_created) } dd { (page.account_link(it)) } }
                }
            }
        }
    }
}

fn receipt_of(page: &Page, receipt: Option<&Map<String, Value>>) -> Markup {
    let words = page.words();
    let logs = receipt.and_then(|known| known.get("logs")?.as_array());
    html! {
        section {
            h2 { (words.receipt) }
            @match receipt {
                None => (web::empty(words.receipt_none, words.receipt_none_advice)),
                Some(known) => (page.fields(known, &["logs", "logsBloom", "transactionHash"])),
            }
        }
        @if let Some(logs) = logs.filter(|logs| !logs.is_empty()) {
            section {
                h2 { (words.logs) }
                @for (index, log) in logs.iter().enumerate() {
                    article {
                        h3 { (format::count(index as u64)) }
                        @if let Some(log) = log.as_object() { (page.fields(log, &[])) }
                    }
                }
            }
        }
    }
}

/// Every block of the chain that packs it.
fn packings(page: &Page, known: &TransactionAnswer) -> Markup {
    let words = page.words();
    let executed = known.receipt.as_ref().map(|receipt| receipt.block);
    let table = html! {
        table {
            thead { tr {
                th { (words.block) } th.number { (words.place_in_block) }
                th.number { (words.epoch) } th { (words.time) } th { (words.state) }
            } }
            tbody {
                @for (at, (index, packing)) in known.packings.iter().enumerate() {
                    tr {
                        th scope="row" { (page.block_link(packing.block)) }
                        td.number { (format::count((*index).into())) }
                        td.number { (page.epoch_link(packing.epoch)) }
                        td.word { (web::time(packing.timestamp)) }
                        td {
                            @if at == 0 { span.badge.good { (words.first_block) } " " }
                            @if executed == Some(packing.block) {
                                span.badge.good { (words.executing_block) }
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        section {
            h2 { (words.packings) }
            @if known.packings.is_empty() {
                (web::empty(words.not_packed, words.no_transactions_advice))
            } @else {
                (scrolled(words.packings, &table))
                p.note { (words.packings_note) }
            }
        }
    }
}

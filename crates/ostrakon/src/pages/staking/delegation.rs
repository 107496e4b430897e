//! A delegation: everything that is known of it, what happened to it, and where it counts.

use std::sync::Arc;

use ::staking::delegation::{Delegation, UnbondingRequest};
use ::staking::derive::Calculation;
use ::staking::event::{Slashing, Staked, Unbonding, Withdrawal};
use ::staking::hex::Hex;
use ::staking::{Blocks, BtcHeight, LifeEvent, LockState, TxHash};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::Path;
use web::{Messages, format};

use super::page::{Page, Refused};
use super::parts::{amount, provider_link, staker_link, state, transaction_link};
use crate::pages::kit::{Visitor, scrolled};
use crate::server::App;

/// The calculations of a lock record, and whether each was performed.
type Performed = Vec<(Calculation, bool)>;
/// The name of a field, and what it holds.
type Field = (&'static str, Markup);

pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(hash): Path<String>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let hash = page.hash(&hash)?;
    let Some(known) = app.staking.delegation(hash).await? else {
        return Err(page.missing(words.no_such_delegation));
    };
    let active = app.staking.lock(hash, LockState::Active).await?;
    let unbonded = app.staking.lock(hash, LockState::Unbonded).await?;
    let content = html! {
        div.top { h1 { (words.delegation) } (state(words, known.state())) }
        p.lead { code.whole { (hash) } }
        (facts(words, &known))
        section {
            h2 { (words.history) }
            (life(words, &known.history()))
        }
        (sections(words, hash, &known))
        @if let (Some(active), Some(unbonded)) = (active, unbonded) {
            (locks(words, hash, &active, &unbonded))
        }
    };
    let place = format!("/delegations/{hash}");
    Ok(page.answer(StatusCode::OK, ("/delegations", &place), words.delegation, &content))
}

/// What people look for first.
fn facts(words: &Messages, known: &Delegation) -> Markup {
    let Some(staked) = &known.staked else {
        return html! { section { (web::empty(words.no_stake, words.no_stake_advice)) } };
    };
    html! {
        section {
            dl.facts.broad {
                div { dt { (words.amount) } dd { (amount(staked.value.0)) } }
                div { dt { (words.staker) } dd { (staker_link(staked.staker)) } }
                div { dt { (words.provider) } dd { (provider_link(staked.provider)) } }
                div { dt { (words.start_height) } dd { (format::count(staked.start.0)) } }
                div { dt { (words.end_height) } dd { (format::count(staked.end().0)) } }
                div { dt { (words.time) } dd { (web::time(staked.timestamp)) } }
            }
            @if staked.is_overflow {
                p.note { span.badge.watch { (words.overflow) } " " (words.overflow_note) }
            }
        }
    }
}

/// What happened, in the order of its states.
fn life(words: &Messages, events: &[LifeEvent]) -> Markup {
    html! {
        ol.life {
            @for event in events {
                li.parked[event.is_parked] {
                    strong { (step_name(words, event.what)) }
                    @if event.is_parked { span.badge.watch { (words.waits) } }
                    @if let Some(BtcHeight(height)) = event.height {
                        div { (words.height) " " (format::count(height)) }
                    }
                    @if let Some(hash) = event.tx { div { (transaction_link(hash)) } }
                }
            }
        }
    }
}

fn step_name(words: &Messages, what: &'static str) -> &'static str {
    match what {
        "active" => words.state_active,
        "unbonding_requested" => words.state_unbonding_requested,
        "unbonding" => words.state_unbonding,
        "unbonding_expired" => words.unbonding_expired,
        "staking_expired" => words.staking_expired,
        "slashed" => words.state_slashed,
        "withdrawn" => words.state_withdrawn,
        other => other,
    }
}

/// All fields of all that is known.
fn sections(words: &Messages, hash: TxHash, known: &Delegation) -> Markup {
    let section = |title: &str, fields: Vec<Field>| {
        html! {
            section {
                h2 { (title) }
                (table(words, title, &fields))
            }
        }
    };
    html! {
        @if let Some(it) = &known.staked { (section(words.stake, stake(words, hash, it))) }
        @if let Some(it) = &known.request {
            (section(words.unbonding_request, request(words, it)))
        }
        @if let Some(it) = &known.unbonding { (section(words.unbonding, unbonding(words, it))) }
        @if let Some(it) = &known.slashing { (section(words.slashing, slashing(words, it))) }
        @if let Some(it) = &known.withdrawal {
            (section(words.withdrawal, withdrawal(words, it)))
        }
    }
}

fn table(words: &Messages, title: &str, fields: &[Field]) -> Markup {
    let table = html! {
        table.fields {
            thead { tr { th scope="col" { (words.field) } th scope="col" { (words.value) } } }
            tbody {
                @for (name, value) in fields {
                    tr { th.word scope="row" { (name) } td { (value) } }
                }
            }
        }
    };
    scrolled(title, &table)
}

fn stake(words: &Messages, hash: TxHash, staked: &Staked) -> Vec<Field> {
    let party = |room: &str, key: String| {
        html! { a href={ "/staking/" (room) "/" (key) } { code { (key) } } }
    };
    let mut fields = vec![
        (words.transaction, transaction_link(hash)),
        (words.staker, party("stakers", staked.staker.to_string())),
        (words.provider, party("providers", staked.provider.to_string())),
        (words.amount, amount(staked.value.0)),
    ];
    let begins = (staked.start, staked.timestamp);
    fields.extend(locked(words, begins, staked.timelock, staked.end()));
    fields.push((words.output_index, html! { (staked.output) }));
    fields.push((words.raw_transaction, raw(words, &staked.tx)));
    fields
}

fn request(words: &Messages, request: &UnbondingRequest) -> Vec<Field> {
    vec![
        (words.transaction, transaction_link(request.hash)),
        (words.signature, html! { code { (Hex(&request.signature)) } }),
        (words.raw_transaction, raw(words, &request.tx)),
    ]
}

fn unbonding(words: &Messages, unbonding: &Unbonding) -> Vec<Field> {
    let mut fields = vec![(words.transaction, transaction_link(unbonding.hash))];
    let begins = (unbonding.start, unbonding.timestamp);
    fields.extend(locked(words, begins, unbonding.timelock, unbonding.end()));
    fields.push((words.output_index, html! { (unbonding.output) }));
    fields.push((words.raw_transaction, raw(words, &unbonding.tx)));
    fields
}

fn slashing(words: &Messages, slashing: &Slashing) -> Vec<Field> {
    vec![
        (words.transaction, transaction_link(slashing.hash)),
        (words.height, html! { (format::count(slashing.height.0)) }),
    ]
}

/// Older senders tell only that it came back.
fn withdrawal(words: &Messages, withdrawal: &Withdrawal) -> Vec<Field> {
    let none = || html! { "–" };
    let height = withdrawal.height.map(|height| html! { (format::count(height.0)) });
    vec![
        (words.transaction, withdrawal.hash.map_or_else(none, transaction_link)),
        (words.height, height.unwrap_or_else(none)),
    ]
}

/// From when to when an output is locked.
fn locked(
    words: &Messages,
    (start, timestamp): (BtcHeight, u64),
    Blocks(timelock): Blocks,
    end: BtcHeight,
) -> [Field; 4] {
    let blocks = words.for_blocks.replace("{}", &format::count(timelock.into()));
    [
        (words.start_height, html! { (format::count(start.0)) }),
        (words.time, web::time(timestamp)),
        (words.timelock, html! { (blocks) }),
        (words.end_height, html! { (format::count(end.0)) }),
    ]
}

/// A transaction, which is long and seldom read.
fn raw(words: &Messages, bytes: &[u8]) -> Markup {
    html! {
        details.flat {
            summary { (words.show) " (" (format::bytes(bytes.len() as u64)) ")" }
            code.whole { (Hex(bytes)) }
        }
    }
}

fn locks(words: &Messages, hash: TxHash, active: &Performed, unbonded: &Performed) -> Markup {
    let done = |performed: bool| {
        html! {
            @if performed { span.badge.good { (words.performed) } }
            @else { span.badge { (words.not_performed) } }
        }
    };
    let table = html! {
        table {
            thead { tr {
                th { (words.calculation) } th { code { ":active" } } th { code { ":unbonded" } }
            } }
            tbody {
                @for ((calculation, added), (_, subtracted)) in active.iter().zip(unbonded) {
                    tr {
                        th scope="row" {
                            (calculation_name(words, *calculation))
                            small { code { (calculation.word()) } }
                        }
                        td { (done(*added)) }
                        td { (done(*subtracted)) }
                    }
                }
            }
        }
    };
    html! {
        section {
            h2 { (words.lock_records) }
            (scrolled(words.lock_records, &table))
            p.note {
                (words.lock_note) " "
                @for state in ["active", "unbonded"] {
                    @let id = format!("{hash}:{state}");
                    a href={ "/api/staking/locks/" (id) } { code { ":" (state) } } " "
                }
            }
        }
    }
}

fn calculation_name(words: &Messages, calculation: Calculation) -> &'static str {
    match calculation {
        Calculation::OverallStats => words.of_overall,
        Calculation::FinalityProvider => words.of_provider,
        Calculation::Staker => words.of_staker,
        Calculation::Heights => words.of_heights,
    }
}

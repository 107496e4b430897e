//! The first page of staking: statistics, curves, who has most, and what became of messages.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::staking::{BtcHeight, Counters, Overall, Point};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::Problem;
use web::{Across, Chart, Messages, format, power};

use super::page::{Page, Refused};
use super::parts::{Party, amount, parties, provider_link, staker_link};
use crate::pages::kit::Visitor;
use crate::server::App;

/// Finality providers and stakers that the page begins with.
const TOP: usize = 5;
/// Points of a curve.
const POINTS: usize = 200;
/// Satoshi of a bitcoin.
const BITCOIN: f64 = 1e8;

pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let (words, staking) = (page.words(), &app.staking);
    let overall = staking.overall().await?;
    let points = match overall.standing.total_delegations {
        0 => Vec::new(),
        _ => staking.over_time(BtcHeight(0), BtcHeight(overall.height), POINTS).await?,
    };
    let providers = staking.providers(None, TOP).await?.rows;
    let stakers = staking.stakers(None, TOP).await?.rows;
    let all = overall.standing.active_tvl;
    let content = html! {
        h1 { (words.staking) }
        p.lead { (words.staking_lead) }
        (page.live("figures", &figures(words, &overall)))
        (page.live("curves", &curves(words, &points)))
        (page.live("providers", &html! {
            h2 { (words.top_providers) }
            (top_providers(words, &providers, all))
        }))
        (page.live("stakers", &html! {
            h2 { (words.top_stakers) }
            (top_stakers(words, &stakers, all))
        }))
        (page.live("messages", &messages(words, staking.counters())))
    };
    Ok(page.answer(StatusCode::OK, ("", ""), words.staking, &content))
}

fn figures(words: &Messages, overall: &Overall) -> Markup {
    let standing = &overall.standing;
    let number = |number: u64| html! { (format::count(number)) };
    let figures = [
        (words.active_tvl, amount(standing.active_tvl)),
        (words.total_tvl, amount(standing.total_tvl)),
        (words.unconfirmed_tvl, amount(overall.unconfirmed_tvl)),
        (words.pending_tvl, amount(overall.pending_tvl)),
        (words.active_delegations, number(standing.active_delegations)),
        (words.total_delegations, number(standing.total_delegations)),
        (words.active_stakers, number(overall.active_stakers)),
        (words.total_stakers, number(overall.total_stakers)),
        (words.bitcoin_height, number(overall.height)),
    ];
    html! {
        @if standing.total_delegations == 0 {
            (web::empty(words.no_delegations, words.no_delegations_advice))
        }
        dl.facts.broad {
            @for (name, value) in figures { div { dt { (name) } dd { (value) } } }
        }
    }
}

fn curves(words: &Messages, points: &[Point]) -> Markup {
    let over = |value: fn(&Point) -> f64| {
        let curve = points.iter().map(|point| (point.height, value(point)));
        curve.collect::<Vec<(u64, f64)>>()
    };
    let (tvl, word) = in_unit(over(|point| point.standing.active_tvl as f64 / BITCOIN));
    let tvl_title = format!("{} ({})", words.active_tvl, format!("{word} BTC").trim_start());
    let (number, word) = in_unit(over(|point| point.standing.active_delegations as f64));
    let number_title = match word {
        "" => words.active_delegations.to_owned(),
        word => format!("{} ({word})", words.active_delegations),
    };
    let ends = (points.first(), points.last());
    let span = match ends {
        (Some(first), Some(last)) => (first.height, last.height),
        _ => (0, 1),
    };
    // Between two points nothing changed that is not in the second, so no curve is broken.
    let (across, gap, none) = (Across::Heights, u64::MAX, words.no_delegations);
    let chart = |title, points| Chart { title, points, across, span, gap, none };
    html! {
        h2 { (words.over_heights) }
        div.charts {
            (chart(&tvl_title, tvl.as_slice()).line(format::short))
            (chart(&number_title, number.as_slice()).line(format::short))
        }
        p.note { (words.over_heights_note) }
    }
}

/// A curve in a unit that leaves few digits, and the word of the unit.
fn in_unit(mut points: Vec<(u64, f64)>) -> (Vec<(u64, f64)>, &'static str) {
    let (unit, word) = power(&points);
    points.iter_mut().for_each(|point| point.1 /= unit);
    (points, word)
}

fn top_providers(words: &Messages, rows: &[Party], all: u64) -> Markup {
    let named = (words.top_providers, words.provider);
    html! {
        @if rows.is_empty() {
            (web::empty(words.no_providers, words.with_first_delegation))
        } @else {
            (parties(words, named, (rows, all), provider_link))
            p.note { a href="/staking/providers" { (words.all_providers) } }
        }
    }
}

fn top_stakers(words: &Messages, rows: &[Party], all: u64) -> Markup {
    let named = (words.top_stakers, words.staker);
    html! {
        @if rows.is_empty() {
            (web::empty(words.no_stakers, words.with_first_delegation))
        } @else {
            (parties(words, named, (rows, all), staker_link))
            p.note { a href="/staking/stakers" { (words.total_stakers) } }
        }
    }
}

fn messages(words: &Messages, counters: &Counters) -> Markup {
    let counted = [
        (words.applied, &counters.applied),
        (words.repeated, &counters.repeated),
        (words.parked, &counters.parked),
        (words.unprocessable, &counters.unprocessable),
        (words.not_taken, &counters.later),
    ];
    html! {
        h2 { (words.messages) }
        dl.facts {
            @for (name, counter) in counted {
                div { dt { (name) } dd { (format::count(counter.load(Ordering::Relaxed))) } }
            }
        }
        p.note { (words.messages_note) }
    }
}

/// The card of the home page.
pub(in crate::pages) async fn card(app: &App, words: &Messages) -> Result<Markup, Problem> {
    let overall = app.staking.overall().await?;
    Ok(html! {
        div.cells {
            a.cell href="/staking" {
                strong { (words.active_tvl) }
                span.note {
                    (words.active_delegations) " · "
                    (format::count(overall.standing.active_delegations))
                }
                span.height { " " (amount(overall.standing.active_tvl)) }
            }
        }
    })
}

//! The first page: search, chains, staking, and what happens right now.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use platform::events::{Event, EventFilter};
use platform::http::Problem;
use web::{Messages, format};

use super::kit::{Visitor, answer, moment};
use super::{chains, staking};
use crate::server::App;

/// Events that the page begins with.
const EVENTS: u64 = 15;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(home))
}

async fn home(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, Problem> {
    let platform = &app.platform;
    let newest = platform.events.span().await?.map_or(0, |(_, newest)| newest);
    let events = latest(&app, newest).await?;
    let projects = platform.projects.count_all().await?;
    let cells = chains::cells(&app, visitor.words()).await?;
    let words = visitor.words();
    let staked = staking::card(&app, words).await?;
    let content = html! {
        div.hero {
            h1 { (words.hero) }
            p.lead { (words.hero_lead) }
            form action="/search" role="search" {
                input type="search" name="q" required maxlength="128"
                    aria-label=(words.search_hint) placeholder=(words.search_hint);
                button { (words.search) }
            }
        }
        section {
            h2 { (words.chains) }
            (cells)
        }
        section {
            h2 { (words.staking) }
            (staked)
        }
        section {
            h2 { (words.live) }
            (live(words, newest, &events))
            p.note {
                (words.live_note) " " a href="/api/docs#tag-events" { code { "/api/events" } }
            }
        }
        section {
            dl.facts {
                div { dt { (words.events_told) } dd { (format::count(newest)) } }
                div { dt { (words.projects_all) } dd { (format::count(projects)) } }
            }
        }
    };
    Ok(answer(&visitor, StatusCode::OK, (words.home, "/"), &content))
}

/// The last events, the newest first.
async fn latest(app: &App, newest: u64) -> Result<Vec<Event>, Problem> {
    if newest == 0 {
        return Ok(Vec::new());
    }
    let after = newest.saturating_sub(EVENTS);
    let page = app.platform.events.read_after(after, &EventFilter::default(), 100).await;
    match page {
        Ok(page) => Ok(page.events.into_iter().rev().take(EVENTS as usize).collect()),
        // They were swept while the page was made.
        Err(platform::events::ReadEventsError::Gone { .. }) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn live(words: &Messages, newest: u64, events: &[Event]) -> Markup {
    let after = events.first().map_or(newest, |event| event.id);
    html! {
        @if events.is_empty() {
            div #nothing { (web::empty(words.no_events, words.no_events_advice)) }
        }
        ol.events data-after=(after) {
            @for event in events {
                li {
                    code { (event.kind) }
                    span { @if let Some(chain) = &event.chain { (chain) } }
                    span { (event.data) }
                    (moment(event.at))
                }
            }
        }
    }
}

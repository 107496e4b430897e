//! Messages that could not be applied: operators see why, and replay or drop them.

use std::sync::Arc;

use ::staking::{KeptId, KeptPage, Taken, Unprocessable};
use axum::Form;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use platform::http::{Operator, Query};
use serde::Deserialize;
use web::{Messages, Pager};

use super::page::{LINES, Listed, Page, Refused, cursor, here};
use crate::pages::kit::{Notice, Visitor, moment, scrolled};
use crate::server::App;

/// Characters of a message that are shown; the API has it whole.
const EXCERPT: usize = 300;
/// Where this page is behind the root.
const PLACE: &str = "/unprocessable";
/// The list and its filter, for its cursors. A place is the millisecond and the digest of an id.
const LIST: (&str, &()) = ("staking.unprocessable", &());

pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    _operator: Operator,
    Query(asked): Query<Listed>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    show(&app, &page, asked.cursor.as_deref(), &Notice::None).await
}

/// What a form of the page sends.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    /// The messages it is about, with spaces between them.
    ids: String,
    /// The page of the list it stands on; none is the first.
    cursor: Option<String>,
}

impl Sent {
    /// The messages, at most those of a page; none when one of them is no name of a message.
    fn ids(&self) -> Option<Vec<KeptId>> {
        let ids: Option<Vec<KeptId>> = self.ids.split_whitespace().map(KeptId::read).collect();
        ids.filter(|ids| (1..=LINES).contains(&ids.len()))
    }
}

pub(super) async fn replay(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    _operator: Operator,
    Form(sent): Form<Sent>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let notice = match sent.ids() {
        None => bad_message(words),
        Some(ids) => {
            let mut outcomes = Vec::with_capacity(ids.len());
            for id in ids {
                outcomes.push(app.staking.replay(id).await?);
            }
            told(words, &outcomes)
        }
    };
    show(&app, &page, sent.cursor.as_deref(), &notice).await
}

pub(super) async fn remove(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    _operator: Operator,
    Form(sent): Form<Sent>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor).await?;
    let words = page.words();
    let notice = match sent.ids().as_deref() {
        Some([id]) => match app.staking.kept_one(*id).await? {
            None => gone(words),
            Some(_) => {
                app.staking.drop_kept(*id).await?;
                Notice::Done(words.dropped)
            }
        },
        _ => bad_message(words),
    };
    show(&app, &page, sent.cursor.as_deref(), &notice).await
}

fn bad_message(words: &Messages) -> Notice {
    Notice::Refused(StatusCode::BAD_REQUEST, words.bad_message.to_owned())
}

fn gone(words: &Messages) -> Notice {
    Notice::Refused(StatusCode::NOT_FOUND, words.message_gone.to_owned())
}

/// What became of messages that were replayed. Of one alone the reason is told.
fn told(words: &Messages, outcomes: &[Option<Taken>]) -> Notice {
    if outcomes.iter().any(|outcome| matches!(outcome, Some(Taken::Later(_)))) {
        return Notice::Refused(StatusCode::SERVICE_UNAVAILABLE, words.store_busy.to_owned());
    }
    match outcomes {
        [None] => return gone(words),
        [Some(Taken::Unprocessable(reason))] => {
            let text = format!("{} {reason}", words.still_unprocessable);
            return Notice::Refused(StatusCode::UNPROCESSABLE_ENTITY, text);
        }
        _ => {}
    }
    let count = |holds: fn(&Option<Taken>) -> bool| {
        outcomes.iter().filter(|outcome| holds(outcome)).count().to_string()
    };
    let left = count(|outcome| matches!(outcome, Some(Taken::Unprocessable(_))));
    let taken =
        count(|outcome| outcome.as_ref().is_some_and(|it| !matches!(it, Taken::Unprocessable(_))));
    let text = words.replayed.replace("{taken}", &taken).replace("{left}", &left);
    Notice::Became(text.replace("{gone}", &count(Option::is_none)))
}

async fn show(
    app: &App,
    page: &Page,
    from: Option<&str>,
    notice: &Notice,
) -> Result<Response, Refused> {
    let words = page.words();
    let before: Option<(u64, [u8; 8])> = page.place(LIST, from)?;
    let before = before.map(|(millis, digest)| KeptId { millis, digest });
    let found = app.staking.kept(before, LINES).await?;
    let next = found.next.map(|id| (id.millis, id.digest));
    let next = cursor(LIST, next.as_ref());
    let path = page.path(PLACE);
    let pager = Pager { words, path: &path, later: before.is_some(), next: next.as_deref() };
    let content = html! {
        h1 { (words.unprocessable) }
        p.lead { (words.unprocessable_lead) }
        (notice.show(words))
        section {
            @if found.messages.is_empty() {
                (web::empty(words.no_unprocessable, words.no_unprocessable_advice))
            } @else {
                (scrolled(words.unprocessable, &table(page, &found, from)))
                div.row { (form(page, ("replay", words.replay_page, ""), &all(&found), from)) }
            }
            (pager.links())
        }
    };
    let place = here(PLACE, from);
    Ok(page.answer(notice.status(), (PLACE, &place), words.unprocessable, &content))
}

fn table(page: &Page, found: &KeptPage, from: Option<&str>) -> Markup {
    let words = page.words();
    html! {
        table.kept {
            thead { tr {
                th { (words.kept) } th { (words.source) } th { (words.reason) }
                th { (words.message) } th { (words.change) }
            } }
            tbody {
                @for (id, message) in &found.messages {
                    tr {
                        td.word { (moment(id.millis)) }
                        td { code { (message.source) } }
                        td.reason lang="en" { (message.reason) }
                        td.whole { code { (excerpt(message)) } }
                        td.word {
                            (form(page, ("replay", words.replay, "quiet"), &id.to_string(), from))
                            " "
                            (form(page, ("drop", words.drop, "grave"), &id.to_string(), from))
                        }
                    }
                }
            }
        }
    }
}

/// The messages of a page, as its form sends them.
fn all(found: &KeptPage) -> String {
    found.messages.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(" ")
}

/// A form that is one button about some messages.
fn form(
    page: &Page,
    (action, name, class): (&str, &str, &str),
    ids: &str,
    from: Option<&str>,
) -> Markup {
    html! {
        form.inline method="post" action={ (page.path(PLACE)) "/" (action) } {
            (page.visitor.token())
            input type="hidden" name="ids" value=(ids);
            @if let Some(from) = from { input type="hidden" name="cursor" value=(from); }
            button class=(class) { (name) }
        }
    }
}

/// The beginning of a message; bytes that are no text are replaced.
fn excerpt(message: &Unprocessable) -> String {
    // A character has at most four bytes, so these are enough of them.
    let bytes = message.body.get(..4 * EXCERPT).unwrap_or(&message.body);
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.chars().take(EXCERPT).collect();
    if text.chars().count() > EXCERPT || bytes.len() < message.body.len() {
        shown.push('…');
    }
    shown
}

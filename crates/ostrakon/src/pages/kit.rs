//! What every page needs: who looks at it, in which language, and the frame around it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use platform::accounts::{Scope, UserId};
use platform::http::{MaybeWho, Problem, Session, Via, Who, csrf};
use web::{Frame, Language, Messages};

/// Who looks at a page.
pub(crate) struct Visitor {
    /// Their language.
    pub(crate) language: Language,
    /// Who they are, when they are logged in.
    pub(crate) who: Option<Who>,
    session: Session,
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let MaybeWho(who) = MaybeWho::from_request_parts(parts, state).await?;
        let session = Session::from_request_parts(parts, state).await?;
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let cookies = header(header::COOKIE).unwrap_or_default();
        let accepted = header(header::ACCEPT_LANGUAGE).unwrap_or_default();
        let language = Language::choose(parts.uri.query(), cookies, accepted);
        // Pages are for people: what a program's key may see is in the API.
        Ok(Self { language, who: who.filter(|who| who.via == Via::Session), session })
    }
}

impl Visitor {
    /// The words of their language.
    pub(crate) fn words(&self) -> &'static Messages {
        self.language.words()
    }

    /// Their account, when they are logged in.
    pub(crate) fn user(&self) -> Option<UserId> {
        UserId::new(self.who.as_ref()?.account.as_deref()?).ok()
    }

    /// Whether they may see what `owner` has: their own, and for operators everybody's.
    pub(crate) fn may_see(&self, owner: &UserId) -> bool {
        let caller = self.who.as_ref().and_then(platform::bridge::caller);
        caller.is_some_and(|caller| caller.user == *owner || caller.may(Scope::Operator))
    }

    /// Whether they are an operator of the installation.
    pub(crate) fn is_operator(&self) -> bool {
        let caller = self.who.as_ref().and_then(platform::bridge::caller);
        caller.is_some_and(|caller| caller.may(Scope::Operator))
    }

    /// Whether their session has just ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.session.ended
    }

    /// The hidden field without which a form of a session is refused.
    pub(crate) fn token(&self) -> Markup {
        html! {
            @if let Some(token) = &self.session.csrf {
                input type="hidden" name=(csrf::FIELD) value=(token);
            }
        }
    }

    /// A form that is one button.
    pub(crate) fn button(&self, action: &str, name: &str, class: &str) -> Markup {
        html! {
            form.inline method="post" action=(action) {
                (self.token())
                button class=(class) { (name) }
            }
        }
    }
}

/// A page in its frame.
pub(crate) fn answer(
    visitor: &Visitor,
    status: StatusCode,
    (title, here): (&str, &str),
    content: &Markup,
) -> Response {
    let user = visitor.user();
    let user = user.as_ref().map(UserId::as_str);
    let frame = Frame { language: visitor.language, title, here, user };
    html_response(status, frame.page(content).into_string())
}

/// A page with nothing but a title and a sentence.
pub(crate) fn message(
    visitor: &Visitor,
    status: StatusCode,
    (title, here): (&str, &str),
    sentence: &str,
) -> Response {
    let content = html! { h1 { (title) } p.lead { (sentence) } };
    answer(visitor, status, (title, here), &content)
}

/// Text as a page.
pub(crate) fn html_response(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

/// Says what became of a form.
pub(super) enum Notice {
    /// Nothing was sent yet.
    None,
    /// It was done.
    Done(&'static str),
    /// It was done, and this became of it.
    Became(String),
    /// It was refused, in the words of the reader's language.
    Refused(StatusCode, String),
    /// It was refused, in the words of the domain.
    Problem(Problem),
    /// It was done, and something must be copied now.
    Secret(&'static str, String),
}

impl Notice {
    /// The status of the page that shows it.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::None | Self::Done(_) | Self::Became(_) | Self::Secret(..) => StatusCode::OK,
            Self::Refused(status, _) => *status,
            Self::Problem(problem) => problem.status(),
        }
    }

    /// The notice itself.
    pub(super) fn show(&self, words: &Messages) -> Markup {
        html! {
            @match self {
                Self::None => {}
                Self::Done(text) => section.notice role="status" { p { (text) } },
                Self::Became(text) => section.notice role="status" { p { (text) } },
                Self::Refused(_, text) => section.notice.bad role="alert" {
                    h2 { (words.went_wrong) } p { (text) }
                },
                Self::Problem(problem) => section.notice.bad role="alert" {
                    h2 { (words.went_wrong) } p lang="en" { (problem.detail()) }
                },
                Self::Secret(name, secret) => section.notice role="status" {
                    h2 { (name) }
                    code.secret { (secret) }
                    p.note { (words.secret_once) }
                },
            }
        }
    }
}

/// A text without its middle: `0x1234abcd…9f3e01`.
pub(super) fn shortened(text: &str, head: usize, tail: usize) -> String {
    let length = text.chars().count();
    if length <= head + tail + 1 {
        return text.to_owned();
    }
    let front: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{front}…{end}")
}

/// A table that scrolls by itself when it is wider than the page.
pub(super) fn scrolled(name: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" tabindex="0" aria-label=(name) { (table) } }
}

/// Unix milliseconds as a moment on a page.
pub(super) fn moment(millis: u64) -> Markup {
    web::time(millis / 1000)
}

/// The answer to somebody who must log in first.
pub(super) fn log_in_first() -> Response {
    see_other("/login")
}

/// Leads on after a form.
pub(super) fn see_other(path: &str) -> Response {
    axum::response::Redirect::to(path).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_enough_stays_whole() {
        assert_eq!(shortened("0x1234", 8, 6), "0x1234");
        assert_eq!(shortened("0x0123456789abcdef", 8, 6), "0x012345…abcdef");
    }
}

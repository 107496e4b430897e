//! Pages that are not as they were asked for.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::html;
use platform::http::Problem;

use super::kit::{Visitor, answer};

/// A page that is not as it was asked for.
pub(super) enum Refused {
    /// It says why in the reader's language.
    Page(Box<Response>),
    /// It is told like everywhere.
    Problem(Problem),
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::Page(page) => *page,
            Self::Problem(problem) => problem.into_response(),
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// A page with a sentence in the reader's language, and a way back: where it leads, and its name.
/// The other language is offered at `section`: the address that was asked for is refused there too.
pub(super) fn refuse(
    visitor: &Visitor,
    status: StatusCode,
    (title, advice): (&str, &str),
    (section, (back, name)): (&str, (&str, &str)),
) -> Refused {
    let content = html! {
        h1 { (title) }
        p.lead { (advice) }
        p { a href=(back) { "← " (name) } }
    };
    Refused::Page(Box::new(answer(visitor, status, (title, section), &content)))
}

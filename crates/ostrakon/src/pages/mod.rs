//! The pages, in the frame that all of them share.
//!
//! A page asks the platform, like any other client, and writes what it gets; forms post to their
//! own page and are answered with it. Nothing here decides anything.

mod account;
mod chains;
mod home;
mod kit;
mod project;
mod refusal;
mod scan;
mod search;
mod sign;
mod staking;
pub(crate) mod status;

use std::sync::Arc;

use ::staking::address::Network;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use web::{Language, assets};

pub(crate) use kit::{Visitor, answer, html_response, message};

use crate::server::App;
use crate::system;

/// All pages, and the files that belong to them. Addresses of stakers are those of `network`.
pub(crate) fn router(app: Arc<App>, network: Network) -> Router {
    let mut router = Router::new();
    for asset in assets::ALL {
        router = router.route(asset.path, get(move || async move { serve(asset) }));
    }
    router
        .route("/favicon.ico", get(|| async { icon() }))
        .merge(home::routes())
        .merge(search::routes())
        .merge(sign::routes())
        .merge(account::routes())
        .merge(project::routes())
        .merge(chains::routes())
        .merge(scan::routes())
        .merge(staking::routes(network))
        .merge(system::api::routes())
        .with_state(app)
        .layer(axum::middleware::from_fn(keep_language))
}

/// Answers with a file of the pages.
fn serve(asset: &'static assets::Asset) -> Response {
    let keep = "public, max-age=31536000, immutable";
    ([(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, keep)], asset.text)
        .into_response()
}

/// Answers browsers that show something without a frame: a report, JSON, measurements.
fn icon() -> Response {
    let keep = "public, max-age=86400";
    let asset = &assets::ICON_FILE;
    ([(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, keep)], asset.text)
        .into_response()
}

/// Keeps a language that was chosen by its link, for a year.
async fn keep_language(request: axum::extract::Request, next: axum::middleware::Next) -> Response {
    let tag = request.uri().query().and_then(|query| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix("lang="))?;
        Language::from_tag(value)
    });
    let mut response = next.run(request).await;
    if let Some(language) = tag {
        let cookie = format!(
            "{}={}; Path=/; Max-Age=31536000; SameSite=Lax",
            Language::COOKIE,
            language.tag()
        );
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}

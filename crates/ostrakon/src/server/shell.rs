//! What is served, in the shell that all APIs share.

use std::sync::Arc;

use platform::Platform;
use platform::api::{self, Api};
use platform::bridge::{LiveEvents, StoreCheck};
use platform::http::{self, Built, Frame, Shell};
use tokio::sync::watch;
use web::Language;

use super::App;
use crate::config::Settings;
use crate::metrics::Exposition;
use crate::pages;

/// Whether browsers reach the server over HTTPS.
pub(crate) fn is_encrypted(settings: &Settings) -> bool {
    settings.origin.as_ref().is_some_and(|origin| origin.starts_with("https://"))
}

/// Pages and API.
pub(crate) fn whole(
    app: &Arc<App>,
    settings: &Settings,
    live: Arc<LiveEvents>,
    stop: watch::Receiver<bool>,
) -> Built {
    let platform = app.platform.clone();
    let api = Api { platform: platform.clone(), jar: app.jar };
    let measured = app.clone();
    shell(&platform, settings)
        .api(api::routes(api))
        .api(scan::api::routes(app.explorers.clone()))
        .pages(pages::router(app.clone()))
        .authority(platform.clone())
        .feed(live)
        .finder(platform)
        .metrics(Arc::new(move || measurements(&measured)))
        .stop(stop)
        .finish()
}

/// Only what supervisors ask.
pub(crate) fn health_only(platform: &Arc<Platform>, settings: &Settings) -> Built {
    shell(platform, settings).finish()
}

fn shell(platform: &Arc<Platform>, settings: &Settings) -> Shell {
    let limits = http::Settings {
        origin: settings.origin.clone(),
        encrypted: is_encrypted(settings),
        trusted_proxies: settings.trusted_proxies.clone(),
        ..http::Settings::default()
    };
    // Problems and the documentation are in English, whoever reads them.
    let frame: Frame = Arc::new(|title, content| {
        let language = Language::English;
        let here = if title == "API" { "/api/docs" } else { "" };
        web::Frame { language, title, here, user: None }.page(content)
    });
    Shell::new(limits)
        .version(env!("CARGO_PKG_VERSION"))
        .frame(frame)
        .check(Arc::new(StoreCheck(platform.clone())))
}

fn measurements(app: &App) -> String {
    let start = &app.start.start;
    Exposition::default()
        .label("ostrakon_build_info", "The running program.", "version", &start.version)
        .gauge("ostrakon_start_time_seconds", "Unix second of the start.", start.at as f64)
        .gauge("ostrakon_start_number", "Starts on this store so far.", app.start.number.0 as f64)
        .stats("ostrakon_store", &app.opened.engine.stats())
        .text()
}

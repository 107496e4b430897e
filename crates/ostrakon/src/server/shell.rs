//! What is served, in the shell that all APIs share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use platform::Platform;
use platform::api::{self, Api};
use platform::bridge::{LiveEvents, StoreCheck};
use platform::http::{self, Built, Frame, RouteLimits, Shell};
use resp::Stats;
use staking::compat::Compat;
use tokio::sync::watch;
use web::Language;

use super::App;
use super::lag::Lagging;
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
    let compat = Compat::new(app.staking.clone(), settings.staking.compat.clone());
    let body_bytes = Some(staking::api::EVENTS_BYTES);
    let events = RouteLimits { body_bytes, ..RouteLimits::default() };
    shell(&platform, settings)
        .api(api::routes(api))
        .api(scan::api::routes(app.explorers.clone()))
        .api(staking::api::routes(app.staking.clone()))
        .api(staking::compat::routes(compat))
        .limits(staking::api::EVENTS_ROUTE, events)
        .pages(pages::router(app.clone(), settings.staking.compat.network))
        .authority(platform.clone())
        .feed(live)
        .finder(platform)
        .check(Arc::new(Lagging { app: app.clone() }))
        .check(Arc::new(app.broker.clone()))
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
    let page = Exposition::default()
        .label("ostrakon_build_info", "The running program.", "version", &start.version)
        .gauge("ostrakon_start_time_seconds", "Unix second of the start.", start.at as f64)
        .gauge("ostrakon_start_number", "Starts on this store so far.", app.start.number.0 as f64)
        .stats("ostrakon_store", &app.opened.engine.stats());
    staked(keys_asked(explored(page, app), app), app).text()
}

/// What became of staking events in this process.
fn staked(page: Exposition, app: &App) -> Exposition {
    let counters = app.staking.counters();
    let outcomes = [
        ("applied", &counters.applied),
        ("repeated", &counters.repeated),
        ("parked", &counters.parked),
        ("unprocessable", &counters.unprocessable),
        ("later", &counters.later),
    ];
    let name = ("ostrakon_staking_events_total", "counter", "Events, by what became of them.");
    let values = outcomes.map(|(word, counter)| (word, counter.load(Ordering::Relaxed) as f64));
    app.broker.measured(page.each(name, "outcome", values))
}

/// What the explorer measures, chain by chain; counters are those of this process.
fn explored(page: Exposition, app: &App) -> Exposition {
    let chains = app.explorers.all();
    let each = |page: Exposition, name: &str, help: &str, read: fn(&scan::run::Progress) -> u64| {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let of = |explorer: &scan::Explorer| read(explorer.progress()) as f64;
        let values = chains.iter().map(|(it, _)| (it.name().as_str(), of(it)));
        page.each((&format!("ostrakon_scan_{name}"), kind, help), "chain", values)
    };
    let page = each(page, "pushed_total", "Epochs that were pushed.", |it| it.pushed.get());
    let page = each(page, "popped_total", "Epochs that were popped.", |it| it.popped.get());
    let page = each(page, "executed_total", "Epochs with results.", |it| it.executed.get());
    let page = each(page, "failures_total", "Failures of nodes.", |it| it.failures.get());
    let page = each(page, "swept_total", "Hidden units that were swept.", |it| it.swept.get());
    let page = each(page, "node_epoch", "The newest epoch of the node.", |it| it.node.get());
    each(page, "behind_epochs", "Epochs that are not indexed yet.", |it| it.behind.get())
}

/// What the ports with Redis keys count, chain by chain.
fn keys_asked(page: Exposition, app: &App) -> Exposition {
    let each = |page: Exposition, name: &str, help: &str, read: fn(&Stats) -> &AtomicU64| {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let of = |stats: &Stats| read(stats).load(Ordering::Relaxed) as f64;
        let values = app.redis.iter().map(|port| (port.chain.as_str(), of(&port.stats)));
        page.each((&format!("ostrakon_redis_{name}"), kind, help), "chain", values)
    };
    let page = each(page, "connections", "Connections that are open.", |it| &it.open);
    let page = each(page, "accepted_total", "Connections that were taken.", |it| &it.accepted);
    let page = each(page, "refused_total", "Connections one too many.", |it| &it.refused);
    let page = each(page, "idle_total", "Connections ended: they were silent.", |it| &it.idle);
    let page = each(page, "slow_total", "Connections ended: they did not read.", |it| &it.slow);
    let page = each(page, "garbled_total", "Connections ended: no protocol.", |it| &it.garbled);
    let page = each(page, "commands_total", "Commands, whatever the answer.", |it| &it.commands);
    let page = each(page, "errors_total", "Commands answered by an error.", |it| &it.errors);
    let page = each(page, "denied_total", "Wrong passwords.", |it| &it.denied);
    let page = each(page, "read_bytes_total", "Bytes that were read.", |it| &it.bytes_in);
    each(page, "written_bytes_total", "Bytes that were written.", |it| &it.bytes_out)
}

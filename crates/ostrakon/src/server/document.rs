//! The API document without a server.

use std::sync::Arc;

use platform::bridge::LiveEvents;
use platform::http::CookieJar;
use serde_json::Value;
use tokio::sync::watch;

use super::{App, Product, open_product, reports, shell};
use crate::config::Settings;
use crate::opening::{self, Tables};
use crate::system::ingest;

/// The document as this program serves it. It is made from the routes, and those need a store:
/// an empty one, which goes again.
pub(crate) async fn document() -> anyhow::Result<Value> {
    let place = tempfile::tempdir()?;
    let settings = Settings::defaults(place.path().to_owned());
    let opened = Arc::new(opening::open(&settings, Tables::Created).await?);
    let start = ingest::register(&opened.store).await?;
    let Product { platform, explorers, staking } =
        open_product(opened.store.clone(), &settings).await?;
    let live = LiveEvents::follow(platform.events.clone()).await?;
    let reports = reports::Reports::new(opened.clone());
    let jar = CookieJar::new(shell::is_encrypted(&settings));
    let redis = Vec::new();
    let app =
        App { opened: opened.clone(), start, reports, platform, explorers, staking, jar, redis };
    let app = Arc::new(app);
    let document = shell::whole(&app, &settings, live, watch::channel(false).1).document;
    drop(app);
    opening::close(&opened).await?;
    Ok(document)
}

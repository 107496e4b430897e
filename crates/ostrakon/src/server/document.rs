//! What is served, without a server: for the API document, and for tests.

use std::sync::Arc;

use platform::bridge::LiveEvents;
use platform::http::{Built, CookieJar};
use serde_json::Value;
use tokio::sync::watch;

use super::{App, Broker, Product, open_product, reports, shell};
use crate::config::Settings;
use crate::opening::{self, OpenStore, Tables};
use crate::system::ingest;

/// Pages and API on a store, with nothing that works in the background.
pub(crate) async fn served(
    opened: Arc<OpenStore>,
    settings: &Settings,
) -> anyhow::Result<(Product, Built)> {
    let start = ingest::register(&opened.store).await?;
    let product = open_product(opened.store.clone(), settings).await?;
    let Product { platform, explorers, staking } = product.clone();
    let live = LiveEvents::follow(platform.events.clone()).await?;
    let reports = reports::Reports::new(opened.clone());
    let jar = CookieJar::new(shell::is_encrypted(settings));
    let app = App {
        opened,
        start,
        reports,
        platform,
        explorers,
        staking,
        broker: Broker::default(),
        jar,
        redis: Vec::new(),
    };
    let built = shell::whole(&Arc::new(app), settings, live, watch::channel(false).1);
    Ok((product, built))
}

/// The document as this program serves it. It is made from the routes, and those need a store:
/// an empty one, which goes again.
pub(crate) async fn document() -> anyhow::Result<Value> {
    let place = tempfile::tempdir()?;
    let settings = Settings::defaults(place.path().to_owned());
    let opened = Arc::new(opening::open(&settings, Tables::Created).await?);
    let (product, built) = served(opened.clone(), &settings).await?;
    let document = built.document;
    drop((product, built.router));
    opening::close(&opened).await?;
    Ok(document)
}

//! What a server does: all of it in one process, or parts of it in several on one store.
//!
//! Services that write leave it to leases who does so: starting one twice is a stand-by, not a
//! mistake.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use platform::chains::ChainName;
use platform::outgoing::{NodeClient, WebhookClient};
use staking::BtcHeight;
use staking::source::RabbitMq;
use tokio::task::JoinSet;

use crate::config::Settings;
use crate::server::{Broker, Product};

/// How often the height of a chain is looked at for timelocks.
const HEIGHTS: Duration = Duration::from_secs(5);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Service {
    /// Pages and API; on one machine also the process that holds the embedded store
    Web,
    /// Delivers events to webhooks
    Webhooks,
    /// Asks the nodes of all chains for their tips
    Tips,
    /// Indexes the tree-graph chains
    Scan,
    /// Takes events of Bitcoin staking from queues, and lets timelocks pass
    Staking,
    /// Finishes what a crash left, and sweeps what nobody can read any more
    Upkeep,
}

/// Those that this process does.
#[derive(Clone, Debug)]
pub(crate) struct Services(Vec<Service>);

impl Services {
    /// All, or only some of them.
    pub(crate) fn new(only: &[Service]) -> Self {
        if only.is_empty() {
            return Self(Service::value_variants().to_vec());
        }
        Self(only.to_vec())
    }

    /// Whether this process does it.
    pub(crate) fn has(&self, service: Service) -> bool {
        self.0.contains(&service)
    }
}

/// Starts everything that works in the background. It ends when it is dropped: each of these may
/// end at any moment, as in a crash.
pub(crate) fn start(
    product: &Product,
    services: &Services,
    settings: &Settings,
) -> anyhow::Result<(JoinSet<()>, Broker)> {
    let Product { platform, explorers, staking } = product;
    let (mut work, mut broker) = (JoinSet::new(), Broker::default());
    if services.has(Service::Upkeep) {
        let platform = platform.clone();
        work.spawn(async move { platform.keep_tidy().await });
    }
    if services.has(Service::Webhooks) {
        let (platform, post) = (platform.clone(), WebhookClient::new(settings.loopback_webhooks)?);
        work.spawn(async move {
            if let Err(error) = platform.webhooks.run(&post).await {
                tracing::error!(%error, "webhooks are no longer delivered; restart the server");
            }
        });
    }
    if services.has(Service::Tips) {
        let (platform, ask) = (platform.clone(), NodeClient::new()?);
        work.spawn(async move {
            if let Err(error) = platform.tips.run(&ask).await {
                tracing::error!(%error, "nodes are no longer asked; restart the server");
            }
        });
    }
    if services.has(Service::Scan) {
        let (explorers, events) = (explorers.clone(), platform.events.clone());
        let client = Arc::new(NodeClient::for_blocks()?);
        work.spawn(scan::run::run(explorers, events, client));
    }
    if services.has(Service::Staking) {
        work.spawn(staking.clone().run());
        if let Some(read) = &settings.staking.rabbitmq {
            let source = RabbitMq::new(read.source(), Arc::new(staking.clone()))?;
            broker = Broker(Some(source.status()));
            work.spawn(async move {
                source.run().await;
            });
        }
        if let Some(chain) = &settings.staking.chain {
            work.spawn(heights(product.clone(), ChainName::new(chain.as_str())?));
        }
    }
    Ok((work, broker))
}

/// Lets timelocks pass by the height of a chain of the registry.
async fn heights(product: Product, chain: ChainName) {
    loop {
        let tips = product.platform.tips.of(&chain).await.unwrap_or_default();
        if let Some(height) = tips.iter().filter_map(|(_, tip)| tip.height).max()
            && let Err(error) = product.staking.reach(BtcHeight(height)).await
        {
            tracing::warn!(%error, "a height was not taken and will be");
        }
        tokio::time::sleep(HEIGHTS).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_everything_runs() {
        let all = Services::new(&[]);
        assert!(Service::value_variants().iter().all(|service| all.has(*service)));
        let one = Services::new(&[Service::Tips]);
        assert!(one.has(Service::Tips) && !one.has(Service::Web));
    }
}

//! How far the explored chains are behind their nodes.

use std::sync::Arc;

use platform::http::{Check, CheckState, Lag, Promise};
use scan::query::Scan;
use store::Order;
use timeline::Lane;

use super::App;

/// Epochs that a chain may be behind before requests had better go elsewhere.
const FAR: u64 = 1000;

/// The chain that is furthest behind.
pub(super) struct Lagging {
    pub(super) app: Arc<App>,
}

impl Check for Lagging {
    fn name(&self) -> &str {
        "scan"
    }

    fn state(&self) -> Promise<'_, CheckState> {
        Box::pin(async {
            let mut worst: Option<(String, Lag)> = None;
            for (explorer, chain) in self.app.explorers.all() {
                let tips = self.app.platform.tips.of(&chain.name).await.unwrap_or_default();
                let node = tips.iter().filter_map(|(_, tip)| tip.height).max();
                let (Some(node), Ok(view)) = (node, explorer.view().await) else { continue };
                let next = view.head(Lane::MINED).map_or(0, |head| head.height.0 + 1);
                let units = (node + 1).saturating_sub(next);
                if worst.as_ref().is_none_or(|(_, most)| most.units < units) {
                    let now = self.app.platform.clock.now() / 1000;
                    let seconds = age(&Scan::new(explorer.timeline(), &view), now).await;
                    worst = Some((chain.name.to_string(), Lag { units, seconds }));
                }
            }
            let Some((chain, lag)) = worst else {
                let detail = "No chain is explored.".to_owned();
                return CheckState { ok: true, detail, lag: None };
            };
            let units = lag.units;
            let detail = match units {
                0..FAR => format!("{chain} is {units} epochs behind its nodes."),
                _ => format!("{chain} is {units} epochs behind its nodes; it is catching up."),
            };
            CheckState { ok: units < FAR, detail, lag: Some(lag) }
        })
    }
}

/// Seconds since the newest indexed block was made, by the clocks of its miner and of this server.
async fn age(scan: &Scan<'_>, now: u64) -> u64 {
    let blocks = scan.totals().await.map_or(0, |totals| totals.blocks);
    let newest = (blocks.saturating_sub(1), Order::Descending, 1);
    let lines = scan.blocks(newest).await.unwrap_or_default();
    let made = lines.first().map_or(0, |(_, line)| line.timestamp);
    now.saturating_sub(made)
}

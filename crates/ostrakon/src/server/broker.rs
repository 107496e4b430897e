//! How the source of staking messages is doing.

use std::sync::Arc;

use platform::http::{Check, CheckState, Promise};
use staking::source::Status;

use crate::metrics::Exposition;

/// The broker that is configured, if one is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Broker(pub(crate) Option<Arc<Status>>);

impl Broker {
    /// Adds its measurements.
    pub(super) fn measured(&self, page: Exposition) -> Exposition {
        let Some(status) = &self.0 else { return page };
        let reading = status.read();
        let messages = [
            ("delivered", reading.delivered as f64),
            ("acknowledged", reading.acked as f64),
            ("put_off", reading.retried as f64),
        ];
        let name = ("ostrakon_staking_messages_total", "counter", "Messages of the broker.");
        let connected = f64::from(u8::from(reading.connected));
        page.each(name, "what", messages).gauge(
            "ostrakon_staking_broker_connected",
            "Whether messages of the broker are consumed.",
            connected,
        )
    }
}

impl Check for Broker {
    fn name(&self) -> &str {
        "staking"
    }

    /// Pages and API answer from the store whether or not the broker does, so it only tells.
    fn state(&self) -> Promise<'_, CheckState> {
        Box::pin(async {
            let reading = self.0.as_ref().map(|status| status.read());
            let detail = match reading {
                None => "No broker is read by this process.",
                Some(reading) if reading.connected => "The broker's queues are read.",
                Some(_) => "The broker is away; the log says why, and it is tried again.",
            };
            CheckState { ok: true, detail: detail.to_owned(), lag: None }
        })
    }
}

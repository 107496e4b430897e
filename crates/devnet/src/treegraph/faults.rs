//! Faults that a node can be told to have, for tests of whoever depends on it.

use std::future::Future;

use tokio::sync::watch;

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It accepts connections and never answers; what is open stays open. When it ends, so do the
    /// connections it held.
    Stall,
    /// It closes every connection at once.
    Silence,
}

/// What connections look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weather {
    fault: Fault,
    /// Grows whenever all connections are to be dropped.
    drops: u64,
}

/// The switch.
#[derive(Debug)]
pub(super) struct Faults(watch::Sender<Weather>);

impl Faults {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Weather::default()))
    }

    pub(super) fn set(&self, fault: Fault) {
        self.0.send_modify(|weather| weather.fault = fault);
    }

    pub(super) fn drop_all(&self) {
        self.0.send_modify(|weather| weather.drops += 1);
    }

    pub(super) fn watch(&self) -> Exposed {
        Exposed(self.0.subscribe())
    }
}

/// The end that connections hold.
#[derive(Clone, Debug)]
pub(super) struct Exposed(watch::Receiver<Weather>);

impl Exposed {
    /// Serves a connection until it ends or a fault ends it.
    pub(super) async fn serve(mut self, connection: impl Future<Output = ()>) {
        let drops = self.0.borrow().drops;
        let mut connection = std::pin::pin!(connection);
        let bad = |weather: &Weather| weather.fault != Fault::None || weather.drops != drops;
        tokio::select! {
            biased;
            weather = self.0.wait_for(bad) => {
                let stalls = weather.is_ok_and(|weather| {
                    weather.fault == Fault::Stall && weather.drops == drops
                });
                if !stalls {
                    return;
                }
            }
            () = &mut connection => return,
        }
        // The connection is kept and not looked at.
        let over = |weather: &Weather| weather.fault != Fault::Stall || weather.drops != drops;
        let _ = self.0.wait_for(over).await;
    }
}

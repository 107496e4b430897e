//! What one connection subscribed to.

use serde_json::{Value as Json, json};

use super::rpc::{RpcError, invalid};

/// Subscriptions of one connection.
pub(super) const SUBSCRIPTIONS: usize = 32;

/// What can be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Every block that is found.
    Heads,
    /// Every epoch that is mined, again when its pivot was replaced.
    Mined,
    /// Every epoch that is executed, likewise.
    State,
}

impl Topic {
    fn parse(params: &[Json]) -> Result<Self, RpcError> {
        let word = |at: usize| params.get(at).filter(|param| !param.is_null());
        match (word(0).and_then(Json::as_str), word(1)) {
            (Some("newHeads"), None) => Ok(Self::Heads),
            (Some("epochs"), None) => Ok(Self::Mined),
            (Some("epochs"), Some(from)) => match from.as_str() {
                Some("latest_mined") => Ok(Self::Mined),
                Some("latest_state") => Ok(Self::State),
                _ => Err(invalid("expected 'latest_mined' or 'latest_state'")),
            },
            (Some("newHeads"), Some(_)) => Err(invalid("newHeads takes no parameter")),
            (Some(other), _) => {
                let why = format!("unknown variant `{other}`, expected `newHeads` or `epochs`");
                Err(invalid(why))
            }
            (None, _) => Err(invalid("expected the name of a subscription")),
        }
    }
}

/// The subscriptions of a connection.
#[derive(Debug)]
pub(super) struct Subscriptions {
    held: Vec<(String, Topic)>,
    random: fastrand::Rng,
}

impl Subscriptions {
    pub(super) fn new() -> Self {
        Self { held: Vec::new(), random: fastrand::Rng::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The names of those who want to hear of a topic.
    pub(super) fn of(&self, topic: Topic) -> impl Iterator<Item = &str> {
        let named = self.held.iter().filter(move |(_, held)| *held == topic);
        named.map(|(id, _)| id.as_str())
    }

    /// `cfx_subscribe`.
    pub(super) fn subscribe(&mut self, params: &[Json]) -> Result<Json, RpcError> {
        let topic = Topic::parse(params)?;
        if self.held.len() >= SUBSCRIPTIONS {
            return Err(invalid(format!("a connection has at most {SUBSCRIPTIONS} subscriptions")));
        }
        let id = format!("{:#018x}", self.random.u64(..));
        self.held.push((id.clone(), topic));
        Ok(json!(id))
    }

    /// `cfx_unsubscribe`.
    pub(super) fn unsubscribe(&mut self, params: &[Json]) -> Result<Json, RpcError> {
        let id = params.first().and_then(Json::as_str).unwrap_or_default();
        let before = self.held.len();
        self.held.retain(|(held, _)| held != id);
        match self.held.len() < before {
            true => Ok(json!(true)),
            false => Err(invalid("Invalid subscription id.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_those_of_the_real_node() {
        let check = |params: Json| Topic::parse(params.as_array().expect("a list")).ok();
        assert_eq!(check(json!(["newHeads"])), Some(Topic::Heads));
        assert_eq!(check(json!(["epochs"])), Some(Topic::Mined));
        assert_eq!(check(json!(["epochs", null])), Some(Topic::Mined));
        assert_eq!(check(json!(["epochs", "latest_mined"])), Some(Topic::Mined));
        assert_eq!(check(json!(["epochs", "latest_state"])), Some(Topic::State));
        for bad in [json!([]), json!(["logs"]), json!(["epochs", "0x1"]), json!([1])] {
            assert_eq!(check(bad.clone()), None, "{bad}");
        }
    }

    #[test]
    fn there_are_only_so_many_and_each_ends_once() {
        let mut held = Subscriptions::new();
        let first = held.subscribe(&[json!("newHeads")]).expect("subscribed");
        assert_eq!(first.as_str().map(str::len), Some(18));
        while held.subscribe(&[json!("epochs")]).is_ok() {}
        assert_eq!(held.of(Topic::Mined).count(), SUBSCRIPTIONS - 1);
        assert!(held.unsubscribe(std::slice::from_ref(&first)).is_ok());
        assert!(held.unsubscribe(&[first]).is_err() && held.of(Topic::Heads).count() == 0);
        assert!(held.subscribe(&[json!("epochs")]).is_ok() && !held.is_empty());
    }
}

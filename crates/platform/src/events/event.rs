//! Events and filters.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::chains::ChainName;
use crate::guarded::json_value;

use super::EventError;

/// Characters of a kind.
const KIND_CHARS: usize = 64;
/// Kinds of one filter.
pub const FILTER_KINDS: usize = 16;

/// Something to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// What happened, dotted and in lower case: `scan.epoch.pushed`.
    pub kind: String,
    /// On which chain, if on one.
    pub chain: Option<ChainName>,
    /// What there is to know about it.
    pub data: Json,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the stream, from 1, without gaps. A million a second fit for 500,000 years.
    pub id: u64,
    /// When it was appended, Unix milliseconds by the clock of whoever did. Ids are the order.
    pub at: u64,
    /// What happened.
    pub kind: String,
    /// On which chain, if on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainName>,
    /// What there is to know about it.
    pub data: Json,
}

/// An event as it is stored, under its id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredEvent {
    pub(crate) at: u64,
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) chain: Option<ChainName>,
    pub(crate) data: Json,
}
json_value!(StoredEvent, format 1);

impl StoredEvent {
    pub(crate) fn with_id(self, id: u64) -> Event {
        let Self { at, kind, chain, data } = self;
        Event { id, at, kind, chain, data }
    }
}

/// Whether a kind is two or more words with dots between: `chain.added`.
///
/// # Errors
/// With the remedy.
pub fn check_kind(kind: &str) -> Result<(), EventError> {
    let word = |word: &str| {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        !word.is_empty() && word.bytes().all(allowed)
    };
    if kind.len() <= KIND_CHARS && kind.contains('.') && kind.split('.').all(word) {
        return Ok(());
    }
    let remedy = "use two or more words of a-z, 0-9 and _ with dots between, 64 characters in all";
    Err(EventError { field: "kind", remedy })
}

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventFilter {
    /// Of these kinds (`scan.epoch.pushed`) or beginnings of kinds (`scan.*`); all when empty.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// On this chain.
    #[serde(default)]
    pub chain: Option<ChainName>,
}

impl EventFilter {
    /// Checks the kinds.
    ///
    /// # Errors
    /// When there are too many, or one can never match.
    pub fn check(&self) -> Result<(), EventError> {
        if self.kinds.len() > FILTER_KINDS {
            return Err(EventError {
                field: "kinds",
                remedy: "use at most 16, or a beginning: a.*",
            });
        }
        for kind in &self.kinds {
            match kind.strip_suffix(".*") {
                // A beginning is a kind with any last word.
                Some(beginning) => check_kind(&format!("{beginning}.x"))?,
                None => check_kind(kind)?,
            }
        }
        Ok(())
    }

    /// Whether an event is one of them.
    #[must_use]
    pub fn matches(&self, event: &Event) -> bool {
        let of_kind = |kind: &String| match kind.strip_suffix('*') {
            Some(beginning) => event.kind.starts_with(beginning),
            None => event.kind == *kind,
        };
        let on_chain = self.chain.is_none() || self.chain == event.chain;
        on_chain && (self.kinds.is_empty() || self.kinds.iter().any(of_kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_dotted_words() {
        for good in ["scan.epoch.pushed", "a.b", "staking.v2_event.x1"] {
            check_kind(good).expect(good);
        }
        for bad in ["", "scan", ".a", "a.", "a..b", "A.b", "a b.c", "a.*", &"a.".repeat(40)] {
            assert!(check_kind(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_filter_takes_kinds_beginnings_and_a_chain() {
        let eth = ChainName::new("eth").expect("a name");
        let event = |kind: &str, chain: Option<&ChainName>| {
            let (kind, chain) = (kind.to_owned(), chain.cloned());
            StoredEvent { at: 0, kind, chain, data: Json::Null }.with_id(1)
        };
        let filter = |kinds: &[&str], chain: Option<&ChainName>| {
            let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            let filter = EventFilter { kinds, chain: chain.cloned() };
            filter.check().expect("a filter");
            filter
        };
        let pushed = event("scan.epoch.pushed", Some(&eth));
        assert!(filter(&[], None).matches(&pushed));
        assert!(filter(&["scan.*"], Some(&eth)).matches(&pushed));
        assert!(filter(&["a.b", "scan.epoch.pushed"], None).matches(&pushed));
        assert!(!filter(&["scan.epoch"], None).matches(&pushed));
        assert!(!filter(&["sca.*"], None).matches(&pushed));
        assert!(!filter(&[], Some(&eth)).matches(&event("a.b", None)));
        let wrong = |kinds: Vec<String>| EventFilter { kinds, chain: None }.check().is_err();
        assert!(wrong(vec!["*".into()]) && wrong(vec!["a*".into()]));
        assert!(wrong(vec!["a.b".into(); FILTER_KINDS + 1]));
    }
}

//! `[staking]`: statistics of Bitcoin staking, and where their events come from.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use staking::address::Network;
use staking::compat::CompatSettings;
use staking::source;
use toml::{Spanned, Value};

use super::file::{Check, Item, kind};
use super::problem::Problem;
use crate::admin::Hidden;

/// Logical shards that may be set.
const SHARDS: std::ops::RangeInclusive<i64> = 1..=4096;
/// Hours that a step may wait for an earlier one.
const PATIENCE: std::ops::RangeInclusive<i64> = 1..=10_000;
/// Rows of a page of Babylon's API.
const PAGE: std::ops::RangeInclusive<i64> = 2..=staking::PAGE as i64;
/// Messages of a queue that the broker sends before one is acknowledged.
const PREFETCH: std::ops::RangeInclusive<i64> = 1..=65_535;
/// Messages that are taken at once.
const BATCH: std::ops::RangeInclusive<i64> = 1..=staking::BATCH as i64;
/// Seconds before a message is tried again.
const RETRY_SECONDS: std::ops::RangeInclusive<i64> = 1..=3_600;
/// Holds the address of the broker; wins over `url`.
const URL_VARIABLE: &str = "OSTRAKON_RABBITMQ_URL";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [staking]")]
pub(super) struct StakingSection {
    shards: Item,
    patience_hours: Item,
    network: Item,
    chain: Item,
    global_params: Item,
    finality_providers: Item,
    page: Item,
    rabbitmq: Option<RabbitMqSection>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [staking.rabbitmq]")]
struct RabbitMqSection {
    url: Item,
    prefetch: Item,
    batch: Item,
    retry_seconds: Item,
}

/// What can be set of staking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StakingSettings {
    /// Logical shards of the statistics.
    pub(crate) shards: u16,
    /// Hours after which a step that waits for an earlier one is given up.
    pub(crate) patience_hours: u64,
    /// The chain of the registry whose height lets timelocks pass.
    pub(crate) chain: Option<String>,
    /// Parameters that are served to stakers, and finality providers that are known by name.
    pub(crate) compat: CompatSettings,
    /// The broker whose queues are read.
    pub(crate) rabbitmq: Option<RabbitMqSettings>,
}

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RabbitMqSettings {
    /// Its address, with user and password.
    url: Hidden,
    prefetch: Option<u16>,
    batch: Option<usize>,
    retry_seconds: Option<u64>,
}

impl RabbitMqSettings {
    /// What the source needs of them.
    pub(crate) fn source(&self) -> source::Settings {
        let mut settings = source::Settings::new(self.url.0.clone());
        settings.prefetch = self.prefetch.unwrap_or(settings.prefetch);
        settings.batch = self.batch.unwrap_or(settings.batch);
        settings.retry_delay = self.retry_seconds.map_or(settings.retry_delay, Duration::from_secs);
        settings
    }
}

impl Default for StakingSettings {
    fn default() -> Self {
        let staking::Settings { shards, patience_hours, .. } = staking::Settings::default();
        Self {
            shards,
            patience_hours,
            chain: None,
            compat: CompatSettings::default(),
            rabbitmq: None,
        }
    }
}

impl StakingSettings {
    /// What the service itself needs of them.
    pub(crate) fn service(&self) -> staking::Settings {
        let (shards, patience_hours) = (self.shards, self.patience_hours);
        staking::Settings { shards, patience_hours, ..staking::Settings::default() }
    }
}

impl StakingSection {
    /// Reads the section.
    pub(super) fn read(&self, check: &Check<'_>, base: &Path) -> Result<StakingSettings, Problem> {
        let mut settings = StakingSettings::default();
        if let Some(item) = &self.shards {
            settings.shards = whole(check, item, "shards", &SHARDS)?;
        }
        if let Some(item) = &self.patience_hours {
            settings.patience_hours = whole(check, item, "patience_hours", &PATIENCE)?;
        }
        if let Some(item) = &self.chain {
            settings.chain = Some(check.words(item, "chain", "bitcoin")?.to_owned());
        }
        settings.compat = self.compat(check, base)?;
        if let Some(item) = &self.page {
            settings.compat.page = whole(check, item, "page", &PAGE)?;
        }
        if let Some(section) = &self.rabbitmq {
            settings.rabbitmq = Some(section.read(check)?);
        }
        Ok(settings)
    }
}

impl StakingSection {
    /// What stakers are told, from files as Babylon publishes them.
    fn compat(&self, check: &Check<'_>, base: &Path) -> Result<CompatSettings, Problem> {
        let network = match &self.network {
            Some(item) => network(check, item)?,
            None => Network::default(),
        };
        let params = (&self.global_params, "global_params", "global-params.json");
        let providers = (&self.finality_providers, "finality_providers", "finality-providers.json");
        let read = |(item, name, example): (&Item, &str, &str)| {
            item.as_ref().map(|item| text(check, item, base, name, example)).transpose()
        };
        let (params, providers) = (read(params)?, read(providers)?);
        CompatSettings::read(network, params.as_deref(), providers.as_deref()).map_err(|error| {
            check.whole("[staking] names a file that is wrong".to_owned(), error.to_string())
        })
    }
}

impl RabbitMqSection {
    fn read(&self, check: &Check<'_>) -> Result<RabbitMqSettings, Problem> {
        let example = "amqp://user:password@127.0.0.1:5672";
        let url = match (std::env::var(URL_VARIABLE), &self.url) {
            (Ok(url), _) => url,
            (Err(_), Some(item)) => check.words(item, "url", example)?.to_owned(),
            (Err(_), None) => {
                let what = "[staking.rabbitmq] has no `url`".to_owned();
                let remedy = format!("add url = \"{example}\", or set {URL_VARIABLE}");
                return Err(check.whole(what, remedy));
            }
        };
        let settings = RabbitMqSettings {
            url: Hidden(url),
            prefetch: optional(check, &self.prefetch, "prefetch", &PREFETCH)?,
            batch: optional(check, &self.batch, "batch", &BATCH)?,
            retry_seconds: optional(check, &self.retry_seconds, "retry_seconds", &RETRY_SECONDS)?,
        };
        settings.source().check().map_err(|error| {
            check.whole("[staking.rabbitmq] is wrong".to_owned(), error.to_string())
        })?;
        Ok(settings)
    }
}

fn optional<T: TryFrom<i64>>(
    check: &Check<'_>,
    item: &Item,
    name: &str,
    range: &std::ops::RangeInclusive<i64>,
) -> Result<Option<T>, Problem> {
    item.as_ref().map(|item| whole(check, item, name, range)).transpose()
}

fn whole<T: TryFrom<i64>>(
    check: &Check<'_>,
    item: &Spanned<Value>,
    name: &str,
    range: &std::ops::RangeInclusive<i64>,
) -> Result<T, Problem> {
    let number = item.get_ref().as_integer().filter(|number| range.contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        let what = match item.get_ref() {
            Value::Integer(number) => format!("`{name}` is {number}"),
            other => format!("`{name}` is {}", kind(other)),
        };
        let (least, most) = (range.start(), range.end());
        check.problem(item, what, format!("use a whole number from {least} to {most}"))
    })
}

fn network(check: &Check<'_>, item: &Spanned<Value>) -> Result<Network, Problem> {
    match check.words(item, "network", "mainnet")? {
        "mainnet" => Ok(Network::Mainnet),
        "testnet" | "signet" => Ok(Network::Testnet),
        "regtest" => Ok(Network::Regtest),
        other => {
            let what = format!("`network` is {other:?}");
            let remedy = "use \"mainnet\", \"testnet\", \"signet\" or \"regtest\"".to_owned();
            Err(check.problem(item, what, remedy))
        }
    }
}

/// The text of a file.
fn text(
    check: &Check<'_>,
    item: &Spanned<Value>,
    base: &Path,
    name: &str,
    example: &str,
) -> Result<String, Problem> {
    let file = base.join(check.words(item, name, example)?);
    std::fs::read_to_string(&file).map_err(|error| {
        let what = format!("`{name}` {} cannot be read: {error}", file.display());
        check.problem(item, what, "name a file of JSON".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::file;
    use super::Network;

    #[test]
    fn staking_is_read_and_mistakes_named() {
        let good = "[staking]\nshards = 10\nnetwork = \"signet\"\nchain = \"btc\"\npage = 50\n";
        let settings = file::read(Path::new("o.toml"), good).expect("correct").staking;
        assert_eq!((settings.shards, settings.compat.network), (10, Network::Testnet));
        assert_eq!((settings.chain.as_deref(), settings.compat.page), (Some("btc"), 50));
        for (text, what) in [
            ("[staking]\nshards = 0\n", "from 1 to 4096"),
            ("[staking]\nshards = \"many\"\n", "from 1 to 4096"),
            ("[staking]\npage = 1\n", "from 2 to 100"),
            ("[staking]\nnetwork = \"moon\"\n", "\"regtest\""),
            ("[staking]\nglobal_params = \"nowhere.json\"\n", "cannot be read"),
            ("[staking]\nshard = 5\n", "shards"),
        ] {
            let problem = file::read(Path::new("o.toml"), text).expect_err(what).to_string();
            assert!(problem.contains(what), "{text}: {problem}");
        }
    }
}

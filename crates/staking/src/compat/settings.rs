//! What the operator sets: the network, and the two files of the original.

use std::collections::HashSet;

use ::bitcoin::XOnlyPublicKey;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::params::GlobalParams;
use crate::PublicKey;
use crate::address::Network;

/// Finality providers of the file at the most.
const LISTED: usize = 5_000;
/// Characters of one text of a description at the most.
const TEXT: usize = 10_000;
const FILE: &str = "finality-providers.json";

/// What the operator sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompatSettings {
    /// The network whose addresses are read.
    pub network: Network,
    /// The parameters of staking. Without them signatures of unbonding requests are not checked.
    pub global_params: Option<GlobalParams>,
    /// Finality providers that describe themselves.
    pub finality_providers: Vec<FinalityProvider>,
    /// Rows of a page, at most [`crate::PAGE`].
    pub page: usize,
}

impl Default for CompatSettings {
    fn default() -> Self {
        Self {
            network: Network::default(),
            global_params: None,
            finality_providers: Vec::new(),
            page: 10,
        }
    }
}

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompatError {
    /// It has not the form of the original's file.
    #[error("{file}: {error}; use the file of the original as it is")]
    NotJson {
        /// Which file.
        file: &'static str,
        /// What is wrong.
        error: String,
    },
    /// The parameters cannot be meant.
    #[error("global-params.json: version {version}: {what}")]
    Params {
        /// In which version.
        version: u64,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A finality provider cannot be meant.
    #[error("finality-providers.json: number {number}: {what}")]
    Provider {
        /// Which one, from 1.
        number: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
}

/// A finality provider that describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalityProvider {
    /// What it says of itself.
    pub description: Description,
    /// What it keeps of rewards, decimal.
    pub commission: String,
    /// Its key.
    pub btc_pk: PublicKey,
}

/// What a finality provider says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BabylonDescription)]
pub struct Description {
    /// Its name.
    pub moniker: String,
    /// How to verify it elsewhere.
    #[serde(default)]
    pub identity: String,
    /// Its website.
    #[serde(default)]
    pub website: String,
    /// Whom to tell of a weakness.
    #[serde(default)]
    pub security_contact: String,
    /// Anything else.
    #[serde(default)]
    pub details: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    finality_providers: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    description: Description,
    commission: String,
    #[serde(default)]
    btc_pk: String,
    /// The name that later files give the key.
    #[serde(default)]
    eots_pk: String,
}

impl CompatSettings {
    /// Reads the texts of `global-params.json` and `finality-providers.json`.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn read(
        network: Network,
        global_params: Option<&str>,
        finality_providers: Option<&str>,
    ) -> Result<Self, CompatError> {
        Ok(Self {
            network,
            global_params: global_params.map(GlobalParams::read).transpose()?,
            finality_providers: finality_providers.map_or(Ok(Vec::new()), providers)?,
            ..Self::default()
        })
    }
}

fn providers(text: &str) -> Result<Vec<FinalityProvider>, CompatError> {
    let file: File = serde_json::from_str(text)
        .map_err(|error| CompatError::NotJson { file: FILE, error: error.to_string() })?;
    let mut known = HashSet::new();
    let mut providers = Vec::with_capacity(file.finality_providers.len().min(LISTED));
    for (place, entry) in file.finality_providers.into_iter().enumerate() {
        let wrong = |what: &str| CompatError::Provider { number: place + 1, what: what.to_owned() };
        if place >= LISTED {
            return Err(wrong("there are more than 5000; list fewer"));
        }
        let provider = entry.provider().map_err(wrong)?;
        if !known.insert(provider.btc_pk) {
            return Err(wrong("its btc_pk is listed twice; keep one"));
        }
        providers.push(provider);
    }
    Ok(providers)
}

impl Entry {
    fn provider(self) -> Result<FinalityProvider, &'static str> {
        let text = if self.eots_pk.is_empty() { &self.btc_pk } else { &self.eots_pk };
        let key = PublicKey::parse(text).map_err(|_| "btc_pk: it must be 64 hexadecimal digits")?;
        XOnlyPublicKey::from_slice(&key.0).map_err(|_| "btc_pk: it is not on the curve")?;
        if !is_share(&self.commission) {
            return Err("commission: it must be a decimal from 0 to 1");
        }
        let Description { moniker, identity, website, security_contact, details } =
            &self.description;
        let texts = [moniker, identity, website, security_contact, details];
        if texts.iter().any(|text| text.len() > TEXT) {
            return Err("description: a text has more than 10000 bytes; shorten it");
        }
        Ok(FinalityProvider {
            description: self.description,
            commission: self.commission,
            btc_pk: key,
        })
    }
}

/// Whether a text is a decimal from 0 to 1.
fn is_share(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    digits(whole) && digits(part) && (is_zero(whole) || (whole == "1" && is_zero(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const KEY: &str = "50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0";

    fn entry() -> Value {
        json!({
            "description": { "moniker": "One", "identity": "", "website": "", "details": "",
                "security_contact": "" },
            "commission": "0.050000000000000000", "btc_pk": KEY,
        })
    }

    fn read(entries: &[Value]) -> Result<CompatSettings, CompatError> {
        let text = json!({ "finality_providers": entries }).to_string();
        CompatSettings::read(Network::Regtest, None, Some(&text))
    }

    #[test]
    fn both_names_of_the_key_are_read() {
        let mut later = entry();
        later["btc_pk"] = "".into();
        later["eots_pk"] = KEY.into();
        for entry in [entry(), later] {
            let settings = read(&[entry]).expect("valid");
            assert_eq!(settings.finality_providers[0].btc_pk.to_string(), KEY);
            assert_eq!(settings.network, Network::Regtest);
        }
        assert!(CompatSettings::read(Network::Mainnet, None, None).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_number() {
        for (field, wrong, named) in [
            ("btc_pk", json!("00"), "64 hexadecimal"),
            ("btc_pk", json!("ff".repeat(32)), "curve"),
            ("commission", json!("1.1"), "commission"),
            ("commission", json!("2"), "commission"),
            ("commission", json!("-0"), "commission"),
            ("commission", json!("5%"), "commission"),
            ("commission", json!(""), "commission"),
            ("commission", json!(0.05), FILE),
            ("comission", json!("0"), "comission"),
            ("description", json!({}), "moniker"),
        ] {
            let mut entry = entry();
            entry[field] = wrong;
            let error = read(&[entry]).expect_err(named).to_string();
            assert!(error.contains(named), "{field}: {error}");
        }
        let error = read(&[entry(), entry()]).expect_err("twice").to_string();
        assert!(error.contains("number 2") && error.contains("twice"), "{error}");
        for share in ["0", "1", "1.000", "0.05", "00.3"] {
            assert!(is_share(share), "{share}");
        }
    }
}

//! The parameters that stakes are made under: `global-params.json` of the original.

use ::bitcoin::XOnlyPublicKey;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::settings::CompatError;
use crate::{BtcHeight, Satoshi};

/// The least that an unbonding output is worth, in satoshi: nodes do not relay dust.
const LEAST_OUTPUT: u64 = 1_000;
/// Keys of a covenant at the most, so that its scripts stay small.
const COVENANT: usize = 100;

/// The parameters, all their versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BabylonGlobalParams)]
pub struct GlobalParams {
    /// Versions, each valid from its height on.
    versions: Vec<VersionedParams>,
}

/// One version of the parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BabylonVersionedParams)]
pub struct VersionedParams {
    /// Its number.
    version: u64,
    /// The height it is valid from.
    activation_height: u64,
    /// Satoshi that are taken at the most; 0 when there is a height instead.
    #[serde(default)]
    staking_cap: u64,
    /// The height until which stakes are taken; 0 when there is an amount instead.
    #[serde(default)]
    cap_height: u64,
    /// What marks a staking transaction, 4 bytes.
    tag: String,
    /// Keys of the covenant, 33 bytes each.
    covenant_pks: Vec<String>,
    /// How many of them sign.
    covenant_quorum: u32,
    /// For how many blocks an unbonding output is locked.
    unbonding_time: u16,
    /// Satoshi that an unbonding transaction pays.
    unbonding_fee: u64,
    /// Satoshi of a stake at the most.
    max_staking_amount: u64,
    /// Satoshi of a stake at the least.
    min_staking_amount: u64,
    /// Blocks of a stake at the most.
    max_staking_time: u16,
    /// Blocks of a stake at the least.
    min_staking_time: u16,
    /// Blocks after which a transaction counts as confirmed.
    confirmation_depth: u16,
}

impl GlobalParams {
    /// Reads the text of the file.
    ///
    /// # Errors
    /// With the first thing that is wrong.
    pub fn read(text: &str) -> Result<Self, CompatError> {
        let params: Self = serde_json::from_str(text).map_err(|error| CompatError::NotJson {
            file: "global-params.json",
            error: error.to_string(),
        })?;
        if params.versions.is_empty() {
            let what = "there is no version; list at least one".to_owned();
            return Err(CompatError::Params { version: 0, what });
        }
        let mut cap = 0;
        for (place, params_of) in params.versions.iter().enumerate() {
            let wrong = |what| CompatError::Params { version: params_of.version, what };
            params_of.check().map_err(wrong)?;
            let before = place.checked_sub(1).and_then(|place| params.versions.get(place));
            params_of.check_after(before, cap).map_err(wrong)?;
            cap = cap.max(params_of.staking_cap);
        }
        Ok(params)
    }

    /// The version that a stake of a height was made under.
    #[must_use]
    pub fn at(&self, BtcHeight(height): BtcHeight) -> Option<&VersionedParams> {
        self.versions.iter().rev().find(|version| version.activation_height <= height)
    }
}

impl VersionedParams {
    /// Keys of the covenant in the order of its scripts; none when one is no key.
    pub(super) fn covenant(&self) -> Option<Vec<XOnlyPublicKey>> {
        let key = |text: &String| {
            let key: ::bitcoin::secp256k1::PublicKey = text.parse().ok()?;
            (text.len() == 66).then(|| key.x_only_public_key().0)
        };
        let mut keys = self.covenant_pks.iter().map(key).collect::<Option<Vec<_>>>()?;
        keys.sort_unstable_by_key(XOnlyPublicKey::serialize);
        Some(keys)
    }

    /// How many keys of the covenant sign.
    pub(super) fn quorum(&self) -> u32 {
        self.covenant_quorum
    }

    /// For how many blocks an unbonding output is locked.
    pub(super) fn unbonding_time(&self) -> u16 {
        self.unbonding_time
    }

    /// What is left of a stake after the fee of its unbonding; none when nothing is.
    pub(super) fn unbonded(&self, Satoshi(value): Satoshi) -> Option<u64> {
        value.checked_sub(self.unbonding_fee).filter(|left| *left > 0)
    }

    fn check(&self) -> Result<(), String> {
        let must = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.to_owned());
        let tag = crate::hex::read(&self.tag);
        must(tag.is_some_and(|tag| tag.len() == 4), "tag: it must be 4 bytes in hexadecimal")?;
        must(self.activation_height > 0, "activation_height: it must be positive")?;
        self.check_covenant()?;
        let amounts = [self.unbonding_fee, self.min_staking_amount, self.max_staking_amount];
        let possible = amounts.iter().all(|amount| Satoshi::staked(*amount).is_ok());
        must(possible, "an amount or fee is 0, or more than there will ever be")?;
        must(
            self.min_staking_amount <= self.max_staking_amount,
            "min_staking_amount: it must not be above max_staking_amount",
        )?;
        must(
            self.min_staking_amount >= self.unbonding_fee + LEAST_OUTPUT,
            "min_staking_amount: it must be at least unbonding_fee plus 1000",
        )?;
        let times = [self.unbonding_time, self.min_staking_time, self.max_staking_time];
        must(times.iter().all(|time| *time > 0), "a time is 0; set 1 to 65535 blocks")?;
        must(
            self.min_staking_time <= self.max_staking_time,
            "min_staking_time: it must not be above max_staking_time",
        )?;
        must(self.confirmation_depth >= 2, "confirmation_depth: it must be at least 2")?;
        must(
            (self.staking_cap == 0) != (self.cap_height == 0),
            "set one of staking_cap and cap_height, and not both",
        )?;
        must(
            self.staking_cap == 0 || self.staking_cap >= self.max_staking_amount,
            "staking_cap: it must not be below max_staking_amount",
        )
    }

    fn check_covenant(&self) -> Result<(), String> {
        if !(1..=COVENANT).contains(&self.covenant_pks.len()) {
            return Err(format!("covenant_pks: list 1 to {COVENANT} keys"));
        }
        let mut keys = self
            .covenant()
            .ok_or_else(|| "covenant_pks: each must be a key of 33 bytes".to_owned())?;
        keys.dedup();
        if keys.len() < self.covenant_pks.len() {
            return Err("covenant_pks: a key is listed twice".to_owned());
        }
        let quorum = usize::try_from(self.covenant_quorum).unwrap_or(usize::MAX);
        if !(1..=keys.len()).contains(&quorum) {
            return Err("covenant_quorum: it must be from 1 to the number of keys".to_owned());
        }
        Ok(())
    }

    fn check_after(&self, before: Option<&Self>, cap: u64) -> Result<(), String> {
        let Some(before) = before else { return Ok(()) };
        if Some(self.version) != before.version.checked_add(1) {
            return Err("version: each must be one more than the one before".to_owned());
        }
        if self.activation_height <= before.activation_height {
            return Err("activation_height: it must be above that of the version before".to_owned());
        }
        if self.staking_cap != 0 && self.staking_cap < cap {
            return Err("staking_cap: it must not be below an earlier one".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const KEY: &str = "0250929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0";
    const OTHER: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

    fn version(number: u64) -> Value {
        json!({
            "version": number, "activation_height": 100 + number, "staking_cap": 50_000_000,
            "tag": "01020304", "covenant_pks": [KEY, OTHER], "covenant_quorum": 2,
            "unbonding_time": 10, "unbonding_fee": 10_000, "max_staking_amount": 1_000_000,
            "min_staking_amount": 50_000, "max_staking_time": 60_000, "min_staking_time": 100,
            "confirmation_depth": 10,
        })
    }

    fn read(versions: &[Value]) -> Result<GlobalParams, CompatError> {
        GlobalParams::read(&json!({ "versions": versions }).to_string())
    }

    #[test]
    fn a_stake_is_under_the_version_of_its_height() {
        let params = read(&[version(0), version(1)]).expect("valid");
        let at = |height| params.at(BtcHeight(height)).map(|version| version.version);
        assert_eq!([at(99), at(100), at(101), at(9999)], [None, Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (field, wrong, named) in [
            ("tag", json!("0102"), "tag"),
            ("tag", json!("0102030g"), "tag"),
            ("covenant_pks", json!([]), "covenant_pks"),
            ("covenant_pks", json!([&KEY[2..], OTHER]), "covenant_pks"),
            ("covenant_pks", json!([KEY, KEY]), "twice"),
            ("covenant_pks", json!([KEY, format!("03{}", &KEY[2..])]), "twice"),
            ("covenant_quorum", json!(0), "covenant_quorum"),
            ("covenant_quorum", json!(3), "covenant_quorum"),
            ("unbonding_time", json!(0), "time"),
            ("unbonding_time", json!(65_536), "global-params.json"),
            ("unbonding_fee", json!(0), "fee"),
            ("unbonding_fee", json!(49_001), "min_staking_amount"),
            ("min_staking_amount", json!(2_000_000), "min_staking_amount"),
            ("min_staking_time", json!(60_001), "min_staking_time"),
            ("confirmation_depth", json!(1), "confirmation_depth"),
            ("activation_height", json!(0), "activation_height"),
            ("cap_height", json!(200), "staking_cap"),
            ("staking_cap", json!(0), "staking_cap"),
            ("staking_cap", json!(999_999), "staking_cap"),
            ("invented", json!(1), "invented"),
        ] {
            let mut params = version(0);
            params[field] = wrong;
            let error = read(&[params]).expect_err(named).to_string();
            assert!(error.contains(named), "{field}: {error}");
        }
        for (field, wrong) in [
            ("version", json!(2)),
            ("activation_height", json!(100)),
            ("staking_cap", json!(4_000_000)),
        ] {
            let mut second = version(1);
            second[field] = wrong;
            let error = read(&[version(0), second]).expect_err(field).to_string();
            assert!(error.contains(field), "{error}");
        }
        assert!(read(&[]).is_err());
        assert!(GlobalParams::read("{").is_err());
    }
}

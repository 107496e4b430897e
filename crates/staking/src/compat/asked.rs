//! Queries as the original reads them: the first value counts, an empty one is none, and what is
//! not known or not encoded well is passed over.

use std::convert::Infallible;

use ::bitcoin::Address;
use ::bitcoin::address::NetworkUnchecked;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use platform::http::decode;

use super::answer::Refusal;
use crate::address::Network;
use crate::delegation::State;
use crate::{PublicKey, TxHash};

/// Parameters that are looked at.
const PARAMETERS: usize = 64;
/// States in which there is something left to do.
const PENDING: [State; 4] =
    [State::Active, State::UnbondingRequested, State::Unbonding, State::Unbonded];
/// States of the original that no delegation has here.
const ELSEWHERE: [&str; 2] = ["withdrawable", "transitioned"];

/// The parameters of a query.
#[derive(Debug, Default)]
pub(super) struct Asked(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.query().unwrap_or_default()))
    }
}

/// An address, and the key that its staker is looked up by; none for one of another network, whose
/// staker is nobody here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AskedAddress {
    pub(super) text: String,
    pub(super) lookup: Option<Vec<u8>>,
}

impl Asked {
    fn of(query: &str) -> Self {
        let pairs = query.split('&').take(PARAMETERS).filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name)?, decode(value)?))
        });
        Self(pairs.collect())
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter; empty when there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// The key of a page; empty for the first one.
    pub(super) fn page(&self) -> &str {
        self.text("pagination_key")
    }

    /// A public key, if it is asked for one.
    pub(super) fn key(&self, name: &str) -> Result<Option<PublicKey>, Refusal> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        PublicKey::parse(text).map(Some).map_err(|_| Refusal::bad(format!("invalid {name}")))
    }

    /// A public key that must be there.
    pub(super) fn required_key(&self, name: &str) -> Result<PublicKey, Refusal> {
        self.key(name)?.ok_or_else(|| required(name))
    }

    /// The hash of a staking transaction, which must be there.
    pub(super) fn hash(&self) -> Result<TxHash, Refusal> {
        let name = "staking_tx_hash_hex";
        let text = self.text(name);
        if text.is_empty() {
            return Err(required(name));
        }
        TxHash::parse(text).map_err(|_| Refusal::bad(format!("invalid {name}")))
    }

    /// The states that are asked for, in order; none for all of them.
    pub(super) fn states(&self) -> Result<Option<Vec<State>>, Refusal> {
        let mut wanted: Option<Vec<State>> = None;
        for word in self.all("state").filter(|word| !word.is_empty()) {
            let state = State::of_word(word);
            if state.is_none() && !ELSEWHERE.contains(&word) {
                let word: String = word.chars().take(64).collect();
                return Err(Refusal::bad(format!("invalid delegation state: {word}")));
            }
            wanted.get_or_insert_default().extend(state);
        }
        match self.text("pending_action") {
            "" | "false" => {}
            "true" => match &mut wanted {
                Some(states) => states.retain(|state| PENDING.contains(state)),
                None => wanted = Some(PENDING.to_vec()),
            },
            _ => return Err(Refusal::bad("invalid pending_action")),
        }
        if let Some(states) = &mut wanted {
            states.sort_unstable();
            states.dedup();
        }
        Ok(wanted)
    }

    /// One address.
    pub(super) fn address(&self, network: Network) -> Result<AskedAddress, Refusal> {
        let text = self.text("address");
        if text.is_empty() {
            return Err(required("address"));
        }
        address(network, text)
    }

    /// Some addresses.
    pub(super) fn addresses(
        &self,
        network: Network,
        limit: usize,
    ) -> Result<Vec<AskedAddress>, Refusal> {
        let texts: Vec<&str> = self.all("address").collect();
        if texts.is_empty() {
            return Err(required("address"));
        }
        if texts.len() > limit {
            return Err(Refusal::bad(format!("Maximum {limit} address allowed")));
        }
        texts.into_iter().map(|text| address(network, text)).collect()
    }
}

fn required(name: &str) -> Refusal {
    Refusal::bad(format!("{name} is required"))
}

/// Only addresses that one key alone can sign for lead to a staker: Taproot, and native SegWit with
/// the hash of a key.
fn address(network: Network, text: &str) -> Result<AskedAddress, Refusal> {
    let parsed: Result<Address<NetworkUnchecked>, _> = text.parse();
    let unknown = "can not decode btc address: decoded address is of unknown format";
    let parsed = parsed.map_err(|_| Refusal::bad(unknown))?.assume_checked();
    if !parsed.witness_program().is_some_and(|it| it.is_p2wpkh() || it.is_p2tr()) {
        return Err(Refusal::bad("unsupported btc address type"));
    }
    Ok(AskedAddress { text: text.to_owned(), lookup: network.lookup_key(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_counts_and_odd_ones_are_passed_over() {
        let asked = Asked::of("a=1&a=2&b&c=%zz&d=x%20y+z&%61b=3&=&&utm=5");
        assert_eq!((asked.text("a"), asked.text("b"), asked.text("c")), ("1", "", ""));
        assert_eq!((asked.text("d"), asked.text("ab")), ("x y z", "3"));
        let many: String = (0..1000).map(|n| format!("n{n}={n}&")).collect();
        assert_eq!(Asked::of(&many).0.len(), PARAMETERS);
    }

    #[test]
    fn states_are_a_set() {
        let check = |query: &str, expected: Option<&[State]>| {
            let found = Asked::of(query).states().expect(query);
            assert_eq!(found.as_deref(), expected, "{query}");
        };
        check("", None);
        check("state=", None);
        check("state=unbonded&state=active&state=active", Some(&[State::Active, State::Unbonded]));
        check("state=withdrawable", Some(&[]));
        check("pending_action=false", None);
        check("pending_action=true", Some(&PENDING));
        check("pending_action=true&state=withdrawn&state=unbonding", Some(&[State::Unbonding]));
        for wrong in ["state=Active", "state=active&state=x", "pending_action=1"] {
            assert!(Asked::of(wrong).states().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_addresses_of_one_key_are_looked_up() {
        let message = |address: &str| {
            let refusal = address_of(address).expect_err(address);
            format!("{refusal:?}")
        };
        let lookup = |text: &str| address_of(text).expect(text).lookup;
        let own = lookup("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4");
        assert_eq!(own.map(|key| key.len()), Some(21));
        assert_eq!(lookup("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"), None);
        let legacy = message("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2");
        assert!(legacy.contains("unsupported btc address type"), "{legacy}");
        let script = "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3";
        assert!(message(script).contains("unsupported btc address type"));
        for wrong in ["", "bc1", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"] {
            assert!(message(wrong).contains("can not decode btc address"), "{wrong}");
        }
    }

    fn address_of(text: &str) -> Result<AskedAddress, Refusal> {
        address(Network::Mainnet, text)
    }
}

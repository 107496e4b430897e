//! Addresses of a staker: a key has one of Taproot, and two of native SegWit, because the sign that
//! a key of 32 bytes leaves out may be either.

use std::sync::LazyLock;

use ::bitcoin::hashes::Hash as _;
use ::bitcoin::key::Secp256k1;
use ::bitcoin::secp256k1::VerifyOnly;
use ::bitcoin::{Address, KnownHrp, WitnessProgram, XOnlyPublicKey};
use store::{BoundError, Row};

use crate::PublicKey;
use crate::tables::ADDRESSES;

/// The network whose addresses are read and shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Bitcoin itself.
    #[default]
    Mainnet,
    /// Its test networks, Signet too.
    Testnet,
    /// A network of one's own.
    Regtest,
}

impl Network {
    fn hrp(self) -> KnownHrp {
        match self {
            Self::Mainnet => KnownHrp::Mainnet,
            Self::Testnet => KnownHrp::Testnets,
            Self::Regtest => KnownHrp::Regtest,
        }
    }

    /// The key that a Taproot or native SegWit address is looked up by; none when it is no such
    /// address of this network.
    #[must_use]
    pub fn lookup_key(self, address: &str) -> Option<Vec<u8>> {
        let parsed: Address<::bitcoin::address::NetworkUnchecked> = address.parse().ok()?;
        let parsed = parsed.assume_checked();
        let program = parsed.witness_program()?;
        let is_of_network = parsed == Address::from_witness_program(program, self.hrp());
        is_of_network.then(|| key_of(&program))
    }

    /// The Taproot address of a staker; none when the key is not on the curve.
    #[must_use]
    pub fn taproot(self, key: PublicKey) -> Option<String> {
        let program = taproot(key)?;
        Some(Address::from_witness_program(program, self.hrp()).to_string())
    }
}

fn key_of(program: &WitnessProgram) -> Vec<u8> {
    let mut key = vec![program.version().to_num()];
    key.extend_from_slice(program.program().as_bytes());
    key
}

/// Making one costs more than using it.
pub(crate) static CURVE: LazyLock<Secp256k1<VerifyOnly>> =
    LazyLock::new(Secp256k1::verification_only);

fn taproot(PublicKey(key): PublicKey) -> Option<WitnessProgram> {
    let key = XOnlyPublicKey::from_slice(&key).ok()?;
    Some(WitnessProgram::p2tr(&*CURVE, key, None))
}

/// The programs of a staker's addresses; none when the key is not on the curve.
fn programs(key: PublicKey) -> Vec<WitnessProgram> {
    let Some(taproot) = taproot(key) else { return Vec::new() };
    let mut programs = vec![taproot];
    for sign in [2, 3] {
        let mut bytes = vec![sign];
        bytes.extend_from_slice(&key.0);
        let hash = ::bitcoin::hashes::hash160::Hash::hash(&bytes);
        programs.extend(WitnessProgram::new(::bitcoin::WitnessVersion::V0, hash.as_byte_array()));
    }
    programs
}

/// The rows that lead from addresses to their staker.
pub(crate) fn rows(key: PublicKey) -> Result<Vec<Row>, BoundError> {
    programs(key).iter().map(|program| ADDRESSES.row(&key_of(program), &(), &key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_their_key_on_their_network_only() {
        let key =
            PublicKey::parse("91fef91f0f00d010d6c918acb9197db6cd33d99ee617090fa8cb61fa2a31405a")
                .expect("a key");
        let rows = rows(key).expect("short");
        assert_eq!(rows.len(), 3);
        for network in [Network::Mainnet, Network::Testnet, Network::Regtest] {
            let address = network.taproot(key).expect("on the curve");
            let found = network.lookup_key(&address).expect("an address");
            assert_eq!(found, key_of(&taproot(key).expect("on the curve")));
            let other =
                if network == Network::Mainnet { Network::Regtest } else { Network::Mainnet };
            assert_eq!(other.lookup_key(&address), None, "{address}");
        }
        for rubbish in ["", "bc1", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"] {
            assert_eq!(Network::Mainnet.lookup_key(rubbish), None, "{rubbish}");
        }
        assert!(programs(PublicKey([255; 32])).is_empty(), "not on the curve");
    }
}

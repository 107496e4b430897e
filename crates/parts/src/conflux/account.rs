//! Accounts of tests: a secret, and the address in both of its forms.

use std::fmt::{self, Write as _};

use k256::ecdsa::{RecoveryId, Signature, SigningKey};
use sha3::{Digest as _, Keccak256};

/// An address as the node keeps it: 20 bytes, the first four bits tell its kind (1: a user).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// As the node wants it in parameters: CIP-37, in lower case, without the kind
    /// (`net1234:aa…`). Its answers are in upper case and with the kind.
    #[must_use]
    pub fn base32(&self, chain_id: u32) -> String {
        let prefix = match chain_id {
            1 => "cfxtest".to_owned(),
            1029 => "cfx".to_owned(),
            other => format!("net{other}"),
        };
        // Version 0: an address of 20 bytes.
        let payload = groups(&[&[0], &self.0[..]].concat());
        let low = prefix.bytes().map(|byte| byte & 31);
        let checked = low.chain([0]).chain(payload.iter().copied()).chain([0; 8]);
        let checksum = groups(&checksum(checked).to_be_bytes()[3..]);
        let characters = payload.iter().chain(&checksum);
        let text = characters.map(|group| char::from(ALPHABET[usize::from(*group)]));
        format!("{prefix}:{}", text.collect::<String>())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// An account whose secret this process knows.
#[derive(Clone, Debug)]
pub struct Account {
    key: SigningKey,
}

impl Account {
    /// The account of that number; the same in every process, on every machine.
    #[must_use]
    pub fn numbered(number: u32) -> Self {
        let mut secret = keccak(format!("ostrakon test account {number}").as_bytes());
        // Nearly every 32 bytes are a secret; hashing again replaces the ones that are not.
        loop {
            match Self::from_secret(&secret) {
                Some(account) => return account,
                None => secret = keccak(&secret),
            }
        }
    }

    /// The account of a secret; none if these bytes cannot be one.
    #[must_use]
    pub fn from_secret(secret: &[u8]) -> Option<Self> {
        SigningKey::from_slice(secret).ok().map(|key| Self { key })
    }

    /// The secret in hex, without `0x`: with it, the node panics at its start.
    #[must_use]
    pub fn secret(&self) -> String {
        hex(&self.key.to_bytes())[2..].to_owned()
    }

    /// The address that belongs to the secret.
    #[must_use]
    pub fn address(&self) -> Address {
        let hash = keccak(&self.public_key());
        let mut address = [0; 20];
        address.copy_from_slice(&hash[12..]);
        // Other than in Ethereum, four bits tell that it is a user's.
        address[0] = address[0] & 0x0f | 0x10;
        Address(address)
    }

    /// The public key, 64 bytes; of a node's own key it is the node's id.
    pub(super) fn public_key(&self) -> Vec<u8> {
        let point = self.key.verifying_key().to_encoded_point(false);
        // The first byte says that it is not compressed.
        point.as_bytes()[1..].to_vec()
    }

    /// Signs a hash; none only for hashes that no signature exists for, which nobody can find.
    pub(super) fn sign(&self, hash: &[u8; 32]) -> Option<(Signature, RecoveryId)> {
        self.key.sign_prehash_recoverable(hash).ok()
    }
}

/// The hash of Conflux and Ethereum.
pub(super) fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

/// Bytes as the node writes them: hex, with `0x`.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The digits of CIP-37: without `i`, `l`, `o` and `q`.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnprstuvwxyz0123456789";

/// Bytes in groups of five bits, the last one filled with zeros.
fn groups(bytes: &[u8]) -> Vec<u8> {
    let bit = |index: usize| bytes.get(index / 8).map_or(0, |byte| byte >> (7 - index % 8) & 1);
    let group = |first: usize| (first..first + 5).fold(0, |group, index| group << 1 | bit(index));
    (0..bytes.len() * 8).step_by(5).map(group).collect()
}

/// The checksum of CIP-37, 40 bits.
fn checksum(groups: impl Iterator<Item = u8>) -> u64 {
    const GENERATORS: [u64; 5] =
        [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470];
    let mut sum = 1_u64;
    for group in groups {
        let high = sum >> 35;
        sum = (sum & 0x07_ffff_ffff) << 5 ^ u64::from(group);
        for (bit, generator) in GENERATORS.iter().enumerate() {
            if high >> bit & 1 == 1 {
                sum ^= generator;
            }
        }
    }
    sum ^ 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of CIP-37.
    const EXAMPLE: Address = Address([
        0x1a, 0x2f, 0x80, 0x34, 0x14, 0x09, 0x63, 0x9e, 0xa6, 0xa3, 0x5b, 0xbc, 0xab, 0x82, 0x99,
        0x06, 0x61, 0x09, 0xaa, 0x55,
    ]);

    #[test]
    fn addresses_are_written_as_in_cip_37() {
        let text = EXAMPLE.base32(1029);
        assert_eq!(text, "cfx:aarc9abycue0hhzgyrr53m6cxedgccrmmyybjgh4xg");
        let text = EXAMPLE.base32(1);
        assert_eq!(text, "cfxtest:aarc9abycue0hhzgyrr53m6cxedgccrmmy8m50bu1p");
        assert!(EXAMPLE.base32(1234).starts_with("net1234:aarc9abycue0hhz"));
        assert_eq!(EXAMPLE.to_string(), "0x1a2f80341409639ea6a35bbcab8299066109aa55");
    }

    #[test]
    fn numbered_accounts_are_users_and_differ() {
        let [one, two] = [1, 2].map(Account::numbered);
        assert_ne!(one.address(), two.address());
        assert_eq!(one.address().0[0] >> 4, 1);
        assert_eq!(one.address(), Account::numbered(1).address());
        assert_eq!(one.secret().len(), 64);
    }

    #[test]
    fn the_address_follows_from_the_secret() {
        // The secret 1: its public key is the curve's generator, its address is well known.
        let mut secret = [0; 32];
        secret[31] = 1;
        let address = Account::from_secret(&secret).expect("a secret").address();
        assert_eq!(address.to_string(), "0x1e5f4552091a69125d5dfcb7b8c2659029395bdf");
        assert!(Account::from_secret(&[0; 32]).is_none());
    }
}

//! Addresses as people and nodes write them: hexadecimal, and base32 with a checksum (CIP-37).

use sha3::{Digest as _, Keccak256};

use crate::types::unhex;
use crate::{Address, ParseError};

const ALPHABET: &[u8; 32] = b"abcdefghjkmnprstuvwxyz0123456789";
/// Of the code that CIP-37 took over from Bitcoin Cash.
const GENERATOR: [u64; 5] =
    [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470];
/// Symbols of the version and the account, and of the checksum.
const BODY: usize = 34;
const CHECK: usize = 8;

impl Address {
    /// Reads `0x` and 40 digits, or base32 of any network, short or with its type in between.
    ///
    /// # Errors
    /// With what is wrong: another length, both cases in one text, a wrong checksum.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let bad = |remedy| ParseError { what: "not an address", remedy };
        if let Some(bytes) = unhex(text) {
            return Ok(Self(bytes));
        }
        let mixed = text.chars().any(|c| c.is_ascii_lowercase())
            && text.chars().any(|c| c.is_ascii_uppercase());
        if mixed {
            return Err(bad("write base32 in lower case or in upper case, not both"));
        }
        let lower = text.to_ascii_lowercase();
        let parts: Vec<&str> = lower.split(':').collect();
        let (prefix, body) = match parts.as_slice() {
            [prefix, body] => (*prefix, *body),
            [prefix, kind, body] if kind.starts_with("type.") => (*prefix, *body),
            _ => return Err(bad("write 0x and 40 digits, or base32 such as cfx:aa…")),
        };
        if !is_prefix(prefix) {
            return Err(bad("the part before the colon is cfx, cfxtest or net and a number"));
        }
        let symbol = |c: u8| ALPHABET.iter().position(|known| *known == c);
        let symbols: Option<Vec<u8>> =
            body.bytes().map(|c| symbol(c).and_then(|at| u8::try_from(at).ok())).collect();
        let symbols = symbols.filter(|symbols| symbols.len() == BODY + CHECK);
        let symbols =
            symbols.ok_or_else(|| bad("base32 has 42 letters and digits, no i, l, o, q"))?;
        if remainder(prefix, &symbols) != 0 {
            return Err(bad("the checksum is wrong; look for a letter that was changed"));
        }
        bytes(&symbols).map(Self).ok_or_else(|| bad("only addresses of version 0 are known"))
    }

    /// The long base32 form on a network, in upper case, as nodes write it.
    #[must_use]
    pub fn verbose(&self, network: u64) -> String {
        let kind = match self.0 {
            bytes if bytes == [0; 20] => "NULL",
            [first, ..] => match first >> 4 {
                0 => "BUILTIN",
                1 => "USER",
                8 => "CONTRACT",
                _ => "UNKNOWN",
            },
        };
        let short = self.base32(network).to_ascii_uppercase();
        let (prefix, body) = short.split_once(':').unwrap_or_default();
        format!("{prefix}:TYPE.{kind}:{body}")
    }

    /// Network and address of a text that [`Address::verbose`] writes, and of no other.
    #[must_use]
    pub fn parse_verbose(text: &str) -> Option<(u64, Self)> {
        let (prefix, rest) = text.split_once(':')?;
        let network = match prefix {
            "CFX" => 1029,
            "CFXTEST" => 1,
            other => other.strip_prefix("NET")?.parse().ok()?,
        };
        rest.starts_with("TYPE.").then_some(())?;
        let address = Self::parse(text).ok()?;
        (address.verbose(network) == text).then_some((network, address))
    }

    /// The contract that a transaction creates: it follows from who sends it, the number it has
    /// there, and the code.
    #[must_use]
    pub fn created_by(sender: &Self, nonce: u64, code: &[u8]) -> Self {
        let mut number = [0; 32];
        number[..8].copy_from_slice(&nonce.to_le_bytes());
        let hash = Keccak256::new()
            .chain_update([0])
            .chain_update(sender.0)
            .chain_update(number)
            .chain_update(Keccak256::digest(code))
            .finalize();
        let mut bytes = [0; 20];
        bytes.copy_from_slice(&hash[12..]);
        bytes[0] = (bytes[0] & 0x0f) | 0x80;
        Self(bytes)
    }

    /// The short base32 form on a network.
    #[must_use]
    pub fn base32(&self, network: u64) -> String {
        let prefix = match network {
            1 => "cfxtest".to_owned(),
            1029 => "cfx".to_owned(),
            other => format!("net{other}"),
        };
        let mut symbols = five_bits(&self.0);
        let mut filled = symbols.clone();
        filled.extend([0; CHECK]);
        let rest = remainder(&prefix, &filled);
        symbols.extend((0..CHECK).map(|index| (rest >> (35 - 5 * index) & 31) as u8));
        let letter = |symbol: &u8| ALPHABET.get(usize::from(*symbol)).copied().map(char::from);
        let body: String = symbols.iter().filter_map(letter).collect();
        format!("{prefix}:{body}")
    }
}

fn is_prefix(prefix: &str) -> bool {
    let number = prefix.strip_prefix("net");
    matches!(prefix, "cfx" | "cfxtest")
        || number.is_some_and(|digits| {
            !digits.is_empty() && digits.len() <= 10 && digits.bytes().all(|c| c.is_ascii_digit())
        })
}

/// What is left of the polynomial of prefix and symbols; 0 when the checksum is right.
fn remainder(prefix: &str, symbols: &[u8]) -> u64 {
    // The lowest five bits are the same for both cases of a letter.
    let prefix = prefix.bytes().map(|byte| byte & 31);
    let all = prefix.chain([0]).chain(symbols.iter().copied());
    let rest = all.fold(1_u64, |sum, symbol| {
        let top = sum >> 35;
        let sum = ((sum & 0x07_ffff_ffff) << 5) ^ u64::from(symbol);
        GENERATOR.iter().enumerate().fold(sum, |sum, (bit, generator)| {
            if top >> bit & 1 == 1 { sum ^ generator } else { sum }
        })
    });
    rest ^ 1
}

/// The version, which is 0, and the account in groups of five bits, the last one filled with 0.
fn five_bits(account: &[u8; 20]) -> Vec<u8> {
    let (mut symbols, mut held, mut bits) = (Vec::with_capacity(BODY + CHECK), 0_u16, 0);
    for byte in std::iter::once(&0).chain(account) {
        held = (held << 8) | u16::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            symbols.push(((held >> bits) & 31) as u8);
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        symbols.push(((held << (5 - bits)) & 31) as u8);
    }
    symbols
}

/// The account of the first symbols; none when the version is another, or filling bits are set.
fn bytes(symbols: &[u8]) -> Option<[u8; 20]> {
    let (mut held, mut bits, mut found) = (0_u16, 0, Vec::with_capacity(21));
    for symbol in symbols.iter().take(BODY) {
        held = (held << 5) | u16::from(*symbol);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            found.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    let (version, account) = found.split_first()?;
    if *version != 0 || held != 0 {
        return None;
    }
    account.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the standard itself.
    const HEX: &str = "0x1a2f80341409639ea6a35bbcab8299066109aa55";
    const SHORT: &str = "cfx:aarc9abycue0hhzgyrr53m6cxedgccrmmyybjgh4xg";
    const TEST: &str = "cfxtest:aarc9abycue0hhzgyrr53m6cxedgccrmmy8m50bu1p";
    const LONG: &str = "CFX:TYPE.USER:AARC9ABYCUE0HHZGYRR53M6CXEDGCCRMMYYBJGH4XG";

    #[test]
    fn all_forms_of_the_standard_are_one_account() {
        let address = Address::parse(HEX).expect("hexadecimal");
        for form in [SHORT, TEST, LONG, &SHORT.to_uppercase()] {
            assert_eq!(Address::parse(form), Ok(address), "{form}");
        }
        assert_eq!(address.base32(1029), SHORT);
        assert_eq!(address.base32(1), TEST);
        assert_eq!(address.to_string(), HEX);
    }

    #[test]
    fn what_a_node_of_a_private_network_writes_is_read_back() {
        let text = "NET1234:TYPE.USER:AASWN3KPAZPVAUWFZKP6AR8UB2XP3VEZA68FJV6HVP";
        let address = Address::parse(text).expect("of a real node");
        let short = text.replace("TYPE.USER:", "").to_lowercase();
        assert_eq!(address.base32(1234), short);
    }

    #[test]
    fn a_slip_is_told() {
        let cases = [
            (&SHORT[..SHORT.len() - 1], "42 letters"),
            (&SHORT.replace("g4xg", "g4xh"), ""),
            (&SHORT.replace("aarc", "aacr"), "checksum"),
            (&SHORT.replace("cfx:a", "cfx:A"), "not both"),
            (&SHORT.replace("cfx:", "btc:"), "cfx, cfxtest"),
            (&SHORT.replace("cfx:", "cfxtest:"), "checksum"),
            ("0x1a2f", "40 digits"),
            ("", "40 digits"),
        ];
        for (text, part) in cases {
            let error = Address::parse(text);
            if part.is_empty() {
                continue;
            }
            let error = error.expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

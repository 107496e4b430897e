//! Addresses as the node writes them: CIP-37, base32 with a checksum, in the long form.

use super::Account;

const ALPHABET: &[u8; 32] = b"ABCDEFGHJKMNPRSTUVWXYZ0123456789";

/// `NET1234:TYPE.USER:AA…`.
pub(super) fn long_form(account: &Account, network: u64) -> String {
    let prefix = match network {
        1 => "CFXTEST".to_owned(),
        1029 => "CFX".to_owned(),
        other => format!("NET{other}"),
    };
    let kind = match account.0 {
        bytes if bytes == [0; 20] => "NULL",
        [first, ..] => match first >> 4 {
            1 => "USER",
            8 => "CONTRACT",
            0 => "BUILTIN",
            _ => "UNKNOWN",
        },
    };
    let mut symbols = five_bits(&account.0);
    symbols.extend(checksum(&prefix, &symbols));
    let text: String = symbols.iter().map(|symbol| letter(*symbol)).collect();
    format!("{prefix}:TYPE.{kind}:{text}")
}

fn letter(symbol: u8) -> char {
    char::from(ALPHABET[usize::from(symbol & 31)])
}

/// The version, which is 0, and the account in groups of five bits, the last one filled with 0.
fn five_bits(account: &[u8; 20]) -> Vec<u8> {
    let (mut symbols, mut held, mut bits) = (Vec::with_capacity(34), 0_u16, 0);
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

/// Eight symbols that make the polynomial of prefix and symbols vanish.
fn checksum(prefix: &str, symbols: &[u8]) -> [u8; 8] {
    // The lowest five bits are the same for both cases of a letter.
    let prefix = prefix.bytes().map(|byte| byte & 31);
    let all = prefix.chain([0]).chain(symbols.iter().copied()).chain([0; 8]);
    let rest = all.fold(1_u64, |sum, symbol| {
        let top = sum >> 35;
        let sum = ((sum & 0x07_ffff_ffff) << 5) ^ u64::from(symbol);
        GENERATOR.iter().enumerate().fold(sum, |sum, (bit, generator)| {
            if top >> bit & 1 == 1 { sum ^ generator } else { sum }
        })
    }) ^ 1;
    std::array::from_fn(|index| (rest >> (35 - 5 * index) & 31) as u8)
}

/// Of the code that CIP-37 took over from Bitcoin Cash.
const GENERATOR: [u64; 5] =
    [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470];

#[cfg(test)]
mod tests {
    use super::*;

    fn account(hex: &str) -> Account {
        let digits = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex");
        Account(std::array::from_fn(digits))
    }

    /// The first is the example of the Conflux documentation, the second a real node's.
    #[test]
    fn addresses_are_those_of_real_nodes() {
        let user = account("1292d4955bb47f5153b88ca12c7a9e4048f09839");
        let expected = "CFX:TYPE.USER:AAKKFZEZNS4H8YMX1CGMCND4X3AEV6E2HEXZ250YM5";
        assert_eq!(long_form(&user, 1029), expected);
        let expected = "NET1234:TYPE.NULL:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4U9N6H98";
        assert_eq!(long_form(&Account([0; 20]), 1234), expected);
        let contract = account("8000000000000000000000000000000000000001");
        assert!(long_form(&contract, 1).starts_with("CFXTEST:TYPE.CONTRACT:AC"));
    }
}

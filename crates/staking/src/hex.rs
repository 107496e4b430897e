//! Bytes as hexadecimal text.

use std::fmt;

/// The bytes of a text; none when it is no hexadecimal text.
pub(crate) fn read(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(16 * digit(*high)? + digit(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

/// Writes bytes in lower case.
pub(crate) fn write(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Bytes that are shown in lower case.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_bytes_are_read() {
        assert_eq!(read("00fFa5"), Some(vec![0, 255, 0xa5]));
        assert_eq!(read(""), Some(vec![]));
        for bad in ["0", "0g", "+1", "00 1"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(Hex(&[0, 255]).to_string(), "00ff");
    }
}

//! RLP, written only: the encoding of transactions and lists of them.

/// A string of bytes.
pub(super) fn string(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [byte] if *byte < 0x80 => vec![*byte],
        _ => with_length(0x80, bytes),
    }
}

/// A number: its big-endian bytes without zeros in front, which for 0 are none.
pub(super) fn number(value: impl Into<u128>) -> Vec<u8> {
    integer(&value.into().to_be_bytes())
}

/// A number of any width, big-endian.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    string(&bytes[zeros..])
}

/// A list of items that are encoded already.
pub(super) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    with_length(0xc0, &items.concat())
}

fn with_length(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    let length = &length[zeros..];
    let mut encoded = match (content.len(), length) {
        (0, _) => vec![kind],
        (1..=55, [short]) => vec![kind + short],
        // A length has at most 8 bytes, so the sum fits.
        _ => [&[kind + 55 + u8::try_from(length.len()).unwrap_or(8)], length].concat(),
    };
    encoded.extend(content);
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_as_the_yellow_paper_has_them() {
        assert_eq!(string(b"dog"), b"\x83dog");
        assert_eq!(string(b""), [0x80]);
        assert_eq!(string(&[0x7f]), [0x7f]);
        assert_eq!(string(&[0x80]), [0x81, 0x80]);
        assert_eq!(string(&[7; 55])[..2], [0xb7, 7]);
        assert_eq!(string(&[7; 56])[..3], [0xb8, 56, 7]);
        assert_eq!(string(&[7; 1024])[..4], [0xb9, 4, 0, 7]);
    }

    #[test]
    fn numbers_have_no_zeros_in_front() {
        assert_eq!(number(0_u32), [0x80]);
        assert_eq!(number(15_u32), [15]);
        assert_eq!(number(1024_u32), [0x82, 4, 0]);
        assert_eq!(integer(&[0, 0, 1, 0]), [0x82, 1, 0]);
    }

    #[test]
    fn lists_hold_encoded_items() {
        assert_eq!(list(&[]), [0xc0]);
        assert_eq!(list(&[string(b"cat"), string(b"dog")]), b"\xc8\x83cat\x83dog");
        assert_eq!(list(&[string(&[7; 55])])[..3], [0xf8, 56, 0xb7]);
    }
}

//! Keys whose bytes sort as their values do.
//!
//! | part | bytes |
//! | --- | --- |
//! | unsigned integer | big-endian |
//! | signed integer | big-endian, sign bit flipped |
//! | fixed array | as it is |
//! | text, bytes | each `00` as `00 ff`, then `00 00`: a prefix sorts first, parts may follow |
//! | `Reverse<T>` | the part with every bit flipped: newest first |
//! | tuple | its parts, one after the other |

use std::cmp::Reverse;

use placement::{Placement, Route, RouteError, YearMonth};

use crate::DecodeError;

/// A part of a key.
pub trait KeyPart: Sized {
    /// Appends the part's bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// How many bytes that will be. A buffer of just that size becomes a key without another
    /// allocation, so fixed parts are exact.
    fn size(&self) -> usize;

    /// Reads the part back.
    ///
    /// # Errors
    /// When the bytes are not such a part.
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError>;
}

/// Reads key parts one after the other.
#[derive(Clone, Debug)]
pub struct KeyReader<'a> {
    rest: &'a [u8],
    flipped: bool,
}

impl<'a> KeyReader<'a> {
    /// A reader of a whole key.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, flipped: false }
    }

    /// Reads one part and checks that nothing follows.
    ///
    /// # Errors
    /// When the bytes are not exactly such a part.
    pub fn whole<K: KeyPart>(bytes: &'a [u8]) -> Result<K, DecodeError> {
        let mut reader = Self::new(bytes);
        let part = K::decode(&mut reader)?;
        if reader.rest.is_empty() {
            Ok(part)
        } else {
            Err(DecodeError::key("bytes follow the last part"))
        }
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) =
            self.rest.split_first().ok_or_else(|| DecodeError::key("it ends too early"))?;
        self.rest = rest;
        Ok(if self.flipped { !first } else { *first })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (first, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| DecodeError::key("it ends too early"))?;
        self.rest = rest;
        Ok(if self.flipped { first.map(|byte| !byte) } else { *first })
    }
}

macro_rules! unsigned {
    ($($type:ty),*) => {$(
        impl KeyPart for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn size(&self) -> usize {
                size_of::<Self>()
            }
            fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(reader.array()?))
            }
        }
    )*};
}
unsigned!(u8, u16, u32, u64, u128);

impl KeyPart for i64 {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.cast_unsigned() ^ (1 << 63)).encode(out);
    }
    fn size(&self) -> usize {
        size_of::<Self>()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        Ok((u64::decode(reader)? ^ (1 << 63)).cast_signed())
    }
}

impl<const N: usize> KeyPart for [u8; N] {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn size(&self) -> usize {
        N
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        reader.array()
    }
}

impl KeyPart for Vec<u8> {
    fn encode(&self, out: &mut Vec<u8>) {
        for &byte in self {
            out.push(byte);
            if byte == 0 {
                out.push(0xff);
            }
        }
        out.extend_from_slice(&[0, 0]);
    }
    fn size(&self) -> usize {
        self.len() + 2
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let mut bytes = Self::new();
        loop {
            match reader.byte()? {
                0 => match reader.byte()? {
                    0 => return Ok(bytes),
                    0xff => bytes.push(0),
                    _ => return Err(DecodeError::key("a zero byte is not escaped")),
                },
                byte => bytes.push(byte),
            }
        }
    }
}

impl KeyPart for String {
    fn encode(&self, out: &mut Vec<u8>) {
        // Text rarely holds a zero byte, but it may.
        self.as_bytes().to_vec().encode(out);
    }
    fn size(&self) -> usize {
        self.len() + 2
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        Self::from_utf8(Vec::decode(reader)?).map_err(|_| DecodeError::key("text is not UTF-8"))
    }
}

impl<K: KeyPart> KeyPart for Reverse<K> {
    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.encode(out);
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        reader.flipped = !reader.flipped;
        let part = K::decode(reader);
        reader.flipped = !reader.flipped;
        part.map(Reverse)
    }
}

macro_rules! tuple {
    ($($part:ident $index:tt),*) => {
        impl<$($part: KeyPart),*> KeyPart for ($($part,)*) {
            #[allow(unused_variables)]
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$index.encode(out);)*
            }
            fn size(&self) -> usize {
                0 $(+ self.$index.size())*
            }
            #[allow(unused_variables, clippy::unused_unit)]
            fn decode(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                Ok(($($part::decode(reader)?,)*))
            }
        }
    };
}
tuple!();
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);

/// A key that knows how its table's placement reaches its partition.
pub trait Partition {
    /// Appends the partition key's bytes under `placement`.
    ///
    /// # Errors
    /// When the placement asks for another route.
    fn locate(&self, placement: Placement, out: &mut Vec<u8>) -> Result<(), RouteError>;

    /// About how many bytes that will be; exact for hashed tables of fixed keys.
    fn size(&self) -> usize;
}

impl<K: KeyPart> Partition for K {
    fn locate(&self, placement: Placement, out: &mut Vec<u8>) -> Result<(), RouteError> {
        if placement == Placement::Hashed {
            // The common case needs no second buffer.
            self.encode(out);
            return Ok(());
        }
        placement.locate(&encoded(self), Route::Key, out)
    }
    fn size(&self) -> usize {
        KeyPart::size(self)
    }
}

/// A key of a [`Placement::Bucketed`] table: whose list, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequenced<K>(pub K, pub u64);

impl<K: KeyPart> Partition for Sequenced<K> {
    fn locate(&self, placement: Placement, out: &mut Vec<u8>) -> Result<(), RouteError> {
        placement.locate(&encoded(&self.0), Route::Sequence(self.1), out)
    }
    fn size(&self) -> usize {
        self.0.size() + 8
    }
}

/// A key of a [`Placement::Periodic`] table: whose, and in which month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monthly<K>(pub K, pub YearMonth);

impl<K: KeyPart> Partition for Monthly<K> {
    fn locate(&self, placement: Placement, out: &mut Vec<u8>) -> Result<(), RouteError> {
        placement.locate(&encoded(&self.0), Route::Month(self.1), out)
    }
    fn size(&self) -> usize {
        self.0.size() + 4
    }
}

/// A key of a [`Placement::Logical`] table: what is counted, and by which entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<K, E>(pub K, pub E);

impl<K: KeyPart, E: KeyPart> Partition for Counted<K, E> {
    fn locate(&self, placement: Placement, out: &mut Vec<u8>) -> Result<(), RouteError> {
        placement.locate(&encoded(&self.0), Route::Entry(&encoded(&self.1)), out)
    }
    fn size(&self) -> usize {
        self.0.size() + 2
    }
}

fn encoded<K: KeyPart>(key: &K) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.size());
    key.encode(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes both ways and compares order and value.
    fn check<K: KeyPart + Ord + std::fmt::Debug>(values: &[K]) {
        for a in values {
            assert_eq!(&KeyReader::whole::<K>(&encoded(a)).expect("decodes"), a);
            for b in values {
                assert_eq!(encoded(a).cmp(&encoded(b)), a.cmp(b), "{a:?} against {b:?}");
            }
        }
    }

    #[test]
    fn bytes_sort_as_values_do() {
        check(&[0u64, 1, 255, 256, u64::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&["", "a", "a\0", "a\0b", "ab", "b"].map(String::from));
        check(&[Reverse(0u32), Reverse(1), Reverse(u32::MAX)]);
        check(&["", "a", "a\0", "ab"].map(|text| Reverse(text.to_owned())));
        check(&[("a".to_owned(), 2u8), ("a".to_owned(), 3), ("ab".to_owned(), 1)]);
        check(&[(Reverse(2u64), [1u8; 4], ()), (Reverse(1), [0; 4], ()), (Reverse(1), [2; 4], ())]);
    }

    #[test]
    fn damaged_keys_are_errors() {
        assert!(KeyReader::whole::<u64>(&[1, 2]).is_err());
        assert!(KeyReader::whole::<u8>(&[1, 2]).is_err());
        assert!(KeyReader::whole::<String>(b"a").is_err());
        assert!(KeyReader::whole::<String>(&[0, 7]).is_err());
        assert!(KeyReader::whole::<String>(&[0xc0, 0, 0]).is_err());
    }
}

//! Values: one byte of format, then the payload.

use crate::row::hex;

/// A row that this version cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A key whose bytes do not fit its table.
    #[error("a key is damaged: {what}; run `ostrakon verify store`")]
    Key {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A value whose bytes do not fit its table.
    #[error("a value is damaged: {what}; run `ostrakon verify store`")]
    Value {
        /// What is wrong with it.
        what: String,
    },
    /// A value of a format that did not exist when this version was built.
    #[error("a value has format {found}, this version knows up to {known}; upgrade Ostrakon")]
    Newer {
        /// Format of the value.
        found: u8,
        /// Newest format known.
        known: u8,
    },
}

impl DecodeError {
    pub(crate) fn key(what: &'static str) -> Self {
        Self::Key { what }
    }

    /// A damaged value, with the codec's own words.
    pub fn value(what: impl ToString) -> Self {
        Self::Value { what: what.to_string() }
    }
}

/// A value of a table.
///
/// A type that serde knows becomes one by [`serde_value!`](crate::serde_value); a type whose bytes
/// matter for speed implements it by hand.
pub trait Value: Sized {
    /// The format this version writes. Older ones must stay readable.
    const FORMAT: u8;

    /// Appends the payload in the current format.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads a payload of `format`, which is at most [`Value::FORMAT`].
    ///
    /// # Errors
    /// When the payload is damaged.
    fn decode(format: u8, payload: &[u8]) -> Result<Self, DecodeError>;

    /// Format byte and payload.
    #[must_use]
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![Self::FORMAT];
        self.encode(&mut bytes);
        bytes
    }

    /// Reads format byte and payload.
    ///
    /// # Errors
    /// When the format is newer than this version, or the payload damaged.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&format, payload) =
            bytes.split_first().ok_or_else(|| DecodeError::value("it has no format byte"))?;
        if format > Self::FORMAT {
            return Err(DecodeError::Newer { found: format, known: Self::FORMAT });
        }
        Self::decode(format, payload)
    }
}

/// Bytes as they are.
impl Value for Vec<u8> {
    const FORMAT: u8 = 1;
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn decode(_format: u8, payload: &[u8]) -> Result<Self, DecodeError> {
        Ok(payload.to_vec())
    }
}

/// A row that says all by being there.
impl Value for () {
    const FORMAT: u8 = 1;
    fn encode(&self, _out: &mut Vec<u8>) {}
    fn decode(_format: u8, payload: &[u8]) -> Result<Self, DecodeError> {
        if payload.is_empty() { Ok(()) } else { Err(DecodeError::value(hex(payload))) }
    }
}

/// Appends a serde type's payload: what [`serde_value!`](crate::serde_value) writes, for generic
/// types.
///
/// # Panics
/// When serde itself cannot describe the type, such as a map of unknown length; a test of the table
/// finds that at once.
#[must_use]
pub fn encode_serde<T: serde::Serialize>(value: &T, out: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(value, out).expect("a value that serde can describe")
}

/// Reads a payload that [`encode_serde`] wrote.
///
/// # Errors
/// When it is damaged.
pub fn decode_serde<T: serde::de::DeserializeOwned>(payload: &[u8]) -> Result<T, DecodeError> {
    postcard::from_bytes(payload).map_err(DecodeError::value)
}

/// Makes a serde type a [`Value`]: `serde_value!(Account, format 1);`.
#[macro_export]
macro_rules! serde_value {
    ($type:ty, format $format:literal) => {
        impl $crate::Value for $type {
            const FORMAT: u8 = $format;
            fn encode(&self, out: &mut Vec<u8>) {
                *out = $crate::encode_serde(self, ::std::mem::take(out));
            }
            fn decode(
                _format: u8,
                payload: &[u8],
            ) -> ::std::result::Result<Self, $crate::DecodeError> {
                $crate::decode_serde(payload)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Sample {
        name: String,
        count: u64,
    }
    serde_value!(Sample, format 2);

    #[test]
    fn a_value_round_trips_with_its_format() {
        let sample = Sample { name: "a".into(), count: 300 };
        let bytes = sample.to_bytes();
        assert_eq!(bytes.first(), Some(&2));
        assert_eq!(Sample::from_bytes(&bytes), Ok(sample));
    }

    #[test]
    fn a_newer_format_asks_for_an_upgrade() {
        let error = Sample::from_bytes(&[3, 0, 0]).expect_err("too new");
        assert_eq!(error, DecodeError::Newer { found: 3, known: 2 });
        assert!(error.to_string().contains("upgrade"));
    }

    #[test]
    fn damaged_values_are_errors() {
        assert!(Sample::from_bytes(&[]).is_err());
        assert!(Sample::from_bytes(&[2, 9]).is_err());
    }
}

//! Reads the query of a URL into a type, and refuses what it does not know.
//!
//! A parameter that is silently ignored turns a typing error into a wider query. So names are
//! checked against the fields of the type, and the nearest one is suggested. A parameter given
//! twice is refused as well: proxies and servers disagree about which one counts.

use std::fmt;

use serde::Deserializer;
use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};

use super::kinds;
use super::problem::Problem;

/// Parameters that a query may have.
const PARAMETERS: usize = 64;
/// The parameter that carries a key. It belongs to the credentials, not to the query.
pub(crate) const KEY: &str = "key";

/// The query as names and values, decoded; without the key.
pub(crate) fn pairs(raw: &str) -> Result<Vec<(String, String)>, Problem> {
    let mut pairs = Vec::new();
    for part in raw.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = decode(name).ok_or_else(not_text)?;
        let value = decode(value).ok_or_else(|| not_text().field(name.clone()))?;
        if name == KEY {
            continue;
        }
        if pairs.len() == PARAMETERS {
            let detail = format!("The query has more than {PARAMETERS} parameters. Send fewer.");
            return Err(Problem::new(&kinds::BAD_QUERY, detail).limit(PARAMETERS as u64));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn not_text() -> Problem {
    let detail = "The query is not UTF-8 in percent encoding. Encode it again.";
    Problem::new(&kinds::BAD_QUERY, detail)
}

/// Percent decoding, with `+` for a space, as forms write it; none when it is not encoded well.
#[must_use]
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Percent encoding of everything that is not plainly safe in a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Reads a type from decoded names and values.
pub(crate) fn read<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Problem> {
    T::deserialize(Pairs(pairs)).map_err(Failed::problem)
}

/// Why a query cannot be read.
#[derive(Debug)]
enum Failed {
    Missing(&'static str),
    Unknown { name: String, known: &'static [&'static str] },
    Twice(String),
    Bad { field: Option<String>, detail: String },
}

impl Failed {
    fn problem(self) -> Problem {
        match self {
            Self::Missing(field) => {
                let detail = format!("The query parameter `{field}` is missing. Add `{field}=…`.");
                Problem::new(&kinds::MISSING_PARAMETER, detail).field(field)
            }
            Self::Unknown { name, known } => {
                let advice = match nearest(&name, known) {
                    Some(near) => format!("Did you mean `{near}`?"),
                    None if known.is_empty() => "None is taken here.".to_owned(),
                    None => format!("Known are: {}.", known.join(", ")),
                };
                let shown: String = name.chars().take(64).collect();
                let detail = format!("There is no query parameter `{shown}`. {advice}");
                Problem::new(&kinds::UNKNOWN_PARAMETER, detail).field(shown)
            }
            Self::Twice(name) => {
                let detail = format!("The query parameter `{name}` is given twice. Send it once.");
                Problem::new(&kinds::BAD_QUERY, detail).field(name)
            }
            Self::Bad { field: Some(field), detail } => {
                let detail = format!("The query parameter `{field}` cannot be read: {detail}.");
                Problem::new(&kinds::BAD_QUERY, detail).field(field)
            }
            Self::Bad { field: None, detail } => {
                Problem::new(&kinds::BAD_QUERY, format!("The query cannot be read: {detail}."))
            }
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Failed {}

impl de::Error for Failed {
    fn custom<T: fmt::Display>(detail: T) -> Self {
        Self::Bad { field: None, detail: detail.to_string() }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::Unknown { name: field.to_owned(), known: expected }
    }
}

/// The known name that differs least, when it differs little.
pub(crate) fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    // Names are short; a long one is no typing error, and must not cost a long comparison.
    if name.len() > 64 {
        return None;
    }
    let best = known.iter().map(|known| (distance(name, known), *known)).min()?;
    (best.0 <= 2 || best.0 * 2 <= best.1.len()).then_some(best.1)
}

/// Letters to insert, remove or change (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let change = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A query as serde reads it.
struct Pairs(Vec<(String, String)>);

impl Pairs {
    fn checked(self, known: &'static [&'static str]) -> Result<Access, Failed> {
        let mut seen: Vec<&str> = Vec::with_capacity(self.0.len());
        for (name, _) in &self.0 {
            if !known.contains(&name.as_str()) {
                return Err(Failed::Unknown { name: name.clone(), known });
            }
            if seen.contains(&name.as_str()) {
                return Err(Failed::Twice(name.clone()));
            }
            seen.push(name);
        }
        Ok(Access { rest: self.0.into_iter(), value: None })
    }
}

impl<'de> Deserializer<'de> for Pairs {
    type Error = Failed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        visitor.visit_map(Access { rest: self.0.into_iter(), value: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        visitor.visit_map(self.checked(fields)?)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        self.checked(&[])?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// One parameter after the other.
struct Access {
    rest: std::vec::IntoIter<(String, String)>,
    value: Option<(String, String)>,
}

impl<'de> MapAccess<'de> for Access {
    type Error = Failed;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failed> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        let key: StringDeserializer<Failed> = name.clone().into_deserializer();
        self.value = Some((name, value));
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failed> {
        let (name, value) = self.value.take().unwrap_or_default();
        seed.deserialize(Text(value)).map_err(|error| match error {
            Failed::Bad { field: None, detail } => Failed::Bad { field: Some(name), detail },
            other => other,
        })
    }
}

/// A value: text that becomes what the field wants.
struct Text(String);

macro_rules! parsed {
    ($($method:ident $visit:ident $expected:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
            let value = self.0.parse().map_err(|_| Failed::Bad {
                field: None,
                detail: concat!("it must be ", $expected).to_owned(),
            })?;
            visitor.$visit(value)
        })*
    };
}

impl<'de> Deserializer<'de> for Text {
    type Error = Failed;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        visitor.visit_string(self.0)
    }

    parsed! {
        deserialize_bool visit_bool "true or false";
        deserialize_i8 visit_i8 "a whole number from -128 to 127";
        deserialize_i16 visit_i16 "a whole number of 16 bits";
        deserialize_i32 visit_i32 "a whole number of 32 bits";
        deserialize_i64 visit_i64 "a whole number of 64 bits";
        deserialize_i128 visit_i128 "a whole number of 128 bits";
        deserialize_u8 visit_u8 "a whole number from 0 to 255";
        deserialize_u16 visit_u16 "a whole number from 0 to 65535";
        deserialize_u32 visit_u32 "a whole number of 32 bits, not below 0";
        deserialize_u64 visit_u64 "a whole number of 64 bits, not below 0";
        deserialize_u128 visit_u128 "a whole number of 128 bits, not below 0";
        deserialize_f32 visit_f32 "a number";
        deserialize_f64 visit_f64 "a number";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failed> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failed> {
        if !variants.contains(&self.0.as_str()) {
            let detail = format!("it must be one of {}", variants.join(", "));
            return Err(Failed::Bad { field: None, detail });
        }
        let name: StrDeserializer<'_, Failed> = self.0.as_str().into_deserializer();
        visitor.visit_enum(name)
    }

    /// Several values stand behind one name, with commas between them.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failed> {
        let parts = self.0.split(',').filter(|part| !part.is_empty());
        let parts = parts.map(|part| Text(part.to_owned()));
        visitor.visit_seq(de::value::SeqDeserializer::new(parts))
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl IntoDeserializer<'_, Failed> for Text {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        #[default]
        NewestFirst,
        OldestFirst,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Wanted {
        chain: String,
        height: Option<u64>,
        #[serde(default)]
        order: Order,
        #[serde(default)]
        kinds: Vec<String>,
    }

    fn parse(raw: &str) -> Result<Wanted, Problem> {
        read(pairs(raw)?)
    }

    #[test]
    fn values_become_what_the_fields_want() {
        let found = parse("chain=a%20b+c&height=7&order=oldest_first&kinds=x,y&key=s").expect("ok");
        let kinds = vec!["x".to_owned(), "y".to_owned()];
        let chain = "a b c".to_owned();
        let wanted = Wanted { chain, height: Some(7), order: Order::OldestFirst, kinds };
        assert_eq!(found, wanted);
        assert_eq!(parse("chain=x").expect("the rest is optional").height, None);
    }

    #[test]
    fn what_is_not_known_or_not_readable_is_refused_by_name() {
        for (raw, code, part) in [
            ("chain=a&heigth=7", "unknown-parameter", "Did you mean `height`?"),
            ("chain=a&zzzzzzzz=7", "unknown-parameter", "Known are: chain, height, order, kinds."),
            ("height=7", "missing-parameter", "`chain`"),
            ("chain=a&chain=b", "bad-query", "twice"),
            ("chain=a&height=-1", "bad-query", "`height`"),
            ("chain=a&height=99999999999999999999", "bad-query", "64 bits"),
            ("chain=a&order=up", "bad-query", "newest_first, oldest_first"),
            ("chain=%ff", "bad-query", "UTF-8"),
            ("chain=%4", "bad-query", "UTF-8"),
        ] {
            let problem = parse(raw).expect_err(raw);
            assert_eq!(problem.code(), code, "{raw}");
            assert!(problem.detail().contains(part), "{raw}: {}", problem.detail());
        }
        let many = "a=1&".repeat(PARAMETERS + 1);
        assert_eq!(parse(&many).expect_err("too many").code(), "bad-query");
        assert!(read::<()>(vec![("a".into(), "1".into())]).is_err(), "none is taken");
    }

    #[test]
    fn encoding_and_decoding_are_inverse() {
        for text in ["", "plain", "a b+c&d=e/f?", "größe", "%"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text));
        }
    }
}

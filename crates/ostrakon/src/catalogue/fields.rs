//! The fields of a value, learnt by letting serde read one that is not there.
//!
//! Serde tells a deserializer what it wants to read: that is all the catalogue needs, and no value
//! has to describe itself a second time.

use serde::Deserialize;
use serde::de::value::Error;
use serde::de::{self, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Name and type of each field; of an enum its variants, without types.
pub(super) fn of<'de, V: Deserialize<'de>>() -> Vec<(String, String)> {
    let mut seen = Vec::new();
    // It always fails or gives a value that nobody wants: what counts is what was asked for.
    let _ = V::deserialize(Outer { seen: &mut seen });
    seen
}

/// Answers the question for the whole value.
struct Outer<'a> {
    seen: &'a mut Vec<(String, String)>,
}

impl<'de> Deserializer<'de> for Outer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("neither a struct nor an enum"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Should a type stop the walk, the names behind it are still known.
        let unknown = |name: &&str| ((*name).to_owned(), "value".to_owned());
        self.seen.extend(fields.iter().map(unknown));
        visitor.visit_map(Fields { seen: self.seen, next: 0 })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.seen.extend(variants.iter().map(|name| ((*name).to_owned(), "variant".to_owned())));
        Err(Error::custom("variants are enough"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// Gives each field once.
struct Fields<'a> {
    seen: &'a mut Vec<(String, String)>,
    next: usize,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, _)) = self.seen.get(self.next) else { return Ok(None) };
        let name = name.clone();
        seed.deserialize(de::value::StringDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let mut kind = String::new();
        let value = seed.deserialize(Inner { kind: &mut kind });
        if let Some((_, known)) = self.seen.get_mut(self.next).filter(|_| !kind.is_empty()) {
            *known = kind;
        }
        self.next += 1;
        value
    }
}

/// Answers the question for one field: notes its type and gives the emptiest value of it.
struct Inner<'a> {
    kind: &'a mut String,
}

macro_rules! plain {
    ($($method:ident $visit:ident $kind:literal $value:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            $kind.clone_into(self.kind);
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Inner<'_> {
    type Error = Error;

    plain! {
        deserialize_bool visit_bool "bool" false;
        deserialize_u8 visit_u8 "u8" 0;
        deserialize_u16 visit_u16 "u16" 0;
        deserialize_u32 visit_u32 "u32" 0;
        deserialize_u64 visit_u64 "u64" 0;
        deserialize_u128 visit_u128 "u128" 0;
        deserialize_i64 visit_i64 "i64" 0;
        deserialize_f64 visit_f64 "f64" 0.0;
        deserialize_str visit_str "text" "";
        deserialize_string visit_str "text" "";
        deserialize_bytes visit_bytes "bytes" &[];
        deserialize_byte_buf visit_bytes "bytes" &[];
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a type of its own"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        "optional".clone_into(self.kind);
        visitor.visit_none()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        "list".clone_into(self.kind);
        visitor.visit_seq(de::value::SeqDeserializer::new(std::iter::empty::<u8>()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut inside = String::new();
        let value = visitor.visit_newtype_struct(Inner { kind: &mut inside });
        name.clone_into(self.kind);
        value
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 f32 char unit unit_struct tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Shape {
        name: String,
        height: Height,
        parent: Option<Height>,
        list: Vec<String>,
        kind: Kind,
        behind: u32,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Height(u64);

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    enum Kind {
        Small,
        Large(u64),
    }

    fn check<'de, V: Deserialize<'de>>(expected: &[(&str, &str)]) {
        let found = of::<V>();
        let found: Vec<_> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn fields_have_names_and_types_as_far_as_the_first_unknown_one() {
        check::<Shape>(&[
            ("name", "text"),
            ("height", "Height"),
            ("parent", "optional"),
            ("list", "list"),
            ("kind", "value"),
            ("behind", "value"),
        ]);
        check::<Kind>(&[("Small", "variant"), ("Large", "variant")]);
        check::<u64>(&[]);
    }
}

//! Every field of an object, under the name that the node gives it.

use maud::{Markup, html};
use scan::{Address, Hash};
use serde_json::{Map, Value};
use web::format;

use super::page::Page;
use super::parts::{amount, scrolled};

/// Fields that are amounts of Drip.
const AMOUNTS: [&str; 8] = [
    "baseFeePerGas",
    "burntGasFee",
    "effectiveGasPrice",
    "gasFee",
    "gasPrice",
    "maxFeePerGas",
    "maxPriorityFeePerGas",
    "value",
];
/// Fields that are hashes of blocks.
const BLOCKS: [&str; 4] = ["blockHash", "firstBlockHash", "parentHash", "refereeHashes"];
/// Fields that are epochs.
const EPOCHS: [&str; 1] = ["epochNumber"];
/// Texts that are shown whole; of longer ones the beginning.
const SHOWN: usize = 2048;
/// How deep fields may stand in fields.
const DEEPEST: usize = 6;

/// A number as a node writes it, or a plain one.
pub(super) fn number(value: Option<&Value>) -> Option<u128> {
    match value? {
        Value::String(text) => u128::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        Value::Number(number) => number.as_u64().map(u128::from),
        _ => None,
    }
}

/// The address in a field.
pub(super) fn address(value: Option<&Value>) -> Option<Address> {
    Address::parse(value?.as_str()?).ok()
}

/// The hash in a field.
pub(super) fn hash(value: Option<&Value>) -> Option<Hash> {
    Hash::parse(value?.as_str()?).ok()
}

impl Page {
    /// A table of all fields but those in `left_out`.
    pub(super) fn fields(&self, fields: &Map<String, Value>, left_out: &[&str]) -> Markup {
        let words = self.words();
        let table = html! {
            table.fields {
                thead { tr { th scope="col" { (words.field) } th scope="col" { (words.value) } } }
                tbody {
                    @for (name, value) in fields {
                        @if !left_out.contains(&name.as_str()) {
                            tr {
                                th scope="row" { code { (name) } }
                                td { (self.value(name, value, 0)) }
                            }
                        }
                    }
                }
            }
        };
        scrolled(words.all_fields, &table)
    }

    fn value(&self, name: &str, value: &Value, depth: usize) -> Markup {
        if depth > DEEPEST {
            return html! { "…" };
        }
        match value {
            Value::Null => html! { "–" },
            Value::Bool(flag) => html! { (flag) },
            Value::Number(number) => match number.as_u64() {
                Some(number) => html! { (format::count(number)) },
                None => html! { (number) },
            },
            Value::String(text) => self.text(name, text),
            Value::Array(items) if items.is_empty() => html! { "[ ]" },
            Value::Array(items) => html! {
                ol.plain start="0" {
                    @for item in items { li { (self.value(name, item, depth + 1)) } }
                }
            },
            Value::Object(fields) => html! {
                dl.inner {
                    @for (name, value) in fields {
                        dt { code { (name) } }
                        dd { (self.value(name, value, depth + 1)) }
                    }
                }
            },
        }
    }

    fn text(&self, name: &str, text: &str) -> Markup {
        if text.len() == 66 {
            // The first block of all has a parent of zeros, which is none.
            let nothing = text.bytes().skip(2).all(|digit| digit == b'0');
            return html! {
                @if BLOCKS.contains(&name) && !nothing {
                    a href={ (self.path("/blocks/")) (text) } { code { (text) } }
                } @else { code { (text) } }
            };
        }
        if let Some(address) = address(Some(&Value::from(text))).filter(|_| text.len() > 40) {
            let short = address.base32(self.network);
            let place = if name == "miner" { "/miners/" } else { "/accounts/" };
            return html! { a href={ (self.path(place)) (short) } { code { (short) } } };
        }
        let known = u128::from_str_radix(text.strip_prefix("0x").unwrap_or("none"), 16).ok();
        match known {
            Some(seconds) if name == "timestamp" => html! {
                (web::time(u64::try_from(seconds).unwrap_or(u64::MAX / 2)))
            },
            Some(drip) if AMOUNTS.contains(&name) => html! {
                (format::large(drip)) " Drip = " (amount(drip))
            },
            Some(number) if EPOCHS.contains(&name) => html! {
                (self.epoch_link(u64::try_from(number).unwrap_or(u64::MAX)))
            },
            // Bytes with a meaning of their own; as a number they would say nothing.
            Some(number) if !matches!(name, "data" | "custom" | "topics" | "logsBloom") => html! {
                span title=(text) { (format::large(number)) }
            },
            _ => long(text),
        }
    }
}

/// A text of any length.
fn long(text: &str) -> Markup {
    let cut = text.chars().count() > SHOWN;
    html! {
        code {
            @if cut { (text.chars().take(SHOWN).collect::<String>()) "…" } @else { (text) }
        }
        @if cut { " (" (format::bytes(text.len() as u64 / 2)) ")" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_as_nodes_write_them() {
        let check = |value: Value, expected: Option<u128>| {
            assert_eq!(number(Some(&value)), expected, "{value}");
        };
        check(json!("0x10"), Some(16));
        check(json!(7), Some(7));
        check(json!("10"), None);
        check(json!("0x"), None);
        check(Value::Null, None);
        assert_eq!(number(None), None);
    }

    #[test]
    fn long_texts_are_cut() {
        let text = long(&format!("0x{}", "ab".repeat(4000))).into_string();
        assert!(text.contains('…') && text.len() < 3000, "{}", text.len());
    }
}

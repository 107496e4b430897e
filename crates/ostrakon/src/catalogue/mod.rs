//! Every table of the program, with the types of its keys and values.
//!
//! The one list from which `schema`, `shards`, `verify`, `backup` and the generated documents know
//! the tables. A service adds its own here.

mod fields;

use std::any::type_name;

use serde::Deserialize;
use store::{Schema, Table, TableDef, Writes};

use crate::system::tables::{SAMPLES, SETTINGS, STARTS};

/// A table and the names of its types.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    /// The table.
    pub(crate) def: &'static TableDef,
    /// Types of its partition key.
    pub(crate) partition: String,
    /// Types of its sort key.
    pub(crate) sort: String,
    /// Type of its value.
    pub(crate) value: String,
    /// Fields of its value with their types.
    pub(crate) fields: Vec<(String, String)>,
}

/// All tables, by name.
pub(crate) fn tables() -> Vec<Described> {
    let mut tables = vec![describe(&SAMPLES), describe(&SETTINGS), describe(&STARTS)];
    let timeline = timeline::schema();
    let kernel = timeline.tables().chain(tally::tables());
    let kernel = kernel.chain([index::INTENTS.def(), index::STUCK.def()]);
    let services = [platform::tables(), scan::tables::tables(), staking::tables::tables()];
    tables.extend(kernel.chain(services.into_iter().flatten()).map(opaque));
    tables.sort_by_key(|table| table.def.name());
    tables
}

/// All tables as the store needs them.
pub(crate) fn schema() -> Schema {
    Schema::new(tables().iter().map(|table| table.def))
}

/// `once` or `guarded`.
pub(crate) fn writes(table: &TableDef) -> &'static str {
    match table.writes() {
        Writes::Once => "once",
        Writes::Guarded => "guarded",
    }
}

fn describe<'de, P, S, V: Deserialize<'de>>(table: &'static Table<P, S, V>) -> Described {
    Described {
        def: table.def(),
        partition: short(type_name::<P>()),
        sort: short(type_name::<S>()),
        value: short(type_name::<V>()),
        fields: fields::of::<V>(),
    }
}

/// A table of the kernel or the platform: what its rows hold is the crate's own business.
fn opaque(def: &'static TableDef) -> Described {
    let [partition, sort, value] = ["bytes", "bytes", "bytes"].map(str::to_owned);
    Described { def, partition, sort, value, fields: Vec::new() }
}

/// A type's name without the paths of its modules: `store::key::Sequenced<()>` is `Sequenced<()>`.
fn short(name: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ':' && letters.peek() == Some(&':') {
            letters.next();
            word.clear();
        } else if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
        } else {
            text.push_str(&std::mem::take(&mut word));
            text.push(letter);
        }
    }
    text + &word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_lose_their_paths() {
        for (name, expected) in [
            ("u64", "u64"),
            ("alloc::string::String", "String"),
            ("store::key::Sequenced<()>", "Sequenced<()>"),
            ("(a::b::C, core::cmp::Reverse<d::E>)", "(C, Reverse<E>)"),
        ] {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn every_table_has_a_sentence_and_a_query() {
        for table in tables() {
            let name = table.def.name();
            assert!(table.def.about().ends_with('.'), "{name}: the sentence has no end");
            assert!(!table.def.queries().is_empty(), "{name}: declare the queries it was made for");
        }
    }
}

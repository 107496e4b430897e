//! `ostrakon docs`: documents generated from the program itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use store::Touches;

use super::{Cli, in_runtime, print};
use crate::catalogue::{self, Described};
use crate::failure;
use crate::format;
use crate::server;

/// Write the generated documents: help of every command, catalogue of tables, the API
#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// The directory to write into
    directory: PathBuf,
}

impl Docs {
    /// Writes the files.
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let directory = &self.directory;
        let cannot = || format!("cannot write into {}", directory.display());
        std::fs::create_dir_all(directory).with_context(cannot)?;
        let files = [
            ("cli.md", cli()),
            ("openapi.json", openapi()?),
            ("tables.md", tables(&catalogue::tables())),
        ];
        for (name, text) in files {
            std::fs::write(directory.join(name), text).with_context(cannot)?;
            print(&format!("{}\n", directory.join(name).display()))?;
        }
        Ok(failure::OK)
    }
}

const GENERATED: &str = "<!-- Written by `cargo xtask docs`; do not edit. -->\n";

fn cli() -> String {
    let mut text = format!("{GENERATED}\n# Command line\n");
    let mut command = Cli::command().term_width(100);
    command.build();
    help(&mut command, "", &mut text);
    text
}

/// The API document as it is served.
fn openapi() -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&in_runtime(server::document())?)? + "\n")
}

/// The help of a command and of those below it.
fn help(command: &mut clap::Command, above: &str, text: &mut String) {
    let name = format!("{above}{}", command.get_name());
    let written = command.render_long_help().to_string();
    let written: Vec<&str> = written.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", written.join("\n").trim_end());
    for below in command.get_subcommands_mut() {
        help(below, &format!("{name} "), text);
    }
}

fn tables(tables: &[Described]) -> String {
    let mut text = format!("{GENERATED}\n# Tables\n\n");
    let services: BTreeSet<&str> = tables.iter().map(service).collect();
    let (many, of) = (tables.len(), services.len());
    let _ = writeln!(
        text,
        "{many} tables of {of} {}. `once` rows are functions of their keys and may be put again by \
         anyone;\n`guarded` rows change only by compare-and-set of their partition.\n",
        if of == 1 { "service" } else { "services" },
    );
    for name in services {
        let _ = writeln!(text, "## {name}\n");
        for table in tables.iter().filter(|table| service(table) == name) {
            text.push_str(&table_section(table));
        }
    }
    text + &diagram(tables)
}

fn service(table: &Described) -> &'static str {
    table.def.name().split('.').next().unwrap_or_default()
}

fn table_section(table: &Described) -> String {
    let (def, bounds) = (table.def, table.def.bounds());
    let mut text = format!("### {}\n\n{}\n\n", def.name(), def.about());
    let keys = format!("partition `{}`, sort `{}`", table.partition, table.sort);
    let limits = format!(
        "{} rows in a partition, {} in a value, {} rows in a page",
        format::count(bounds.partition_rows),
        format::bytes(bounds.value_bytes as u64),
        format::count(bounds.page_rows as u64),
    );
    let _ = write!(
        text,
        "| | |\n| --- | --- |\n| placement | `{}` |\n| writes | {} |\n| key | {keys} |\n\
         | value | `{}`{} |\n| bounds | {limits} |\n",
        def.placement(),
        catalogue::writes(def),
        table.value,
        field_list(table),
    );
    for query in def.queries() {
        let touches = match query.touches {
            Touches::One => "one partition".to_owned(),
            Touches::Few(count) => format!("up to {count} partitions"),
            Touches::All => "all partitions".to_owned(),
        };
        let _ = writeln!(text, "| answers | {} ({touches}) |", query.name);
    }
    text + "\n"
}

fn field_list(table: &Described) -> String {
    let names: Vec<&str> = table.fields.iter().map(|(name, _)| name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

/// An entity-relationship diagram. A table refers to another when its key holds the type that is
/// the whole sort key of the other.
fn diagram(tables: &[Described]) -> String {
    let mut text = String::from("## Diagram\n\n```mermaid\nerDiagram\n");
    for table in tables {
        let _ = writeln!(text, "    \"{}\" {{", table.def.name());
        let parts = [("partition", &table.partition), ("sort", &table.sort)];
        for (name, part) in parts {
            let _ = writeln!(text, "        {} {name} PK", words(part).join("_"));
        }
        for (name, kind) in &table.fields {
            let _ = writeln!(text, "        {kind} {name}");
        }
        text.push_str("    }\n");
    }
    for table in tables {
        for other in tables.iter().filter(|other| refers(table, other)) {
            let (from, to) = (other.def.name(), table.def.name());
            let _ = writeln!(text, "    \"{from}\" ||--o{{ \"{to}\" : \"{}\"", other.sort);
        }
    }
    text + "```\n"
}

fn refers(table: &Described, other: &Described) -> bool {
    let own = |name: &str| name.starts_with(char::is_uppercase) && name != "String";
    table.def.name() != other.def.name()
        && own(&other.sort)
        && words(&format!("{} {}", table.partition, table.sort)).contains(&other.sort.as_str())
}

/// The names in a type: `(A, B<C>)` has three. Nothing is called `none`.
fn words(kind: &str) -> Vec<&str> {
    let parts = kind.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<&str> = parts.filter(|word| !word.is_empty()).collect();
    if words.is_empty() { vec!["none"] } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_table_is_documented() {
        let text = cli();
        for command in ["init", "schema apply", "shards", "verify store", "backup", "demo", "docs"]
        {
            assert!(text.contains(&format!("\n## ostrakon {command}\n")), "{command}");
        }
        let text = tables(&catalogue::tables());
        for table in catalogue::tables() {
            assert!(text.contains(&format!("### {}\n", table.def.name())));
        }
    }

    #[test]
    fn the_diagram_shows_which_table_refers_to_which() {
        let text = diagram(&catalogue::tables());
        assert!(text.contains("\"system.starts\" ||--o{ \"system.samples\""), "{text}");
        assert_eq!(text.matches("||--o{").count(), 1, "{text}");
    }

    #[test]
    fn generated_lines_do_not_end_in_blanks() {
        for text in [cli(), tables(&catalogue::tables())] {
            assert!(text.lines().all(|line| line == line.trim_end()));
        }
    }
}

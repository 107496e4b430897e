//! What the server says of itself: COMMAND and INFO.

use std::fmt::Write as _;

use crate::commands::table::{COMMANDS, Command};
use crate::commands::{Answer, Asked, is, wrong_number};
use crate::reply::Reply;
use crate::session::Shared;

/// The Redis whose texts and rules these are; clients decide by it what they may ask.
pub(crate) const REDIS_VERSION: &str = "7.0.15";

pub(crate) fn unknown_subcommand(subcommand: &[u8], command: &str) -> Reply {
    let most = subcommand.len().min(128);
    let given = String::from_utf8_lossy(subcommand.get(..most).unwrap_or_default());
    Reply::error(format!("unknown subcommand '{given}'. Try {command} HELP."))
}

pub(crate) fn command(arguments: &[Vec<u8>]) -> Answer {
    let Some((subcommand, names)) = arguments.split_first() else {
        return Ok(Reply::Array(COMMANDS.iter().map(info_of).collect()));
    };
    let named = |name: &[u8]| COMMANDS.iter().find(|command| is(name, command.name));
    match String::from_utf8_lossy(subcommand).to_ascii_lowercase().as_str() {
        "count" if names.is_empty() => Ok(Reply::count(COMMANDS.len() as u64)),
        "count" => Err(wrong_number("command|count")),
        "info" if names.is_empty() => Ok(Reply::Array(COMMANDS.iter().map(info_of).collect())),
        "info" => {
            let infos = names.iter().map(|name| named(name).map_or(Reply::Null, info_of));
            Ok(Reply::Array(infos.collect()))
        }
        "docs" if names.is_empty() => Ok(Reply::Map(COMMANDS.iter().map(docs_of).collect())),
        "docs" => {
            let docs = names.iter().filter_map(|name| named(name).map(docs_of));
            Ok(Reply::Map(docs.collect()))
        }
        _ => Err(unknown_subcommand(subcommand, "COMMAND")),
    }
}

fn info_of(command: &Command) -> Reply {
    let reads = matches!(command.group, "generic" | "string" | "hash" | "sorted-set" | "list");
    let mut flags = vec![if reads { "readonly" } else { "noscript" }];
    let mut categories = vec![if command.slow { "@slow" } else { "@fast" }];
    if !command.slow {
        flags.push("fast");
    }
    if reads {
        categories.push("@read");
    }
    let words = |words: Vec<&'static str>| words.into_iter().map(Reply::Simple).collect();
    let (first, last, step) = command.keys;
    Reply::Array(vec![
        Reply::text(command.name),
        Reply::Integer(command.arity),
        Reply::Set(words(flags)),
        Reply::Integer(first),
        Reply::Integer(last),
        Reply::Integer(step),
        Reply::Set(words(categories)),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
        Reply::Array(Vec::new()),
    ])
}

fn docs_of(command: &Command) -> (Reply, Reply) {
    let pairs = [("summary", command.summary), ("since", "1.0.0"), ("group", command.group)];
    let pairs = pairs.map(|(name, value)| (Reply::text(name), Reply::text(value)));
    (Reply::text(command.name), Reply::Map(pairs.into()))
}

/// INFO, whole or some of its sections.
pub(crate) async fn info(asked: &Asked<'_>, shared: &Shared) -> Answer {
    let wanted = asked.from(1);
    let whole = wanted.is_empty()
        || wanted
            .iter()
            .any(|name| ["all", "default", "everything"].iter().any(|all| is(name, all)));
    let mut text = String::new();
    for name in ["Server", "Clients", "Stats", "Replication", "Keyspace"] {
        if !whole && !wanted.iter().any(|word| is(word, name)) {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        let _ = write!(text, "# {name}\r\n");
        for (field, value) in section(asked, shared, name).await? {
            let _ = write!(text, "{field}:{value}\r\n");
        }
    }
    Ok(Reply::Verbatim(text))
}

async fn section(
    asked: &Asked<'_>,
    shared: &Shared,
    name: &str,
) -> Result<Vec<(&'static str, String)>, Reply> {
    let stats = shared.stats().read();
    let counted = |name: &str| {
        let found = stats.iter().find(|(known, _)| *known == name);
        found.map_or(0, |(_, value)| *value).to_string()
    };
    Ok(match name {
        "Server" => vec![
            ("redis_version", REDIS_VERSION.to_owned()),
            ("redis_mode", "standalone".to_owned()),
            ("ostrakon_version", env!("CARGO_PKG_VERSION").to_owned()),
            ("tcp_port", shared.port.to_string()),
            ("uptime_in_seconds", shared.started.elapsed().as_secs().to_string()),
        ],
        "Clients" => vec![
            ("connected_clients", counted("open")),
            ("maxclients", shared.options.connections.to_string()),
        ],
        "Stats" => vec![
            ("total_connections_received", counted("accepted")),
            ("total_commands_processed", counted("commands")),
            ("total_net_input_bytes", counted("bytes_in")),
            ("total_net_output_bytes", counted("bytes_out")),
            ("rejected_connections", counted("refused")),
            ("total_error_replies", counted("errors")),
        ],
        "Replication" => {
            vec![("role", "slave".to_owned()), ("slave_read_only", "1".to_owned())]
        }
        _ => match asked.snapshot.size().await? {
            0 => Vec::new(),
            keys => vec![("db0", format!("keys={keys},expires=0,avg_ttl=0"))],
        },
    })
}

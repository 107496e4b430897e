//! The configuration file: its keys, their types and their ranges.
//!
//! Serde checks the shape; values arrive with their place in the text, and each is checked here, so
//! that the answer to a wrong one can name the line and show a right one.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Spanned, Value};

use super::cassandra::{self, CassandraSection};
use super::chains;
use super::problem::{Problem, nearest};
use super::scan::{self, RedisSection, ScanSection};
use super::staking::StakingSection;
use super::{EngineKind, LogFormat, Settings, size};

/// Least and most bytes of cache: below, the engine reads every block twice; above, it is a slip.
const CACHE_BYTES: std::ops::RangeInclusive<u64> = (1 << 20)..=(1 << 40);

/// Every key with its section, for suggestions. A test compares it with the structs below.
const KEYS: &[(&str, &str)] = &[
    ("store", "engine"),
    ("store", "directory"),
    ("store", "cache"),
    ("http", "listen"),
    ("http", "origin"),
    ("http", "trusted_proxies"),
    ("webhooks", "loopback"),
    ("scan", "latest_blocks"),
    ("staking", "shards"),
    ("staking", "patience_hours"),
    ("staking", "network"),
    ("staking", "chain"),
    ("staking", "global_params"),
    ("staking", "finality_providers"),
    ("staking", "page"),
    ("log", "level"),
    ("log", "format"),
];

pub(super) type Item = Option<Spanned<Value>>;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    store: StoreSection,
    http: HttpSection,
    webhooks: WebhooksSection,
    chains: BTreeMap<String, Spanned<Value>>,
    scan: ScanSection,
    redis: BTreeMap<String, RedisSection>,
    staking: StakingSection,
    log: LogSection,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [store]")]
struct StoreSection {
    engine: Item,
    directory: Item,
    cache: Item,
    cassandra: CassandraSection,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [http]")]
struct HttpSection {
    listen: Item,
    origin: Item,
    trusted_proxies: Item,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [webhooks]")]
struct WebhooksSection {
    loopback: Item,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [log]")]
struct LogSection {
    level: Item,
    format: Item,
}

/// Reads the text of the file at `path`.
pub(super) fn read(path: &Path, text: &str) -> Result<Settings, Problem> {
    let file: File = toml::from_str(text).map_err(|error| shape(path, text, &error))?;
    let check = Check { path, text };
    let base = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let base = base.parent().unwrap_or(Path::new("/"));
    let mut settings = Settings::defaults(base.join(super::DEFAULT_DIRECTORY));
    settings.cassandra = file.store.cassandra.read(&check, base)?;
    if let Some(item) = &file.store.engine {
        settings.engine = check.engine(item)?;
    }
    if let Some(item) = &file.store.directory {
        settings.data = check.directory(item, base)?;
    }
    if let Some(item) = &file.store.cache {
        settings.cache_bytes = check.cache(item)?;
    }
    if let Some(item) = &file.http.listen {
        settings.listen = check.listen(item)?;
    }
    if let Some(item) = &file.http.origin {
        settings.origin = Some(check.origin(item)?);
    }
    if let Some(item) = &file.http.trusted_proxies {
        settings.trusted_proxies = check.proxies(item)?;
    }
    if let Some(item) = &file.webhooks.loopback {
        settings.loopback_webhooks = check.choice(item, "loopback")?;
    }
    for (name, item) in &file.chains {
        settings.chains.push(chains::read(&check, name, item)?);
    }
    if let Some(item) = &file.scan.latest_blocks {
        settings.latest_blocks = scan::latest_blocks(&check, item)?;
    }
    for (name, section) in &file.redis {
        settings.redis.push(section.read(&check, name, base)?);
    }
    settings.staking = file.staking.read(&check, base)?;
    if let Some(item) = &file.log.level {
        settings.log.level = check.level(item)?;
    }
    if let Some(item) = &file.log.format {
        settings.log.format = check.format(item)?;
    }
    Ok(settings)
}

/// Judges values by the text they stand in.
pub(super) struct Check<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Check<'_> {
    /// A mistake at an item.
    pub(super) fn problem(&self, item: &Spanned<Value>, what: String, remedy: String) -> Problem {
        Problem::at(self.path, self.text, Some(item.span()), what, remedy)
    }

    /// A mistake that no item stands for: one is missing.
    pub(super) fn whole(&self, what: String, remedy: String) -> Problem {
        Problem::at(self.path, self.text, None, what, remedy)
    }

    /// The item as text, or a problem that shows how it is written.
    pub(super) fn words<'a>(
        &self,
        item: &'a Spanned<Value>,
        key: &str,
        example: &str,
    ) -> Result<&'a str, Problem> {
        item.get_ref().as_str().ok_or_else(|| {
            let what = format!("`{key}` is {}, and must be text", kind(item.get_ref()));
            self.problem(item, what, format!("write it in quotes: {key} = \"{example}\""))
        })
    }

    /// The item as text that is not empty.
    pub(super) fn filled(
        &self,
        item: &Spanned<Value>,
        key: &str,
        example: &str,
    ) -> Result<String, Problem> {
        let text = self.words(item, key, example)?;
        if text.trim().is_empty() {
            let remedy = format!("write {key} = \"{example}\", or remove the line");
            return Err(self.problem(item, format!("`{key}` is empty"), remedy));
        }
        Ok(text.to_owned())
    }

    /// A path, which starts from the file's directory when it is relative.
    pub(super) fn path(
        &self,
        item: &Spanned<Value>,
        key: &str,
        example: &str,
        base: &Path,
    ) -> Result<PathBuf, Problem> {
        let text = self.filled(item, key, example)?;
        if text.starts_with('~') || text.contains('$') {
            let what = format!("`{key}` is \"{text}\", but ~ and $ mean nothing here");
            let remedy = "write the whole path, or one that starts from this file's directory";
            return Err(self.problem(item, what, remedy.to_owned()));
        }
        Ok(base.join(text))
    }

    fn engine(&self, item: &Spanned<Value>) -> Result<EngineKind, Problem> {
        match self.words(item, "engine", "embedded")? {
            "embedded" => Ok(EngineKind::Embedded),
            "cassandra" => Ok(EngineKind::Cassandra),
            text => {
                let what = format!("`engine` is \"{text}\", which is no engine");
                let hint = suggestion(text, ["embedded", "cassandra"]).unwrap_or_default();
                let remedy = "write engine = \"embedded\" or engine = \"cassandra\"";
                Err(self.problem(item, what, format!("{hint}{remedy}")))
            }
        }
    }

    fn directory(&self, item: &Spanned<Value>, base: &Path) -> Result<PathBuf, Problem> {
        let directory = self.path(item, "directory", "data", base)?;
        if directory.is_file() {
            let what = format!("`directory` is {}, which is a file", directory.display());
            let remedy = "name a directory, or one that does not exist yet".to_owned();
            return Err(self.problem(item, what, remedy));
        }
        Ok(directory)
    }

    fn cache(&self, item: &Spanned<Value>) -> Result<u64, Problem> {
        let example = "write bytes or a size with a unit: cache = \"256 MiB\"".to_owned();
        let parsed = match item.get_ref() {
            Value::Integer(bytes) => u64::try_from(*bytes).ok(),
            Value::String(text) => size::parse(text),
            other => {
                let what = format!("`cache` is {}, and must be a size", kind(other));
                return Err(self.problem(item, what, example));
            }
        };
        let Some(bytes) = parsed else {
            let what = format!("`cache` is {}, which is no size", item.get_ref());
            return Err(self.problem(item, what, example));
        };
        if !CACHE_BYTES.contains(&bytes) {
            let what = format!("`cache` is {}, out of range", crate::format::bytes(bytes));
            let (least, most) = (CACHE_BYTES.start(), CACHE_BYTES.end());
            let (least, most) = (crate::format::bytes(*least), crate::format::bytes(*most));
            let remedy = format!("give it {least} to {most}; half of the free memory is plenty");
            return Err(self.problem(item, what, remedy));
        }
        Ok(bytes)
    }

    pub(super) fn listen(&self, item: &Spanned<Value>) -> Result<SocketAddr, Problem> {
        let text = self.words(item, "listen", "127.0.0.1:8480")?;
        listen_address(text)
            .map_err(|remedy| self.problem(item, format!("`listen` is \"{text}\""), remedy))
    }

    /// Scheme, host and port, and nothing else: browsers compare it as it is.
    fn origin(&self, item: &Spanned<Value>) -> Result<String, Problem> {
        let text = self.words(item, "origin", "https://scan.example.org")?;
        let address = platform::Address::parse(text, &["http", "https"]);
        let plain = address.is_ok_and(|it| it.to_string() == text)
            && !text.ends_with('/')
            && text.matches('/').count() == 2;
        if plain {
            return Ok(text.to_owned());
        }
        let remedy = "write scheme, host and port as browsers show them, without a path: \
                      origin = \"https://scan.example.org\"";
        Err(self.problem(item, format!("`origin` is \"{text}\""), remedy.to_owned()))
    }

    fn proxies(&self, item: &Spanned<Value>) -> Result<Vec<IpAddr>, Problem> {
        let example = "write IP numbers: trusted_proxies = [\"127.0.0.1\"]".to_owned();
        let Value::Array(values) = item.get_ref() else {
            let what = format!("`trusted_proxies` is {}, and must be a list", kind(item.get_ref()));
            return Err(self.problem(item, what, example));
        };
        let address = |value: &Value| {
            value.as_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
                let what = format!("{value} in `trusted_proxies` is no IP number");
                self.problem(item, what, example.clone())
            })
        };
        values.iter().map(address).collect()
    }

    fn choice(&self, item: &Spanned<Value>, key: &str) -> Result<bool, Problem> {
        item.get_ref().as_bool().ok_or_else(|| {
            let what = format!("`{key}` is {}, and must be true or false", kind(item.get_ref()));
            self.problem(item, what, format!("write {key} = true or {key} = false"))
        })
    }

    fn level(&self, item: &Spanned<Value>) -> Result<String, Problem> {
        let text = self.words(item, "level", "info")?;
        if crate::log::is_filter(text) {
            return Ok(text.to_owned());
        }
        let what = format!("`level` is \"{text}\", which is no level");
        let levels = ["error", "warn", "info", "debug", "trace"];
        let remedy = suggestion(text, levels).unwrap_or_default();
        let remedy = format!("{remedy}levels are error, warn, info, debug and trace");
        Err(self.problem(item, what, remedy))
    }

    fn format(&self, item: &Spanned<Value>) -> Result<LogFormat, Problem> {
        match self.words(item, "format", "text")? {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            text => {
                let what = format!("`format` is \"{text}\", which is no format");
                let remedy = "write format = \"text\" or format = \"json\"".to_owned();
                Err(self.problem(item, what, remedy))
            }
        }
    }
}

/// An address to listen on, or the remedy. Also what `--listen` takes.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let remedy = "an address is an IP number and a port";
        let example = match text.rsplit_once(':') {
            Some(("" | "localhost", port)) if port.parse::<u16>().is_ok() => {
                format!("127.0.0.1:{port}")
            }
            Some(("*", port)) if port.parse::<u16>().is_ok() => format!("0.0.0.0:{port}"),
            _ if text.parse::<u16>().is_ok() => format!("127.0.0.1:{text}"),
            _ if text.parse::<std::net::Ipv4Addr>().is_ok() => format!("{text}:8480"),
            Some((_, port)) if port.bytes().all(|b| b.is_ascii_digit()) && port.len() > 4 => {
                return format!(
                    "{remedy}, and a port is at most 65535: listen = \"127.0.0.1:8480\""
                );
            }
            _ => "127.0.0.1:8480".to_owned(),
        };
        format!("{remedy}: listen = \"{example}\"")
    })
}

/// What serde and the parser complain about, in our words.
fn shape(path: &Path, text: &str, error: &toml::de::Error) -> Problem {
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let problem =
        |what: String, remedy: String| Problem::at(path, text, error.span(), what, remedy);
    if message.starts_with("unknown field") {
        let unknown = quoted.next().unwrap_or_default();
        let known: Vec<&str> = quoted.collect();
        return problem(format!("unknown key `{unknown}`"), unknown_key(unknown, &known));
    }
    if let Some((_, section)) = message.split_once("expected the section ") {
        let what = format!("{section} is a section, not a value");
        return problem(what, format!("write {section} on a line of its own, and keys below it"));
    }
    let what = message.lines().collect::<Vec<_>>().join(" ");
    let remedy = "the file is TOML: key = \"value\", sections in [brackets]".to_owned();
    problem(what, remedy)
}

/// The remedy for a key that nobody knows, at a place where `known` ones may stand.
fn unknown_key(unknown: &str, known: &[&str]) -> String {
    if unknown == "password" {
        return format!(
            "a password does not belong here: name a file that holds it with `password_file`, or \
             set {}",
            super::PASSWORD_VARIABLE
        );
    }
    if let Some((section, key)) = keys().find(|(_, key)| *key == unknown) {
        return format!("`{key}` belongs below [{section}]");
    }
    let list = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let suggestion = suggestion(unknown, known.iter().copied()).unwrap_or_default();
    format!("{suggestion}known here: {list}")
}

/// Every key with its section.
fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().copied().chain(cassandra::KEYS.map(|key| ("store.cassandra", key)))
}

/// Asks whether a known word was meant, when one is near.
pub(super) fn suggestion<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, known).map(|known| format!("did you mean `{known}`? "))
}

/// What a value is, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a number",
        Value::Float(_) => "a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let problem = read(Path::new("/etc/o.toml"), text).expect_err(text);
        assert_eq!(problem.to_string(), format!("/etc/o.toml:{expected}"), "for {text:?}");
    }

    #[test]
    fn unknown_keys_are_named_with_the_nearest_known_one() {
        check(
            "[store]\ncahce = 5\n",
            "2:1: unknown key `cahce`\n  did you mean `cache`? known here: `engine`, `directory`, \
             `cache`, `cassandra`",
        );
        check(
            "[htpp]\nlisten = \"x\"\n",
            "1:2: unknown key `htpp`\n  did you mean `http`? known here: `store`, `http`, \
             `webhooks`, `chains`, `scan`, `redis`, `staking`, `log`",
        );
        check(
            "[store]\nlisten = \"x\"\n",
            "2:1: unknown key `listen`\n  `listen` belongs below [http]",
        );
        check(
            "[store]\nkeyspace = \"x\"\n",
            "2:1: unknown key `keyspace`\n  `keyspace` belongs below [store.cassandra]",
        );
        check("level = \"x\"\n", "1:1: unknown key `level`\n  `level` belongs below [log]");
        check(
            "[http]\nmax_connections = 5\n",
            "2:1: unknown key `max_connections`\n  known here: `listen`, `origin`, \
             `trusted_proxies`",
        );
    }

    #[test]
    fn wrong_types_are_named_with_a_right_line() {
        check(
            "[store]\n\ndirectory = 5\n",
            "3:13: `directory` is a number, and must be text\n  \
             write it in quotes: directory = \"data\"",
        );
        check(
            "[store]\ncache = true\n",
            "2:9: `cache` is true or false, and must be a size\n  \
             write bytes or a size with a unit: cache = \"256 MiB\"",
        );
        check(
            "[http]\nlisten = 8080\n",
            "2:10: `listen` is a number, and must be text\n  \
             write it in quotes: listen = \"127.0.0.1:8480\"",
        );
        check(
            "store = 5\n",
            "1:9: [store] is a section, not a value\n  \
             write [store] on a line of its own, and keys below it",
        );
    }

    #[test]
    fn values_out_of_range_are_named_with_the_range() {
        let remedy = "give it 1.0 MiB to 1.0 TiB; half of the free memory is plenty";
        check("[store]\ncache = 5\n", &format!("2:9: `cache` is 5 B, out of range\n  {remedy}"));
        check(
            "[store]\ncache = \"2 TiB\"\n",
            &format!("2:9: `cache` is 2.0 TiB, out of range\n  {remedy}"),
        );
        check(
            "[store]\ncache = \"lots\"\n",
            "2:9: `cache` is \"lots\", which is no size\n  \
             write bytes or a size with a unit: cache = \"256 MiB\"",
        );
        check(
            "[store]\ncache = -1\n",
            "2:9: `cache` is -1, which is no size\n  \
             write bytes or a size with a unit: cache = \"256 MiB\"",
        );
        check(
            "[store]\nengine = \"casandra\"\n",
            "2:10: `engine` is \"casandra\", which is no engine\n  did you mean `cassandra`? \
             write engine = \"embedded\" or engine = \"cassandra\"",
        );
        check(
            "[log]\nlevel = \"inof\"\n",
            "2:9: `level` is \"inof\", which is no level\n  \
             did you mean `info`? levels are error, warn, info, debug and trace",
        );
        check(
            "[log]\nformat = \"xml\"\n",
            "2:10: `format` is \"xml\", which is no format\n  \
             write format = \"text\" or format = \"json\"",
        );
    }

    #[test]
    fn bad_addresses_are_answered_with_a_good_one() {
        let check = |address: &str, example: &str| {
            let text = format!("[http]\nlisten = \"{address}\"\n");
            let remedy = format!("an address is an IP number and a port{example}");
            check(&text, &format!("2:10: `listen` is \"{address}\"\n  {remedy}"));
        };
        check("localhost:80", ": listen = \"127.0.0.1:80\"");
        check(":9000", ": listen = \"127.0.0.1:9000\"");
        check("*:9000", ": listen = \"0.0.0.0:9000\"");
        check("9000", ": listen = \"127.0.0.1:9000\"");
        check("10.0.0.7", ": listen = \"10.0.0.7:8480\"");
        check("nonsense", ": listen = \"127.0.0.1:8480\"");
        check("127.0.0.1:99999", ", and a port is at most 65535: listen = \"127.0.0.1:8480\"");
    }

    #[test]
    fn pitfalls_of_paths_are_explained() {
        check(
            "[store]\ndirectory = \"~/data\"\n",
            "2:13: `directory` is \"~/data\", but ~ and $ mean nothing here\n  \
             write the whole path, or one that starts from this file's directory",
        );
        check(
            "[store]\ndirectory = \" \"\n",
            "2:13: `directory` is empty\n  write directory = \"data\", or remove the line",
        );
        check(
            "[store]\ndirectory = \"/etc/hosts\"\n",
            "2:13: `directory` is /etc/hosts, which is a file\n  \
             name a directory, or one that does not exist yet",
        );
    }

    #[test]
    fn text_that_is_no_toml_is_named_with_its_line() {
        let problem =
            read(Path::new("o.toml"), "[store]\ndirectory = data\n").expect_err("no TOML");
        let text = problem.to_string();
        assert!(text.starts_with("o.toml:2:13: "), "{text}");
        assert!(text.contains("key = \"value\""), "{text}");
    }

    #[test]
    fn a_relative_directory_starts_from_the_file() {
        let data = |text: &str| read(Path::new("/srv/o/o.toml"), text).expect("correct").data;
        assert_eq!(data("[store]\ndirectory = \"d\"\n"), Path::new("/srv/o/d"));
        assert_eq!(data("[store]\ndirectory = \"/d\"\n"), Path::new("/d"));
        assert_eq!(data(""), Path::new("/srv/o/data"));
    }

    #[test]
    fn the_list_of_keys_is_the_one_of_the_sections() {
        for (section, key) in keys() {
            let text = format!("[{section}]\n{key} = 0.5\n");
            let problem = read(Path::new("o.toml"), &text).expect_err("no key takes a fraction");
            assert!(problem.to_string().contains(&format!("`{key}` is a fraction")), "{problem}");
        }
    }
}

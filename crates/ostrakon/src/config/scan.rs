//! `[scan]`, and `[redis.CHAIN]`: the explorer of tree-graph chains, and the paper's Redis keys.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Spanned, Value};

use super::file::{Check, Item, kind};
use super::problem::Problem;
use crate::admin::Hidden;

/// Blocks that may count as the latest.
const LATEST: std::ops::RangeInclusive<i64> = 1..=1_000_000;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [scan]")]
pub(super) struct ScanSection {
    pub(super) latest_blocks: Item,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "the section [redis.CHAIN]")]
pub(super) struct RedisSection {
    listen: Item,
    password_file: Item,
}

/// Where the Redis keys of a chain are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisSettings {
    /// The chain.
    pub(crate) chain: String,
    /// The address.
    pub(crate) listen: SocketAddr,
    /// What clients must say first.
    pub(crate) password: Option<Hidden>,
}

/// `latest_blocks = 1000`.
pub(super) fn latest_blocks(check: &Check<'_>, item: &Spanned<Value>) -> Result<u64, Problem> {
    let number = item.get_ref().as_integer().filter(|number| LATEST.contains(number));
    number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
        let what = match item.get_ref() {
            Value::Integer(number) => format!("`latest_blocks` is {number}"),
            other => format!("`latest_blocks` is {}", kind(other)),
        };
        check.problem(item, what, "use a whole number from 1 to 1000000".to_owned())
    })
}

impl RedisSection {
    /// Reads one section; a chain has at most one.
    pub(super) fn read(
        &self,
        check: &Check<'_>,
        chain: &str,
        base: &Path,
    ) -> Result<RedisSettings, Problem> {
        let Some(item) = &self.listen else {
            let what = format!("[redis.{chain}] has no `listen`");
            let remedy = "add an address of this machine: listen = \"127.0.0.1:6380\"".to_owned();
            return Err(check.whole(what, remedy));
        };
        let listen = check.listen(item)?;
        let password = match &self.password_file {
            None => None,
            Some(item) => Some(password(check, item, base)?),
        };
        if password.is_none() && !listen.ip().is_loopback() {
            let what = format!("[redis.{chain}] can be reached from other machines");
            let remedy = "give it a password: password_file = \"redis.password\"".to_owned();
            return Err(check.problem(item, what, remedy));
        }
        Ok(RedisSettings { chain: chain.to_owned(), listen, password })
    }
}

fn password(check: &Check<'_>, item: &Spanned<Value>, base: &Path) -> Result<Hidden, Problem> {
    let name = check.words(item, "password_file", "redis.password")?;
    let file: PathBuf = base.join(name);
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let what = format!("`password_file` {} cannot be read: {error}", file.display());
        check.problem(item, what, "write the password into it, in one line".to_owned())
    })?;
    let word = text.trim_end_matches(['\r', '\n']);
    if word.is_empty() || word.len() > 512 {
        let what = format!("`password_file` {} holds no password", file.display());
        let remedy = "write 1 to 512 characters into it, in one line".to_owned();
        return Err(check.problem(item, what, remedy));
    }
    Ok(Hidden(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::file;

    #[test]
    fn the_explorer_and_its_redis_keys_are_read_and_mistakes_named() {
        let good = "[scan]\nlatest_blocks = 7\n[redis.cfx]\nlisten = \"127.0.0.1:6380\"\n";
        let settings = file::read(Path::new("o.toml"), good).expect("correct");
        assert_eq!(settings.latest_blocks, 7);
        let [redis] = settings.redis.as_slice() else { panic!("one") };
        assert_eq!((redis.chain.as_str(), redis.listen.port()), ("cfx", 6380));
        for (text, what) in [
            ("[scan]\nlatest_blocks = 0\n", "from 1 to"),
            ("[scan]\nlatest_blocks = \"x\"\n", "from 1 to"),
            ("[scan]\nlatest = 5\n", "latest_blocks"),
            ("[redis.cfx]\n", "no `listen`"),
            ("[redis.cfx]\nlisten = \"0.0.0.0:6380\"\n", "password_file"),
            ("[redis.cfx]\nlisten = \"127.0.0.1:1\"\npassword_file = \"no\"\n", "cannot be read"),
        ] {
            let problem = file::read(Path::new("o.toml"), text).expect_err(what).to_string();
            assert!(problem.contains(what), "{text}: {problem}");
        }
    }
}

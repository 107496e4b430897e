//! Random requests: every command that reads, with words that fit and words that do not.

use fastrand::Rng;

use crate::client::{Words, words};
use crate::paper::{Entry, Layout};

/// Commands that read a key, with what their other words are.
const READING: &[(&str, &str)] = &[
    ("TYPE", ""),
    ("EXISTS", ""),
    ("EXISTS", "kkk"),
    ("GET", ""),
    ("STRLEN", ""),
    ("HGETALL", ""),
    ("HGET", "m"),
    ("HMGET", "m"),
    ("HMGET", "mmm"),
    ("HLEN", ""),
    ("HKEYS", ""),
    ("HVALS", ""),
    ("HEXISTS", "m"),
    ("ZRANGE", "iio"),
    ("ZRANGE", "ssbo"),
    ("ZRANGE", "ssbo"),
    ("ZREVRANGE", "iio"),
    ("ZRANGEBYSCORE", "sso"),
    ("ZREVRANGEBYSCORE", "sso"),
    ("ZCOUNT", "ss"),
    ("ZCARD", ""),
    ("ZSCORE", "m"),
    ("ZRANK", "m"),
    ("LRANGE", "ii"),
    ("LLEN", ""),
    ("LINDEX", "i"),
];

/// Commands that are the same whatever the keys are.
const PLAIN: &[&str] = &[
    "PING",
    "PING hello",
    "PING a b",
    "ECHO",
    "ECHO x",
    "SELECT 0",
    "SELECT 16",
    "SELECT -1",
    "SELECT x",
    "SELECT 99999999999",
    "DBSIZE",
    "DBSIZE x",
    "NOSUCH",
    "NOSUCH a b c",
    "GET",
    "GET a b",
    "CLIENT",
    "CLIENT SETNAME a",
    "CLIENT SETNAME",
    "CLIENT GETNAME",
    "CLIENT NOSUCH",
    "CLIENT GETNAME x",
    "CLIENT NO-EVICT on",
    "CLIENT NO-EVICT x",
    "COMMAND NOSUCH",
    "COMMAND COUNT x",
    "AUTH x",
    "AUTH a b c",
    "HELLO x",
    "HELLO 4",
    "HELLO 3 SETNAME",
    "HELLO 2 NOSUCH",
    "HELLO 3 SETNAME b NOSUCH c",
    "SCAN x",
    "SCAN 0 COUNT 0",
    "SCAN 0 COUNT x",
    "SCAN 0 NOSUCH",
    "SCAN 0 MATCH",
    "SCAN -",
    "HSCAN miners x",
    "HSCAN miners 0 TYPE hash",
    "HSCAN nosuch 0",
    "HSCAN pivot.chain 0",
    "HSCAN nosuch x",
    "SET a b",
    "SET a",
    "DEL a",
    "FLUSHALL",
    "ZADD a 1 b",
    "ZADD a",
    "HSET a b c",
    "LPUSH a b",
    "EXPIRE a 1",
    "INCR",
    "ZRANGE a",
    "ZRANGE nosuch 0 -1 LIMIT 0 1",
    "KEYS",
    "KEYS a b",
    "QUIT2",
    "STRLEN",
];

/// Makes requests about a layout.
pub(crate) struct Making<'a> {
    pub(crate) rng: Rng,
    pub(crate) keys: Vec<&'a String>,
    pub(crate) layout: &'a Layout,
    /// Keys that were there and are not any more.
    pub(crate) gone: &'a [String],
}

impl Making<'_> {
    fn pick<'b>(&mut self, texts: &[&'b str]) -> &'b str {
        texts[self.rng.usize(..texts.len())]
    }

    /// A key: mostly of the type that the command reads, sometimes another, none, or a gone one.
    fn key(&mut self, command: &str) -> String {
        for _ in 0..50 {
            let key = self.keys[self.rng.usize(..self.keys.len())];
            // Keys that there is one of are as likely as the many others.
            if key.contains(':') && self.rng.u8(0..4) == 0 {
                continue;
            }
            let fits = match (&self.layout[key], command.as_bytes()[0]) {
                (Entry::Text(_), b'G' | b'S') => true,
                (Entry::Hash(_), b'H') => true,
                (Entry::Sorted(_), b'Z') => true,
                (Entry::List(_), b'L') => true,
                _ => self.rng.u8(0..20) == 0,
            };
            if fits {
                return key.clone();
            }
        }
        match self.rng.u8(0..3) {
            0 if !self.gone.is_empty() => self.gone[self.rng.usize(..self.gone.len())].clone(),
            1 => "epoch:99999".to_owned(),
            _ => "nosuch".to_owned(),
        }
    }

    fn member(&mut self, key: &str) -> String {
        let choose = |rng: &mut Rng, texts: Vec<&String>| texts[rng.usize(..texts.len())].clone();
        let other = self.keys[self.rng.usize(..self.keys.len())];
        let of = if self.rng.u8(0..8) == 0 { other } else { key };
        match self.layout.get(of) {
            Some(Entry::Hash(fields)) => choose(&mut self.rng, fields.keys().collect()),
            Some(Entry::Sorted(members)) => {
                choose(&mut self.rng, members.iter().map(|(_, member)| member).collect())
            }
            Some(Entry::List(elements)) => choose(&mut self.rng, elements.iter().collect()),
            _ => "nosuch".to_owned(),
        }
    }

    fn index(&mut self) -> String {
        match self.rng.u8(0..20) {
            0 => self.pick(&["x", "", "1.5", "+1", "01", "9223372036854775808", " 1"]).to_owned(),
            1 => self.pick(&["9223372036854775807", "-9223372036854775808"]).to_owned(),
            2..=8 => self.rng.i64(-20..0).to_string(),
            _ => self.rng.i64(0..30).to_string(),
        }
    }

    fn score(&mut self) -> String {
        match self.rng.u8(0..12) {
            0 => self.pick(&["x", "", "(", "((1", "nan", "1 ", "(x"]).to_owned(),
            1 => self.pick(&["1.5", "(2.5", "1e1", "0x10", " 3", "-0"]).to_owned(),
            2 | 3 => self.pick(&["-inf", "+inf", "inf", "(-inf", "(+inf", "Infinity"]).to_owned(),
            4..=6 => format!("({}", self.rng.i64(-5..150)),
            _ => self.rng.i64(-5..150).to_string(),
        }
    }

    pub(crate) fn command(&mut self) -> Words {
        if self.rng.u8(0..10) == 0 {
            return words(self.pick(PLAIN));
        }
        let (name, shape) = READING[self.rng.usize(..READING.len())];
        let key = self.key(name);
        let mut request = vec![name.to_owned(), key.clone()];
        for part in shape.chars() {
            match part {
                'k' => request.push(self.key(name)),
                'm' => request.push(self.member(&key)),
                'i' => request.push(self.index()),
                's' => request.push(self.score()),
                'b' => request.push("BYSCORE".to_owned()),
                _ => self.options(&mut request),
            }
        }
        if self.rng.u8(0..30) == 0 {
            request.push("more".to_owned());
        } else if self.rng.u8(0..30) == 0 {
            request.pop();
        }
        if self.rng.bool() {
            request[0] = request[0].to_lowercase();
        }
        request.into_iter().map(String::into_bytes).collect()
    }

    fn options(&mut self, request: &mut Vec<String>) {
        for _ in 0..self.rng.usize(0..3) {
            match self.rng.u8(0..8) {
                0..=2 => request.push("WITHSCORES".to_owned()),
                3 | 4 => {
                    request.push("limit".to_owned());
                    request.push(self.rng.i64(-2..20).to_string());
                    request.push(self.rng.i64(-2..20).to_string());
                }
                5 | 6 => request.push("REV".to_owned()),
                _ => request.push(self.pick(&["LIMIT", "byscore", "nosuch"]).to_owned()),
            }
        }
    }
}

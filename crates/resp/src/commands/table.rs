//! The commands there are, and those of Redis that write.

/// What is known of a command before it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Its name, in lower case.
    pub(crate) name: &'static str,
    /// How many words a request has, the name included; a negative one says at least how many.
    pub(crate) arity: i64,
    /// Where keys stand among the words: first, last, step.
    pub(crate) keys: (i64, i64, i64),
    /// Redis's own name of its family.
    pub(crate) group: &'static str,
    /// It takes as long as its answer is large.
    pub(crate) slow: bool,
    /// What it does.
    pub(crate) summary: &'static str,
}

const NO_KEY: (i64, i64, i64) = (0, 0, 0);
const ONE_KEY: (i64, i64, i64) = (1, 1, 1);
const ALL_KEYS: (i64, i64, i64) = (1, -1, 1);

const fn quick(
    name: &'static str,
    arity: i64,
    keys: (i64, i64, i64),
    group: &'static str,
    summary: &'static str,
) -> Command {
    Command { name, arity, keys, group, slow: false, summary }
}

const fn slow(
    name: &'static str,
    arity: i64,
    keys: (i64, i64, i64),
    group: &'static str,
    summary: &'static str,
) -> Command {
    Command { name, arity, keys, group, slow: true, summary }
}

/// All commands. Arities are those of Redis 7.0.
pub(crate) const COMMANDS: &[Command] = &[
    quick(
        "hello",
        -1,
        NO_KEY,
        "connection",
        "Chooses the protocol, and gives password and name at once.",
    ),
    quick("auth", -2, NO_KEY, "connection", "Gives the password."),
    slow("client", -2, NO_KEY, "connection", "Names this connection, and tells about it."),
    quick("ping", -1, NO_KEY, "connection", "Answers PONG, or the text."),
    quick("echo", 2, NO_KEY, "connection", "Answers the text."),
    quick("quit", -1, NO_KEY, "connection", "Ends the connection."),
    quick("reset", 1, NO_KEY, "connection", "Makes the connection as it was at its beginning."),
    quick("select", 2, NO_KEY, "connection", "Chooses one of 16 databases."),
    slow("command", -1, NO_KEY, "server", "Tells about the commands."),
    slow("info", -1, NO_KEY, "server", "Tells about the server."),
    quick("dbsize", 1, NO_KEY, "server", "How many keys there are."),
    quick("type", 2, ONE_KEY, "generic", "The type of a key."),
    quick("exists", -2, ALL_KEYS, "generic", "How many of these keys there are."),
    slow(
        "keys",
        2,
        NO_KEY,
        "generic",
        "The keys that fit a pattern, as long as few must be looked at.",
    ),
    slow("scan", -2, NO_KEY, "generic", "Some keys and where to go on."),
    quick("get", 2, ONE_KEY, "string", "A text."),
    quick("strlen", 2, ONE_KEY, "string", "The length of a text."),
    slow("hgetall", 2, ONE_KEY, "hash", "All fields with values."),
    quick("hget", 3, ONE_KEY, "hash", "The value of a field."),
    quick("hmget", -3, ONE_KEY, "hash", "The values of fields."),
    quick("hlen", 2, ONE_KEY, "hash", "How many fields there are."),
    slow("hkeys", 2, ONE_KEY, "hash", "All fields."),
    slow("hvals", 2, ONE_KEY, "hash", "All values."),
    quick("hexists", 3, ONE_KEY, "hash", "Whether there is a field."),
    slow("hscan", -3, ONE_KEY, "hash", "Some fields and where to go on."),
    slow("zrange", -4, ONE_KEY, "sorted-set", "Members by rank or score, in either direction."),
    slow("zrevrange", -4, ONE_KEY, "sorted-set", "Members by rank, highest score first."),
    slow("zrangebyscore", -4, ONE_KEY, "sorted-set", "Members by score."),
    slow("zrevrangebyscore", -4, ONE_KEY, "sorted-set", "Members by score, highest first."),
    quick("zcount", 4, ONE_KEY, "sorted-set", "How many members have scores in a range."),
    quick("zcard", 2, ONE_KEY, "sorted-set", "How many members there are."),
    quick("zscore", 3, ONE_KEY, "sorted-set", "The score of a member."),
    quick("zrank", 3, ONE_KEY, "sorted-set", "The rank of a member."),
    slow("lrange", 4, ONE_KEY, "list", "Elements by position."),
    quick("llen", 2, ONE_KEY, "list", "How many elements there are."),
    slow("lindex", 3, ONE_KEY, "list", "The element at a position."),
];

/// Commands of Redis 7.0 that write, with their arities. They are known in order to be refused.
pub(crate) const WRITING: &[(&str, i64)] = &[
    ("append", 3),
    ("bitfield", -2),
    ("bitop", -4),
    ("blmove", 6),
    ("blmpop", -5),
    ("blpop", -3),
    ("brpop", -3),
    ("brpoplpush", 4),
    ("bzmpop", -5),
    ("bzpopmax", -3),
    ("bzpopmin", -3),
    ("copy", -3),
    ("decr", 2),
    ("decrby", 3),
    ("del", -2),
    ("expire", -3),
    ("expireat", -3),
    ("flushall", -1),
    ("flushdb", -1),
    ("geoadd", -5),
    ("georadius", -6),
    ("georadiusbymember", -5),
    ("geosearchstore", -8),
    ("getdel", 2),
    ("getex", -2),
    ("getset", 3),
    ("hdel", -3),
    ("hincrby", 4),
    ("hincrbyfloat", 4),
    ("hmset", -4),
    ("hset", -4),
    ("hsetnx", 4),
    ("incr", 2),
    ("incrby", 3),
    ("incrbyfloat", 3),
    ("linsert", 5),
    ("lmove", 5),
    ("lmpop", -4),
    ("lpop", -2),
    ("lpush", -3),
    ("lpushx", -3),
    ("lrem", 4),
    ("lset", 4),
    ("ltrim", 4),
    ("migrate", -6),
    ("move", 3),
    ("mset", -3),
    ("msetnx", -3),
    ("persist", 2),
    ("pexpire", -3),
    ("pexpireat", -3),
    ("pfadd", -2),
    ("pfdebug", 3),
    ("pfmerge", -2),
    ("psetex", 4),
    ("rename", 3),
    ("renamenx", 3),
    ("restore", -4),
    ("restore-asking", -4),
    ("rpop", -2),
    ("rpoplpush", 3),
    ("rpush", -3),
    ("rpushx", -3),
    ("sadd", -3),
    ("sdiffstore", -3),
    ("set", -3),
    ("setbit", 4),
    ("setex", 4),
    ("setnx", 3),
    ("setrange", 4),
    ("sinterstore", -3),
    ("smove", 4),
    ("sort", -2),
    ("spop", -2),
    ("srem", -3),
    ("sunionstore", -3),
    ("swapdb", 3),
    ("unlink", -2),
    ("xack", -4),
    ("xadd", -5),
    ("xautoclaim", -6),
    ("xclaim", -6),
    ("xdel", -3),
    ("xreadgroup", -7),
    ("xsetid", -3),
    ("xtrim", -4),
    ("zadd", -4),
    ("zdiffstore", -4),
    ("zincrby", 4),
    ("zinterstore", -4),
    ("zmpop", -4),
    ("zpopmax", -2),
    ("zpopmin", -2),
    ("zrangestore", -5),
    ("zrem", -3),
    ("zremrangebylex", 4),
    ("zremrangebyrank", 4),
    ("zremrangebyscore", 4),
    ("zunionstore", -4),
];

/// Arity of a command by its name in lower case, and the command unless it writes.
pub(crate) fn find(name: &str) -> Option<(i64, Option<&'static Command>)> {
    let ours = COMMANDS.iter().find(|command| command.name == name);
    let writing = || WRITING.iter().find(|(known, _)| *known == name);
    ours.map(|command| (command.arity, Some(command)))
        .or_else(|| writing().map(|(_, arity)| (*arity, None)))
}

/// Whether a request may have so many words.
pub(crate) fn fits(arity: i64, words: usize) -> bool {
    let words = i64::try_from(words).unwrap_or(i64::MAX);
    if arity < 0 { words >= -arity } else { words == arity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_there_twice_and_all_are_in_lower_case() {
        let ours = COMMANDS.iter().map(|command| command.name);
        let mut names: Vec<&str> = ours.chain(WRITING.iter().map(|(name, _)| *name)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }

    #[test]
    fn words_are_counted_as_redis_counts_them() {
        assert!(fits(2, 2) && !fits(2, 3) && !fits(2, 1));
        assert!(fits(-2, 2) && fits(-2, 9) && !fits(-2, 1));
    }
}

//! The same bytes to us and to a real Redis: requests with random words, and rubbish.

use std::sync::Arc;

use fastrand::Rng;
use resp::{Elements, Fields, Members, Memory, Options, Stored};
use store::conformance::{full, seed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Keys = Vec<(Vec<u8>, Stored)>;

/// Scores that meet: ties, fractions, infinities.
const SCORES: [&str; 9] = ["-inf", "-3", "-0.5", "0", "1", "1.25", "2", "1000000", "inf"];

/// Keys of every type, some with bytes that are no text.
fn keys(rng: &mut Rng) -> Keys {
    let word = |rng: &mut Rng, most: usize| -> Vec<u8> {
        (0..rng.usize(1..most)).map(|_| *rng.choice(b"ab\0\r\n\xff\"c").expect("one")).collect()
    };
    let mut keys: Keys = vec![(b"text".to_vec(), Stored::Text(word(rng, 40)))];
    for name in ["h1", "h\n2"] {
        let field =
            |number: usize, rng: &mut Rng| (format!("field{number}").into_bytes(), word(rng, 20));
        let fields = (0..rng.usize(1..60)).map(|number| field(number, rng)).collect();
        keys.push((name.into(), Stored::Hash(Fields(fields))));
    }
    for name in ["z1", "z2", "z\0\r"] {
        let member = |number: usize, rng: &mut Rng| {
            let score = rng.choice(SCORES).expect("one").parse().expect("a number");
            (format!("member{number}").into_bytes(), score)
        };
        let members = (0..rng.usize(1..200)).map(|number| member(number, rng)).collect();
        keys.push((name.into(), Stored::Sorted(Members::new(members))));
    }
    for name in ["l1", "l2"] {
        let elements = (0..rng.usize(1..300)).map(|_| word(rng, 30)).collect();
        keys.push((name.into(), Stored::List(Elements(elements))));
    }
    keys
}

fn encode(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Sends all of it, and reads to the end.
async fn talk(port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("connected");
    let (mut read, mut write) = stream.split();
    let mut answer = Vec::new();
    let sending = async {
        // Who was told that it is garbled need not listen any more.
        let _ = write.write_all(bytes).await;
        let _ = write.shutdown().await;
    };
    let _ = tokio::join!(sending, read.read_to_end(&mut answer));
    answer
}

/// Puts the keys into a Redis, and makes it a replica: those refuse to be written to.
async fn load(port: u16, keys: &Keys) {
    let mut bytes = b"REPLICAOF NO ONE\r\nFLUSHALL\r\n".to_vec();
    for (key, value) in keys {
        let mut words = vec![Vec::new(), key.clone()];
        let page = match value {
            Stored::Text(text) => ("SET", vec![text.clone()]),
            Stored::Hash(fields) => {
                let pairs = fields.0.iter().flat_map(|(name, value)| [name.clone(), value.clone()]);
                ("HSET", pairs.collect())
            }
            Stored::Sorted(members) => {
                let mut words = Vec::new();
                for (member, score) in
                    resp::SortedValue::page(members, 0, 1000).await.expect("in memory")
                {
                    words.extend([score.to_string().into_bytes(), member]);
                }
                ("ZADD", words)
            }
            Stored::List(elements) => ("RPUSH", elements.0.clone()),
        };
        words[0] = page.0.as_bytes().to_vec();
        words.extend(page.1);
        bytes.extend(encode(&words));
    }
    bytes.extend(b"REPLICAOF 127.0.0.1 1\r\nQUIT\r\n");
    let answer = talk(port, &bytes).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(!answer.contains("-ERR"), "{answer}");
}

fn request(rng: &mut Rng, keys: &Keys) -> Vec<Vec<u8>> {
    let pick = |rng: &mut Rng, texts: &[&str]| (*rng.choice(texts).expect("one")).to_owned();
    let commands: &[&str] = &[
        "ZRANGE k s s BYSCORE o o",
        "ZRANGE k i i o o",
        "ZRANGEBYSCORE k s s o o",
        "ZCOUNT k s s",
        "ZREVRANGEBYSCORE k s s o o",
        "ZREVRANGE k i i o",
        "ZSCORE k m",
        "ZRANK k m",
        "ZCARD k",
        "ZRANGE k s s BYSCORE REV o",
        "LRANGE k i i",
        "LINDEX k i",
        "LLEN k",
        "HGETALL k",
        "HKEYS k",
        "HVALS k",
        "HGET k m",
        "HMGET k m m",
        "HEXISTS k m",
        "HLEN k",
        "GET k",
        "STRLEN k",
        "TYPE k",
        "EXISTS k k k",
        "HSCAN k 0 o",
        "ECHO m",
        "PING",
        "PING m",
        "SELECT i",
        "NOSUCH m i",
        "CLIENT GETNAME",
        "CLIENT SETNAME m",
        "HELLO i",
        "HELLO 3",
        "HELLO 2",
        "DBSIZE",
        "SET k m",
        "KEYS nosuch",
        "SCAN x",
    ];
    let mut words = Vec::new();
    for part in pick(rng, commands).split(' ') {
        let word = match part {
            "k" if rng.u8(0..12) == 0 => b"nosuch".to_vec(),
            "k" => {
                // Of the type that the command is for, mostly.
                let sign = words.first().and_then(|word: &Vec<u8>| word.first()).copied();
                let fits = |key: &&(Vec<u8>, Stored)| {
                    sign.is_some_and(|sign| key.0.first() == Some(&sign.to_ascii_lowercase()))
                };
                let fitting: Vec<_> = keys.iter().filter(fits).collect();
                let fitting = if rng.u8(0..12) == 0 { Vec::new() } else { fitting };
                let key = rng.choice(fitting).or_else(|| rng.choice(keys));
                key.expect("one").0.clone()
            }
            "i" => match rng.u8(0..12) {
                0 => pick(rng, &["", "x", "1.0", "-0", "00", "9223372036854775808"]).into_bytes(),
                _ => rng.i64(-20..40).to_string().into_bytes(),
            },
            "s" => match rng.u8(0..12) {
                0 => pick(rng, &["", "x", "nan", "(", "((1", "1e400", "0x", "+-1"]).into_bytes(),
                1 => pick(rng, &["0x2", " 1", "1e0", "(1.25", ".5", "5.", "INF"]).into_bytes(),
                2..=5 => format!("({}", pick(rng, &SCORES)).into_bytes(),
                _ => pick(rng, &SCORES).into_bytes(),
            },
            "m" => match rng.u8(0..3) {
                0 => format!("member{}", rng.u8(..)).into_bytes(),
                1 => format!("field{}", rng.u8(0..70)).into_bytes(),
                _ => pick(rng, &["", "a b", "\r\n", "\0", "x"]).into_bytes(),
            },
            "o" => match rng.u8(0..8) {
                0 | 1 => b"WithScores".to_vec(),
                2 => {
                    words.extend([b"LIMIT".to_vec(), rng.i8(-3..9).to_string().into_bytes()]);
                    rng.i8(-3..9).to_string().into_bytes()
                }
                3 => pick(rng, &["REV", "LIMIT", "nosuch", "BYSCORE", "MATCH"]).into_bytes(),
                _ => continue,
            },
            word => word.as_bytes().to_vec(),
        };
        words.push(word);
    }
    words
}

async fn ours(keys: Keys) -> (u16, tokio::sync::watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let keys = Arc::new(Memory::new(keys));
    tokio::spawn(resp::serve(listener, keys, Options::default(), stopped));
    (port, stop)
}

/// HELLO tells the id of the connection, which is nobody's promise.
fn without_id(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer).into_owned();
    let parts = text.split("$2\r\nid\r\n").enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once("\r\n").map_or("", |(_, rest)| rest),
    });
    parts.collect::<Vec<_>>().join("$2\r\nid\r\n")
}

#[tokio::test]
async fn random_requests_have_the_bytes_of_a_real_redis() {
    let Some(redis) = parts::require(parts::redis::install()) else { return };
    let mut rng = Rng::with_seed(seed("resp, real"));
    let server = redis.start().expect("redis starts");
    let (mut asked, mut bytes) = (0, 0);
    for _ in 0..if full() { 100 } else { 10 } {
        let keys = keys(&mut rng);
        load(server.port(), &keys).await;
        let (port, _stop) = ours(keys.clone()).await;
        for _ in 0..60 {
            let requests: Vec<_> = (0..20).map(|_| request(&mut rng, &keys)).collect();
            // A database that is not the first is empty in Redis, and shows the same with us.
            let first = |words: &Vec<Vec<u8>>| words[0] != b"SELECT" || words[1].len() > 2;
            let requests: Vec<_> = requests.into_iter().filter(first).collect();
            let sent: Vec<u8> = requests.iter().flat_map(|words| encode(words)).collect();
            let (mine, real) = (talk(port, &sent).await, talk(server.port(), &sent).await);
            let shown = String::from_utf8_lossy(&sent).into_owned();
            assert_eq!(without_id(&mine), without_id(&real), "to {shown:?}");
            (asked, bytes) = (asked + requests.len(), bytes + mine.len());
        }
    }
    println!("{asked} requests, {bytes} bytes equal");
}

#[tokio::test]
async fn rubbish_has_the_answers_of_a_real_redis() {
    let Some(redis) = parts::require(parts::redis::install()) else { return };
    let mut rng = Rng::with_seed(seed("resp, real rubbish"));
    let server = redis.start().expect("redis starts");
    let keys: Keys = vec![(b"a".to_vec(), Stored::Text(b"b".to_vec()))];
    load(server.port(), &keys).await;
    let (port, _stop) = ours(keys).await;
    let pieces: [&[u8]; 18] = [
        b"*1\r\n",
        b"*2\r\n",
        b"$3\r\nGET\r\n",
        b"$1\r\na\r\n",
        b"$4\r\nPING\r\n",
        b"PING\r\n",
        b"get a\r\n",
        b"\r\n",
        b"\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*x\r\n",
        b"$-1\r\n",
        b"$x\r\n",
        b"echo \"a\\x41\\n\" \r\n",
        b"echo 'a\r\n",
        b":1\r\n",
        b"echo \"a\"b\r\n",
    ];
    let (mut errors, mut answers) = (0, 0);
    for _ in 0..if full() { 20_000 } else { 2_000 } {
        let mut sent = Vec::new();
        for _ in 0..rng.usize(1..15) {
            match rng.u8(0..20) {
                0 => sent.push(*rng.choice(b"*$\r\n 1a\"'").expect("one")),
                _ => sent.extend(*rng.choice(&pieces).expect("one")),
            }
        }
        let (mine, real) = (talk(port, &sent).await, talk(server.port(), &sent).await);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&mine), text(&real), "to {:?}", text(&sent));
        errors += text(&mine).matches("-ERR Protocol").count();
        answers += text(&mine).matches("\r\n").count();
    }
    println!("{errors} protocol errors, {answers} lines of answers equal");
}

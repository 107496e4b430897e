//! Requests in pieces, too large, and made of rubbish.

use store::conformance::seed;

use super::*;

fn encode(words: &[Vec<u8>]) -> Vec<u8> {
    let items = words.iter().map(|word| crate::Reply::Bulk(word.clone())).collect();
    let mut out = Vec::new();
    crate::Reply::Array(items).write(crate::Protocol::Two, &mut out);
    out
}

fn words(text: &str) -> Vec<Vec<u8>> {
    text.split('|').map(|word| word.as_bytes().to_vec()).collect()
}

fn all(decoder: &mut Decoder) -> Result<Vec<Vec<Vec<u8>>>, ProtocolError> {
    let mut found = Vec::new();
    while let Some(request) = decoder.next_request()? {
        found.push(request);
    }
    Ok(found)
}

fn read(bytes: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, ProtocolError> {
    let mut decoder = Decoder::new(Limits { arguments: 5, bytes: 100 });
    decoder.feed(bytes);
    all(&mut decoder)
}

#[test]
fn random_requests_come_back_whatever_pieces_they_come_in() {
    let seed = seed("resp, round trip");
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..300 {
        let requests: Vec<Vec<Vec<u8>>> = (0..rng.usize(1..6))
            .map(|_| {
                let word = |rng: &mut fastrand::Rng| {
                    (0..rng.usize(0..40)).map(|_| rng.u8(..)).collect::<Vec<u8>>()
                };
                (0..rng.usize(1..8)).map(|_| word(&mut rng)).collect()
            })
            .collect();
        let bytes: Vec<u8> = requests.iter().flat_map(|request| encode(request)).collect();
        let most = *rng.choice(&[1, 2, 7, 1000]).expect("some");
        let mut decoder = Decoder::new(Limits::default());
        let (mut found, mut rest) = (Vec::new(), bytes.as_slice());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rng.usize(1..=most).min(rest.len()));
            decoder.feed(piece);
            found.extend(all(&mut decoder).expect("well formed"));
            rest = after;
        }
        assert_eq!(found, requests);
    }
}

#[test]
fn rubbish_is_refused_or_waited_for_and_never_grows() {
    let seed = seed("resp, rubbish");
    let mut rng = fastrand::Rng::with_seed(seed);
    let pieces: [&[u8]; 12] = [
        b"*",
        b"$",
        b"\r\n",
        b"\n",
        b"-1",
        b"3",
        b"99999999999",
        b"\"",
        b"'",
        b"\\x",
        b" ",
        b"GET",
    ];
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..2000 {
        let mut decoder = Decoder::new(Limits { arguments: 5, bytes: 100 });
        for _ in 0..rng.usize(1..30) {
            match rng.u8(0..4) {
                0 => decoder.feed(&[rng.u8(..)]),
                _ => decoder.feed(rng.choice(&pieces).expect("some")),
            }
            match all(&mut decoder) {
                Ok(requests) => {
                    assert!(requests.iter().all(|words| (1..=100).contains(&words.len())));
                    taken += requests.len();
                }
                Err(_) => {
                    refused += 1;
                    break;
                }
            }
        }
    }
    println!("{refused} refused, {taken} requests taken");
    assert!(refused > 100 && taken > 100, "too tame to prove anything");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_there() {
    let cases = [
        ("*6\r\n", "invalid multibulk length"),
        ("*x\r\n", "invalid multibulk length"),
        ("*1\r\n$101\r\n", "invalid bulk length"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*2\r\n$60\r\n", ""),
        ("*1\r\n:5\r\n", "expected '$', got ':'"),
        ("a b c d e f\r\n", "too many words"),
        ("a \"b\r\n", "unbalanced quotes in request"),
        ("a \"b\"c\r\n", "unbalanced quotes in request"),
    ];
    for (bytes, text) in cases {
        match read(bytes.as_bytes()) {
            Ok(none) => assert!(text.is_empty() && none.is_empty(), "{bytes}"),
            Err(error) => assert_eq!(error.0, text, "{bytes}"),
        }
    }
    let together = format!("*2\r\n$60\r\n{}\r\n$60\r\n", "a".repeat(60));
    assert_eq!(read(together.as_bytes()), wrong("invalid bulk length"));
    let long = "a".repeat(LINE_BYTES + 1);
    assert_eq!(read(long.as_bytes()), wrong("too big inline request"));
    assert_eq!(read(format!("*{long}").as_bytes()), wrong("too big mbulk count string"));
    assert_eq!(read(format!("*1\r\n{long}").as_bytes()), wrong("too big bulk count string"));
}

#[test]
fn who_gave_no_password_is_read_in_small() {
    let read = |bytes: &str| {
        let mut decoder = Decoder::new(Limits::default());
        decoder.trust(false);
        decoder.feed(bytes.as_bytes());
        all(&mut decoder)
    };
    assert_eq!(read("*11\r\n"), wrong("unauthenticated multibulk length"));
    assert_eq!(read("*1\r\n$16385\r\n"), wrong("unauthenticated bulk length"));
    assert_eq!(read("*1\r\n$4\r\nPING\r\n"), Ok(vec![words("PING")]));
}

#[test]
fn a_line_is_split_as_redis_splits_it() {
    let cases = [
        ("PING\r\n", "PING"),
        ("  get   a\n", "get|a"),
        ("echo \"a b\\n\\x41\\q\"\r\n", "echo|a b\nAq"),
        ("echo 'it\\'s' \"\"\r\n", "echo|it's|"),
    ];
    for (line, expected) in cases {
        assert_eq!(read(line.as_bytes()), Ok(vec![words(expected)]), "{line}");
    }
    assert_eq!(read(b"\r\n\n  \r\n*0\r\n*-1\r\n"), Ok(vec![]), "nothing is no request");
}

//! Answers, and their bytes in either protocol.

use crate::number::score_text;

/// Which protocol a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2, which every connection begins with.
    #[default]
    Two,
    /// RESP3, after HELLO 3.
    Three,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A word such as OK.
    Simple(&'static str),
    /// An error; its first word tells which.
    Error(String),
    /// A number.
    Integer(i64),
    /// A text.
    Bulk(Vec<u8>),
    /// A text for people: RESP3 says so.
    Verbatim(String),
    /// A score: RESP2 has texts only.
    Double(f64),
    /// Nothing.
    Null,
    /// Several answers.
    Array(Vec<Reply>),
    /// Several words in no order.
    Set(Vec<Reply>),
    /// Pairs: RESP2 writes them one after the other.
    Map(Vec<(Reply, Reply)>),
    /// Pairs in order: RESP2 writes them one after the other, RESP3 each as an array of two.
    Pairs(Vec<(Reply, Reply)>),
}

impl Reply {
    /// What all is well says.
    pub(crate) const OK: Self = Self::Simple("OK");

    /// A text.
    pub(crate) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Bulk(text.into())
    }

    /// An error of the general kind.
    pub(crate) fn error(text: impl std::fmt::Display) -> Self {
        Self::Error(format!("ERR {text}"))
    }

    /// A number of things.
    pub(crate) fn count(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Appends its bytes.
    pub fn write(&self, protocol: Protocol, out: &mut Vec<u8>) {
        let three = protocol == Protocol::Three;
        match self {
            Self::Simple(word) => line(out, b'+', word),
            // A line break in a text would be read as the beginning of the next answer.
            Self::Error(text) => line(out, b'-', &text.replace(['\r', '\n'], " ")),
            Self::Integer(number) => line(out, b':', &number.to_string()),
            Self::Bulk(bytes) => bulk(out, bytes),
            Self::Verbatim(text) if three => {
                line(out, b'=', &(text.len() + 4).to_string());
                out.extend_from_slice(b"txt:");
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Self::Verbatim(text) => bulk(out, text.as_bytes()),
            Self::Double(score) if three => line(out, b',', &score_text(*score)),
            Self::Double(score) => bulk(out, score_text(*score).as_bytes()),
            Self::Null if three => out.extend_from_slice(b"_\r\n"),
            Self::Null => out.extend_from_slice(b"$-1\r\n"),
            Self::Array(items) => many(out, b'*', items, protocol),
            Self::Set(items) => many(out, if three { b'~' } else { b'*' }, items, protocol),
            Self::Pairs(pairs) => {
                let length = if three { pairs.len() } else { 2 * pairs.len() };
                line(out, b'*', &length.to_string());
                for (first, second) in pairs {
                    if three {
                        line(out, b'*', "2");
                    }
                    first.write(protocol, out);
                    second.write(protocol, out);
                }
            }
            Self::Map(pairs) => {
                let (sign, length) = if three { (b'%', 1) } else { (b'*', 2) };
                line(out, sign, &(pairs.len() * length).to_string());
                for (key, value) in pairs {
                    key.write(protocol, out);
                    value.write(protocol, out);
                }
            }
        }
    }
}

fn line(out: &mut Vec<u8>, sign: u8, text: &str) {
    out.push(sign);
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    line(out, b'$', &bytes.len().to_string());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn many(out: &mut Vec<u8>, sign: u8, items: &[Reply], protocol: Protocol) {
    line(out, sign, &items.len().to_string());
    items.iter().for_each(|item| item.write(protocol, out));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &Reply, two: &str, three: &str) {
        for (protocol, bytes) in [(Protocol::Two, two), (Protocol::Three, three)] {
            let mut out = Vec::new();
            reply.write(protocol, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), bytes, "{reply:?}");
        }
    }

    #[test]
    fn every_answer_has_its_bytes_in_both_protocols() {
        check(&Reply::OK, "+OK\r\n", "+OK\r\n");
        check(&Reply::error("a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n");
        check(&Reply::Integer(-2), ":-2\r\n", ":-2\r\n");
        check(&Reply::text(""), "$0\r\n\r\n", "$0\r\n\r\n");
        check(&Reply::Null, "$-1\r\n", "_\r\n");
        check(&Reply::Double(3.0), "$1\r\n3\r\n", ",3\r\n");
        check(&Reply::Verbatim("hi".into()), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n");
        let item = || Reply::Integer(1);
        check(&Reply::Array(vec![item(), Reply::Null]), "*2\r\n:1\r\n$-1\r\n", "*2\r\n:1\r\n_\r\n");
        check(&Reply::Set(vec![item()]), "*1\r\n:1\r\n", "~1\r\n:1\r\n");
        check(&Reply::Map(vec![(item(), item())]), "*2\r\n:1\r\n:1\r\n", "%1\r\n:1\r\n:1\r\n");
    }
}

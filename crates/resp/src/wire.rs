//! Bytes to requests: arrays of texts, and lines that a person types.

use std::collections::VecDeque;

/// Bytes of a line: an inline command, or a length.
const LINE_BYTES: usize = 64 * 1024;
/// Lengths that a client which has not given the password may announce.
const UNKNOWN_ARGUMENTS: i64 = 10;
const UNKNOWN_BYTES: i64 = 16 * 1024;
/// Room that is kept for the next request; more is given back.
const KEPT: usize = 64 * 1024;

/// How large a request may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Words of a request, its name included.
    pub arguments: usize,
    /// Bytes of all words together.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { arguments: 1_024, bytes: 1024 * 1024 }
    }
}

/// Why bytes are no request. The connection cannot go on: nobody knows where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Protocol error: {0}")]
pub struct ProtocolError(pub String);

fn wrong<T>(text: impl Into<String>) -> Result<T, ProtocolError> {
    Err(ProtocolError(text.into()))
}

/// Takes bytes as they come and gives requests.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    /// Whether the client may announce what the limits allow.
    trusted: bool,
    buffer: Vec<u8>,
    /// Up to where the buffer was read.
    at: usize,
    /// Up to where a line end was looked for.
    searched: usize,
    /// Words of the request that is being read, and how many are missing.
    words: Vec<Vec<u8>>,
    missing: usize,
    /// Bytes of these words.
    bytes: usize,
    /// The length of the word that comes.
    length: Option<usize>,
}

impl Decoder {
    /// A reader of one connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            trusted: true,
            buffer: Vec::new(),
            at: 0,
            searched: 0,
            words: Vec::new(),
            missing: 0,
            bytes: 0,
            length: None,
        }
    }

    /// Says whether the client has given the password; without it only short requests are read.
    pub fn trust(&mut self, trusted: bool) {
        self.trusted = trusted;
    }

    /// Takes more bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(KEPT);
            (self.at, self.searched) = (0, 0);
        } else if self.at > KEPT {
            self.buffer.drain(..self.at);
            self.searched = self.searched.saturating_sub(self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole request; none until more bytes come.
    ///
    /// # Errors
    /// When the bytes are no request, or a larger one than is allowed.
    pub fn next_request(&mut self) -> Result<Option<Vec<Vec<u8>>>, ProtocolError> {
        loop {
            if self.missing > 0 {
                if !self.word()? {
                    return Ok(None);
                }
                if self.missing == 0 {
                    self.bytes = 0;
                    return Ok(Some(std::mem::take(&mut self.words)));
                }
                continue;
            }
            let found = match self.rest().first() {
                None => return Ok(None),
                Some(b'*') => self.count()?,
                Some(_) => match self.inline()? {
                    None => false,
                    Some(words) if words.is_empty() => true,
                    Some(words) => return Ok(Some(words)),
                },
            };
            if !found {
                return Ok(None);
            }
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// The bytes up to `end`, and steps behind it and `skip` more.
    fn line(&mut self, end: u8, skip: usize) -> Option<Vec<u8>> {
        let from = self.searched.max(self.at);
        let found = self.buffer.get(from..)?.iter().position(|byte| *byte == end);
        let Some(stop) = found.map(|found| from + found) else {
            self.searched = self.buffer.len();
            return None;
        };
        if stop + skip >= self.buffer.len() {
            return None;
        }
        let line = self.buffer.get(self.at..stop)?.to_vec();
        self.at = stop + 1 + skip;
        Some(line)
    }

    /// The number of words; false until it is there.
    fn count(&mut self) -> Result<bool, ProtocolError> {
        let Some(line) = self.line(b'\r', 1) else {
            if self.rest().len() > LINE_BYTES {
                return wrong("too big mbulk count string");
            }
            return Ok(false);
        };
        let count = crate::number::whole(line.get(1..).unwrap_or_default());
        let most = i64::try_from(self.limits.arguments).unwrap_or(i64::MAX);
        let Some(count) = count.filter(|count| *count <= most) else {
            return wrong("invalid multibulk length");
        };
        if count > UNKNOWN_ARGUMENTS && !self.trusted {
            return wrong("unauthenticated multibulk length");
        }
        self.missing = usize::try_from(count).unwrap_or(0);
        Ok(true)
    }

    /// One word; false until it is there.
    fn word(&mut self) -> Result<bool, ProtocolError> {
        let length = match self.length {
            Some(length) => length,
            None => {
                let Some(line) = self.line(b'\r', 1) else {
                    if self.rest().len() > LINE_BYTES {
                        return wrong("too big bulk count string");
                    }
                    return Ok(false);
                };
                self.announced(&line)?
            }
        };
        self.length = Some(length);
        if self.rest().len() < length + 2 {
            return Ok(false);
        }
        let word = self.rest().get(..length).unwrap_or_default().to_vec();
        self.at += length + 2;
        self.bytes += length;
        self.words.push(word);
        self.missing -= 1;
        self.length = None;
        Ok(true)
    }

    fn announced(&self, line: &[u8]) -> Result<usize, ProtocolError> {
        let (first, digits) = match line {
            [b'$', digits @ ..] => (b'$', digits),
            [first, ..] => (*first, line),
            [] => (b'\r', line),
        };
        if first != b'$' {
            // As in Redis, the byte as it is; a line break is made a blank when it is written.
            return wrong(format!("expected '$', got '{}'", char::from(first)));
        }
        let left = i64::try_from(self.limits.bytes - self.bytes.min(self.limits.bytes));
        let length = crate::number::whole(digits).filter(|length| *length >= 0);
        let Some(length) = length.filter(|length| left.is_ok_and(|left| *length <= left)) else {
            return wrong("invalid bulk length");
        };
        if length > UNKNOWN_BYTES && !self.trusted {
            return wrong("unauthenticated bulk length");
        }
        Ok(usize::try_from(length).unwrap_or(0))
    }

    /// A line of words; none until its end is there.
    fn inline(&mut self) -> Result<Option<Vec<Vec<u8>>>, ProtocolError> {
        let Some(line) = self.line(b'\n', 0) else {
            if self.rest().len() > LINE_BYTES {
                return wrong("too big inline request");
            }
            return Ok(None);
        };
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        match split(line) {
            Some(words) if words.len() > self.limits.arguments => wrong("too many words"),
            Some(words) => Ok(Some(words)),
            None => wrong("unbalanced quotes in request"),
        }
    }
}

/// Words of a line, as Redis splits it: quotes hold blanks, double ones know escapes. None when a
/// quote is not closed, or closed within a word.
fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bytes: VecDeque<u8> = line.iter().copied().collect();
    let mut words = Vec::new();
    let blank = |byte: u8| byte.is_ascii_whitespace() || byte == 0x0b;
    loop {
        while bytes.front().copied().is_some_and(blank) {
            bytes.pop_front();
        }
        if bytes.is_empty() {
            return Some(words);
        }
        let mut word = Vec::new();
        while let Some(byte) = bytes.pop_front() {
            match byte {
                0 => break,
                byte if blank(byte) => break,
                b'"' | b'\'' => {
                    quoted(byte, &mut bytes, &mut word)?;
                    if bytes.front().copied().is_some_and(|next| !blank(next)) {
                        return None;
                    }
                    break;
                }
                byte => word.push(byte),
            }
        }
        words.push(word);
    }
}

/// What stands in quotes; the first one is gone already.
fn quoted(quote: u8, bytes: &mut VecDeque<u8>, word: &mut Vec<u8>) -> Option<()> {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    loop {
        match bytes.pop_front()? {
            byte if byte == quote => return Some(()),
            b'\\' if quote == b'\'' && bytes.front() == Some(&b'\'') => {
                bytes.pop_front();
                word.push(b'\'');
            }
            b'\\' if quote == b'"' => {
                let digits = (hex(bytes.get(1)), hex(bytes.get(2)));
                match (bytes.pop_front()?, digits) {
                    (b'x', (Some(high), Some(low))) => {
                        bytes.drain(..2);
                        word.push(u8::try_from(16 * high + low).unwrap_or_default());
                    }
                    (b'n', _) => word.push(b'\n'),
                    (b'r', _) => word.push(b'\r'),
                    (b't', _) => word.push(b'\t'),
                    (b'b', _) => word.push(0x08),
                    (b'a', _) => word.push(0x07),
                    (other, _) => word.push(other),
                }
            }
            byte => word.push(byte),
        }
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;

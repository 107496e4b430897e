//! The least of a Redis client: commands into one buffer, all replies read.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, bail};

/// A connection, and commands that are not sent yet.
pub(crate) struct Client {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    out: Vec<u8>,
    waiting: usize,
    line: Vec<u8>,
    /// Bytes of all replies: whatever is read is looked at.
    pub(crate) read: u64,
}

impl Client {
    pub(crate) fn connect(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let replies = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
        Ok(Self { stream, replies, out: Vec::new(), waiting: 0, line: Vec::new(), read: 0 })
    }

    /// Begins a command of so many words, which follow.
    pub(crate) fn begin(&mut self, words: usize) {
        self.waiting += 1;
        self.length(b'*', words);
    }

    /// A word made of pieces.
    pub(crate) fn word(&mut self, pieces: &[&str]) {
        self.length(b'$', pieces.iter().map(|piece| piece.len()).sum());
        pieces.iter().for_each(|piece| self.out.extend_from_slice(piece.as_bytes()));
        self.out.extend_from_slice(b"\r\n");
    }

    /// A whole command.
    pub(crate) fn command(&mut self, words: &[&str]) {
        self.begin(words.len());
        words.iter().for_each(|word| self.word(&[word]));
    }

    fn length(&mut self, kind: u8, number: usize) {
        self.out.push(kind);
        let mut digits = [0; 20];
        let mut rest = number;
        let mut at = digits.len();
        loop {
            at -= 1;
            if let Some(digit) = digits.get_mut(at) {
                *digit = b'0' + (rest % 10) as u8;
            }
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.out.extend_from_slice(digits.get(at..).unwrap_or_default());
        self.out.extend_from_slice(b"\r\n");
    }

    /// Sends all commands and reads all replies; how many values the last one had.
    pub(crate) fn finish(&mut self) -> anyhow::Result<usize> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        let mut values = 0;
        for _ in 0..std::mem::take(&mut self.waiting) {
            values = self.reply()?;
        }
        Ok(values)
    }

    /// Reads one reply; how many values it has, 0 for none.
    fn reply(&mut self) -> anyhow::Result<usize> {
        self.line.clear();
        self.replies.read_until(b'\n', &mut self.line)?;
        self.read += self.line.len() as u64;
        let (kind, rest) = self.line.split_first().context("the server has gone")?;
        let kind = *kind;
        let number = || std::str::from_utf8(rest).unwrap_or_default().trim().parse::<i64>();
        match kind {
            b'+' | b':' => Ok(1),
            b'$' => {
                let Ok(length) = usize::try_from(number()?) else { return Ok(0) };
                let length = length as u64 + 2;
                self.line.clear();
                let mut bulk = self.replies.by_ref().take(length);
                bulk.read_to_end(&mut self.line)?;
                self.read += length;
                Ok(1)
            }
            b'*' => {
                let Ok(count) = usize::try_from(number()?) else { return Ok(0) };
                for _ in 0..count {
                    self.reply()?;
                }
                Ok(count)
            }
            _ => bail!("redis says {}", String::from_utf8_lossy(&self.line)),
        }
    }
}

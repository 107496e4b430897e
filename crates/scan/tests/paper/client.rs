//! A client that shows the very bytes of an answer.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer: its line, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Answer {
    pub(crate) line: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) items: Vec<Answer>,
}

impl Answer {
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |item: &Self| String::from_utf8_lossy(&item.bytes).into_owned();
        self.items.iter().map(text).collect()
    }
}

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

pub(crate) type Words = Vec<Vec<u8>>;

pub(crate) fn words(line: &str) -> Words {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

impl Client {
    pub(crate) async fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("connected");
        stream.set_nodelay(true).expect("set");
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) async fn ask(&mut self, request: &Words) -> Answer {
        self.ask_all(std::slice::from_ref(request)).await.remove(0)
    }

    pub(crate) async fn line(&mut self, line: &str) -> Answer {
        self.ask(&words(line)).await
    }

    /// Sends all of them at once.
    pub(crate) async fn ask_all(&mut self, requests: &[Words]) -> Vec<Answer> {
        let mut bytes = Vec::new();
        for request in requests {
            bytes.extend(format!("*{}\r\n", request.len()).into_bytes());
            for word in request {
                bytes.extend(format!("${}\r\n", word.len()).into_bytes());
                bytes.extend(word);
                bytes.extend(b"\r\n");
            }
        }
        self.stream.write_all(&bytes).await.expect("sent");
        let mut answers = Vec::new();
        while answers.len() < requests.len() {
            answers.push(self.answer().await);
        }
        answers
    }

    async fn answer(&mut self) -> Answer {
        loop {
            let mut at = 0;
            if let Some(answer) = parse(&self.buffer, &mut at) {
                self.buffer.drain(..at);
                return answer;
            }
            let mut piece = vec![0; 65536];
            let read = self.stream.read(&mut piece).await.expect("received");
            assert!(read > 0, "the connection was ended");
            self.buffer.extend(&piece[..read]);
        }
    }
}

fn parse(buffer: &[u8], at: &mut usize) -> Option<Answer> {
    let rest = buffer.get(*at..)?;
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    *at += end + 2;
    let length = |line: &str| line[1..].parse::<i64>().expect("a length");
    let (mut bytes, mut items) = (Vec::new(), Vec::new());
    match line.as_bytes()[0] {
        b'$' | b'=' if length(&line) >= 0 => {
            let size = length(&line) as usize;
            bytes = buffer.get(*at..*at + size + 2)?[..size].to_vec();
            *at += size + 2;
        }
        sign @ (b'*' | b'~' | b'%') => {
            let count = length(&line).max(0) * if sign == b'%' { 2 } else { 1 };
            for _ in 0..count {
                items.push(parse(buffer, at)?);
            }
        }
        _ => {}
    }
    Some(Answer { line, bytes, items })
}

//! A server and clients that are many, silent, slow, greedy, or do not know the password.

use std::sync::Arc;
use std::time::{Duration, Instant};

use resp::{Elements, Fields, Memory, Options, Stats, Stored};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

struct Server {
    port: u16,
    stats: Arc<Stats>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(change: impl FnOnce(&mut Options)) -> Self {
        let field = |number: u32| (format!("f{number}").into_bytes(), b"value".to_vec());
        let element = |number: u32| format!("{number:0>1000}").into_bytes();
        let keys = [
            ("greeting", Stored::Text(b"hello".to_vec())),
            ("hash", Stored::Hash(Fields((0..300).map(field).collect()))),
            ("list", Stored::List(Elements((0..1000).map(element).collect()))),
        ];
        let mut options = Options::default();
        change(&mut options);
        let stats = options.stats.clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (stop, stopped) = watch::channel(false);
        let task =
            tokio::spawn(resp::serve(listener, Arc::new(Memory::new(keys)), options, stopped));
        Self { port, stats, stop, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.expect("connected")
    }

    fn counted(&self, name: &str) -> u64 {
        let all = self.stats.read();
        all.iter().find(|(known, _)| *known == name).expect("a counter").1
    }
}

/// Sends and reads until so many bytes came, or the end.
async fn talk(stream: &mut TcpStream, sent: &str, bytes: usize) -> String {
    stream.write_all(sent.as_bytes()).await.expect("sent");
    let mut answer = vec![0; bytes];
    let mut read = 0;
    while read < bytes {
        let reading = stream.read(&mut answer[read..]);
        let more = tokio::time::timeout(Duration::from_secs(20), reading).await;
        match more.expect("in time").unwrap_or(0) {
            0 => break,
            more => read += more,
        }
    }
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

/// Sends one line and checks the answer, which is expected whole.
async fn check(stream: &mut TcpStream, line: &str, expected: &str) {
    let answer = talk(stream, &format!("{line}\r\n"), expected.len()).await;
    assert_eq!(answer, expected, "{line}");
}

/// What is left until the connection ends.
async fn end(stream: &mut TcpStream) -> String {
    talk(stream, "", 1 << 20).await
}

#[tokio::test]
async fn lines_and_pipelines_are_answered_in_order() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    check(&mut stream, "get greeting", "$5\r\nhello\r\n").await;
    let many = "*1\r\n$4\r\nPING\r\nGET \"greeting\"\r\n*2\r\n$6\r\nSTRLEN\r\n$8\r\ngreeting\r\n";
    let expected = "+PONG\r\n$5\r\nhello\r\n:5\r\n".repeat(500);
    assert_eq!(talk(&mut stream, &many.repeat(500), expected.len()).await, expected);
    check(&mut stream, "SELECT 15", "+OK\r\n").await;
    check(&mut stream, "EXISTS greeting", ":1\r\n").await;
    check(&mut stream, "CLIENT SETINFO LIB-NAME x", "+OK\r\n").await;
    check(&mut stream, "RESET", "+RESET\r\n").await;
    check(&mut stream, "QUIT", "+OK\r\n").await;
    assert_eq!(end(&mut stream).await, "");
    assert_eq!(server.counted("commands"), 1506);
}

#[tokio::test]
async fn without_the_password_nothing_is_told() {
    let server = Server::start(|options| options.password = Some("secret".into())).await;
    let mut stream = server.connect().await;
    let refused = "-NOAUTH Authentication required.\r\n";
    for line in ["GET greeting", "PING", "INFO", "COMMAND", "CLIENT ID", "SET a b"] {
        check(&mut stream, line, refused).await;
    }
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    for line in ["AUTH secre", "AUTH secrets", "AUTH other secret", "HELLO 3 AUTH default x"] {
        check(&mut stream, line, wrong).await;
    }
    assert!(talk(&mut stream, "HELLO 3\r\n", 20).await.starts_with("-NOAUTH HELLO must"));
    let mut stream = server.connect().await;
    check(&mut stream, "AUTH secret", "+OK\r\n").await;
    check(&mut stream, "GET greeting", "$5\r\nhello\r\n").await;
    check(&mut stream, "RESET", "+RESET\r\n").await;
    check(&mut stream, "GET greeting", refused).await;
    let mut stream = server.connect().await;
    let hello = talk(&mut stream, "HELLO 3 AUTH default secret SETNAME me\r\n", 20).await;
    assert!(hello.starts_with("%7\r\n$6\r\nserver"), "{hello}");
    assert_eq!(server.counted("denied"), 4);
    let mut stream = server.connect().await;
    let long = "-ERR Protocol error: unauthenticated bulk length\r\n";
    check(&mut stream, "*1\r\n$20000", long).await;
    assert_eq!(end(&mut stream).await, "");
}

#[tokio::test]
async fn one_client_too_many_is_told_so_and_room_comes_back() {
    let server = Server::start(|options| options.connections = 2).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    check(&mut first, "PING", "+PONG\r\n").await;
    check(&mut second, "PING", "+PONG\r\n").await;
    let mut third = server.connect().await;
    assert_eq!(end(&mut third).await, "-ERR max number of clients reached\r\n");
    drop(first);
    for _ in 0..100 {
        let mut again = server.connect().await;
        if talk(&mut again, "PING\r\n", 7).await == "+PONG\r\n" {
            assert!(server.counted("refused") >= 1);
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no room came back");
}

#[tokio::test]
async fn what_is_larger_than_allowed_is_refused_and_says_how_to_ask() {
    let server = Server::start(|options| {
        (options.reply_elements, options.reply_bytes) = (500, 100_000);
        options.keys_examined = 2;
    })
    .await;
    let mut stream = server.connect().await;
    let large = |limit: u64, what: &str| {
        format!(
            "-ERR the answer would have more than {limit} {what}; ask for a range (ZRANGE, \
             LRANGE, HMGET) or use SCAN, HSCAN\r\n"
        )
    };
    check(&mut stream, "HGETALL hash", &large(500, "elements")).await;
    check(&mut stream, "LRANGE list 0 -1", &large(500, "elements")).await;
    check(&mut stream, "LRANGE list 0 200", &large(100_000, "bytes")).await;
    let keys =
        "-ERR KEYS would look at more than 2 keys; use SCAN with MATCH, or a key without * ? [";
    check(&mut stream, "KEYS g*", &format!("{keys}\r\n")).await;
    check(&mut stream, "KEYS greeting", "*1\r\n$8\r\ngreeting\r\n").await;
    assert_eq!(talk(&mut stream, "LRANGE list 0 0\r\n", 1013).await.len(), 1013);
    assert!(talk(&mut stream, "HKEYS hash\r\n", 6).await.starts_with("*300"));
}

#[tokio::test]
async fn garbage_ends_the_connection_after_what_came_before_it() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    let sent = "PING\r\n*1\r\n!4\r\nPING\r\n";
    let answer = talk(&mut stream, sent, 1 << 16).await;
    assert_eq!(answer, "+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n");
    assert_eq!(server.counted("garbled"), 1);
}

#[tokio::test]
async fn who_says_nothing_is_ended() {
    let server = Server::start(|options| options.idle = Duration::from_millis(200)).await;
    let mut stream = server.connect().await;
    let begun = Instant::now();
    check(&mut stream, "PING", "+PONG\r\n").await;
    assert_eq!(end(&mut stream).await, "");
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!((server.counted("idle"), server.counted("open")), (1, 0));
    let mut trickle = server.connect().await;
    for _ in 0..100 {
        // Half a request is nothing, however often another byte of it comes.
        if trickle.write_all(b"x").await.is_err() || server.counted("idle") == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.counted("idle"), 2);
}

#[tokio::test]
async fn a_large_hash_is_scanned_in_parts() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    let (mut cursor, mut fields) = ("0".to_owned(), 0);
    loop {
        let sent = format!("HSCAN hash {cursor} COUNT 70\r\nPING\r\n");
        let mut answer = talk(&mut stream, &sent, 8).await;
        while !answer.ends_with("+PONG\r\n") {
            answer.push_str(&talk(&mut stream, "", 1).await);
        }
        fields += answer.matches("value").count();
        cursor = answer.lines().nth(2).expect("a cursor").to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(fields, 300);
}

/// A client that asks for 300 MB and reads nothing costs one answer, and its place for a moment.
#[tokio::test]
async fn who_does_not_read_is_ended_and_others_go_on() {
    let server = Server::start(|options| options.reading = Duration::from_millis(300)).await;
    let mut slow = server.connect().await;
    let sent = "LRANGE list 0 -1\r\n".repeat(300);
    slow.write_all(sent.as_bytes()).await.expect("sent");
    let mut other = server.connect().await;
    for _ in 0..400 {
        check(&mut other, "GET greeting", "$5\r\nhello\r\n").await;
        if server.counted("slow") == 1 {
            assert!(server.counted("bytes_out") < 50 << 20);
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it was never ended");
}

#[tokio::test]
async fn a_server_that_stops_ends_its_connections() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    check(&mut stream, "PING", "+PONG\r\n").await;
    server.stop.send_replace(true);
    server.task.await.expect("it ended");
    assert_eq!(end(&mut stream).await, "");
    assert!(TcpStream::connect(("127.0.0.1", server.port)).await.is_err());
}

#[tokio::test]
async fn it_tells_about_itself_in_both_protocols() {
    let server = Server::start(|_| {}).await;
    let mut stream = server.connect().await;
    assert!(
        talk(&mut stream, "COMMAND INFO get\r\n", 20).await.starts_with("*1\r\n*10\r\n$3\r\nget")
    );
    let mut stream = server.connect().await;
    let info = talk(&mut stream, "INFO keyspace\r\nQUIT\r\n", 100).await;
    assert!(info.contains("# Keyspace\r\ndb0:keys=3,"), "{info}");
    let mut stream = server.connect().await;
    let hello = talk(&mut stream, "HELLO 3\r\n", 1 << 10);
    let hello = tokio::time::timeout(Duration::from_millis(300), hello).await;
    assert!(hello.is_err(), "it waits for the next request");
    let sent = "CLIENT INFO\r\nCOMMAND COUNT\r\nHGETALL greeting\r\nQUIT\r\n";
    let rest = talk(&mut stream, sent, 1 << 12).await;
    assert!(rest.contains("txt:id=") && rest.contains("resp=3"), "{rest}");
    assert!(rest.contains("\n:36\r\n") && rest.ends_with("+OK\r\n"), "{rest}");
}

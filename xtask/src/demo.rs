//! The demo as a person meets it: started, looked at, ended.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, bail};
use parts::{Part, Process};

use crate::built::Built;
use crate::workspace::Workspace;

/// How long the demo may take to show its page, and to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts `ostrakon demo`, reads the page it names and asks it to end.
///
/// All this relies on: the demo prints the address of its page (`http://127.0.0.1:PORT…`), answers
/// there with 200, and ends with success after SIGTERM.
pub(crate) fn run(workspace: &Workspace, optimised: bool) -> anyhow::Result<()> {
    // The program is built with the tests that start it.
    Built::of(workspace, optimised)?;
    let profile = if optimised { "release" } else { "debug" };
    let binary = workspace.target().join(profile).join("ostrakon");
    let mut demo = Part::new("demo", binary)?.arg("demo").start()?;
    let address = address(&mut demo)?;
    println!("the demo shows http://{address}");
    let page = demo.wait_until("the page answers", PATIENCE, || get(&address))?;
    if !page.starts_with("HTTP/1.1 200") {
        demo.keep();
        bail!("the page answers {}", page.lines().next().unwrap_or("nothing"));
    }
    let status = demo.terminate(PATIENCE)?;
    if !status.success() {
        demo.keep();
        bail!("the demo did not stop cleanly: {status}");
    }
    println!("the demo stopped cleanly");
    Ok(())
}

/// Host, port and path of the page, from what the demo prints.
fn address(demo: &mut Process) -> anyhow::Result<String> {
    let log = demo.log().to_owned();
    let address = demo.wait_until("the demo prints its address", PATIENCE, || {
        let text = std::fs::read_to_string(&log).map_err(|error| error.to_string())?;
        find_address(&text).ok_or(text)
    })?;
    Ok(address)
}

fn find_address(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("http://127.0.0.1:")?;
    // Only a whole line is read: the last digits of a port may not be written yet.
    let (rest, _) = rest.split_once('\n')?;
    let end = rest.find(|c: char| c.is_whitespace() || "\"')>,;\x1b".contains(c));
    let rest = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
    Some(format!("127.0.0.1:{rest}"))
}

/// One HTTP request by hand: the head and body of the answer.
fn get(address: &str) -> anyhow::Result<String> {
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let mut stream = TcpStream::connect(host).with_context(|| format!("cannot reach {host}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_address_is_found_in_what_is_printed() {
        let check = |text, expected: Option<&str>| {
            assert_eq!(find_address(text).as_deref(), expected, "{text:?}");
        };
        check("ready: http://127.0.0.1:8080/status\n", Some("127.0.0.1:8080/status"));
        check("Open http://127.0.0.1:8080.\n", Some("127.0.0.1:8080"));
        check("page (http://127.0.0.1:8080) is up\n", Some("127.0.0.1:8080"));
        check("page http://127.0.0.1:80", None);
        check("starting\n", None);
    }

    #[test]
    fn a_page_is_read_whole() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let serving = std::thread::spawn(move || {
            let (mut peer, _) = server.accept().expect("a visitor");
            // All of it: who closes with something unread resets the connection.
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                peer.read_exact(&mut byte).expect("a request");
                request.extend(byte);
            }
            peer.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").expect("answered");
            String::from_utf8_lossy(&request).into_owned()
        });
        let page = get(&format!("{address}/status?x=1")).expect("a page");
        assert_eq!(page, "HTTP/1.1 200 OK\r\n\r\nhello");
        assert!(serving.join().expect("served").starts_with("GET /status?x=1 HTTP/1.1\r\n"));
    }
}

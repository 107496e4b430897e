//! Addresses of nodes and webhooks, read strictly.
//!
//! Two readers of one address must not disagree about its host, or a check of the one is no check
//! of the other. So there is no user information, no escapes, and nothing but a plain host.

use std::fmt;
use std::net::IpAddr;

/// Characters of an address at the most.
pub(crate) const ADDRESS_CHARS: usize = 512;

/// An address in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    scheme: String,
    host: String,
    port: Option<u16>,
    path: String,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Too long.
    #[error("it has more than {ADDRESS_CHARS} characters; use a shorter one")]
    TooLong,
    /// No scheme, or one that does not fit.
    #[error("it must begin with one of {0}")]
    Scheme(String),
    /// User name or password inside.
    #[error("it carries a user name or a password; give it without")]
    UserInfo,
    /// A host that is neither a name nor an IP address.
    #[error("its host is neither a name nor an IP address; write it as example.org or 10.0.0.1")]
    Host,
    /// A port that is no port.
    #[error("its port is not a number from 1 to 65535")]
    Port,
    /// Characters that do not belong into a path.
    #[error(
        "its path has a character that is not printable ASCII, or a fragment; encode or drop it"
    )]
    Path,
}

impl Address {
    /// Reads an address with one of `schemes`.
    ///
    /// # Errors
    /// With what is wrong and what to write instead.
    pub fn parse(text: &str, schemes: &[&str]) -> Result<Self, AddressError> {
        if text.len() > ADDRESS_CHARS {
            return Err(AddressError::TooLong);
        }
        let found = schemes.iter().find_map(|scheme| {
            let rest = text.strip_prefix(scheme)?.strip_prefix("://")?;
            Some((*scheme, rest))
        });
        let Some((scheme, rest)) = found else {
            let known: Vec<_> = schemes.iter().map(|scheme| format!("{scheme}://")).collect();
            return Err(AddressError::Scheme(known.join(", ")));
        };
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(AddressError::UserInfo);
        }
        let (host, port) = split_port(authority)?;
        if !path.bytes().all(|byte| byte.is_ascii_graphic() && !b"#\\".contains(&byte)) {
            return Err(AddressError::Path);
        }
        let (scheme, path) = (scheme.to_owned(), path.to_owned());
        Ok(Self { scheme, host: host.to_ascii_lowercase(), port, path })
    }

    /// The port, if it names one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The host: a name in lower case, or an IP address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The same address with a port.
    #[must_use]
    pub fn with_port(self, port: u16) -> Self {
        Self { port: Some(port), ..self }
    }

    /// Whether it leads to this machine and nowhere else.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        self.host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(&self.path)
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), AddressError> {
    let colon = match authority.rfind(']') {
        Some(end) => authority.get(end..).and_then(|rest| rest.find(':')).map(|at| end + at),
        None => authority.rfind(':'),
    };
    let (host, port) = match colon {
        None => (authority, None),
        Some(colon) => {
            let (host, port) = authority.split_at(colon);
            let digits = port.trim_start_matches(':');
            let plain =
                digits.len() == port.len() - 1 && digits.bytes().all(|b| b.is_ascii_digit());
            let port = digits.parse::<u16>().ok().filter(|port| plain && *port > 0);
            (host, Some(port.ok_or(AddressError::Port)?))
        }
    };
    if is_host(host) { Ok((host, port)) } else { Err(AddressError::Host) }
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<std::net::Ipv6Addr>().is_ok();
    }
    // A name whose last label is a number is read as an IP address by some and as a name by others.
    let last = host.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return host.parse::<std::net::Ipv4Addr>().is_ok();
    }
    let hexadecimal = last.starts_with("0x") || last.starts_with("0X");
    host.len() <= 253 && !hexadecimal && host.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&label.len())
        && label.bytes().all(allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, Option<u16>, bool), AddressError>) {
        let found = Address::parse(text, &["http", "https"]);
        if let Ok(address) = &found {
            let same = address.to_string().eq_ignore_ascii_case(text);
            assert!(same, "{text} became {address}");
        }
        let found = found.map(|a| (a.host().to_owned(), a.port(), a.is_loopback()));
        let expected = expected.map(|(host, port, loopback)| (host.to_owned(), port, loopback));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn plain_addresses_are_read() {
        check("http://node.example.org", Ok(("node.example.org", None, false)));
        check("https://Node.Example.org:8545/rpc?x=1", Ok(("node.example.org", Some(8545), false)));
        check("http://127.0.0.1:12537/", Ok(("127.0.0.1", Some(12537), true)));
        check("http://[::1]:80", Ok(("[::1]", Some(80), true)));
        check("http://localhost", Ok(("localhost", None, true)));
        check("http://localhost.evil.org", Ok(("localhost.evil.org", None, false)));
    }

    #[test]
    fn tricks_are_refused() {
        use AddressError::{Host, Path, Port, Scheme, TooLong, UserInfo};
        check("http://127.0.0.1@evil.org/", Err(UserInfo));
        check("http://evil.org\\@127.0.0.1/", Err(Path));
        check("http://evil.org#@127.0.0.1/", Err(Path));
        check("ftp://a.org", Err(Scheme("http://, https://".into())));
        check("http:/a.org", Err(Scheme("http://, https://".into())));
        for host in
            ["", "127.1", "0x7f000001", "2130706433", "a..b", "-a.org", "a b", "[::g]", "a%2e"]
        {
            check(&format!("http://{host}"), Err(Host));
        }
        for port in ["", "0", "65536", "+80", "a"] {
            check(&format!("http://a.org:{port}/"), Err(Port));
        }
        check("http://a.org/\u{e9}", Err(Path));
        check("http://a.org/\r\nHost: b", Err(Path));
        check(&format!("http://a.org/{}", "x".repeat(600)), Err(TooLong));
    }

    #[test]
    fn a_port_can_be_added() {
        let address = Address::parse("http://a.org/rpc", &["http"]).expect("an address");
        assert_eq!(address.with_port(99).to_string(), "http://a.org:99/rpc");
    }
}

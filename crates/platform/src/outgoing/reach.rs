//! Which IP addresses may be connected to. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses may be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of them: the operator chose the address.
    Anywhere,
    /// Only those of the public internet, because anybody may have chosen the address.
    Public {
        /// And those of this machine.
        loopback: bool,
    },
}

impl Reach {
    /// Whether an address may be connected to.
    pub(super) fn allows(self, ip: IpAddr) -> bool {
        // `::ffff:10.0.0.1` is 10.0.0.1, whatever it looks like.
        let ip = ip.to_canonical();
        match self {
            Self::Anywhere => true,
            Self::Public { loopback } => is_public(ip) || (loopback && ip.is_loopback()),
        }
    }
}

fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// All but the special ranges of the IANA registry, of which some are reachable in practice and
/// none is a place for a webhook.
fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let special = match (a, b, c) {
        // This network; private; loopback; multicast, reserved and broadcast.
        (0 | 10 | 127 | 224..=255, _, _) => true,
        // Shared by the customers of a provider; link-local; private.
        (100, 64..=127, _) | (169, 254, _) | (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments; documentation; the relays of 6to4, which are no more.
        (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => true,
        // Benchmarks of networks.
        (198, 18 | 19, _) => true,
        _ => false,
    };
    !special
}

/// Of IPv6 only what was given out for the internet, 2000::/3, is public. Special ranges inside it
/// are not, and addresses that carry an IPv4 address are what that one is.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    match ip.segments() {
        // A network without IPv4 reaches it through this prefix, so names resolve to it there.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Protocol assignments, among them Teredo, which carries an IPv4 address.
        [0x2001, 0..=0x01ff, ..] => false,
        // Documentation.
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // 6to4, which carries an IPv4 address and is no more.
        [0x2002, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reach: Reach, allowed: bool, addresses: &[&str]) {
        for text in addresses {
            let ip: IpAddr = text.parse().expect("an IP address");
            assert_eq!(reach.allows(ip), allowed, "{reach:?}: {text}");
        }
    }

    const LOOPBACK: &[&str] = &["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"];
    const SPECIAL: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:a00:1::1",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];
    const PUBLIC: &[&str] = &[
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2001:4860:4860::8888",
        "2606:4700::1111",
        "2a00:1450::1",
    ];

    #[test]
    fn only_the_public_internet_is_reached_on_behalf_of_anybody() {
        let reach = Reach::Public { loopback: false };
        check(reach, true, PUBLIC);
        check(reach, false, SPECIAL);
        check(reach, false, LOOPBACK);
    }

    #[test]
    fn loopback_can_be_allowed_and_nothing_else_with_it() {
        let reach = Reach::Public { loopback: true };
        check(reach, true, PUBLIC);
        check(reach, false, SPECIAL);
        check(reach, true, LOOPBACK);
    }

    #[test]
    fn an_operator_reaches_everything() {
        for addresses in [PUBLIC, SPECIAL, LOOPBACK] {
            check(Reach::Anywhere, true, addresses);
        }
    }
}

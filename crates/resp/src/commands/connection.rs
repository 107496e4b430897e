//! What concerns the connection and not the keys.

use crate::commands::{Answer, SYNTAX, about, is, whole, wrong_number};
use crate::number;
use crate::reply::{Protocol, Reply};
use crate::session::{DATABASES, Session, Shared, check_name};

const NO_PASSWORD: &str = "AUTH <password> called without any password configured for the \
                           default user. Are you sure your configuration is correct?";
const HELLO_FIRST: &str = "NOAUTH HELLO must be called with the client already authenticated, \
                           otherwise the HELLO <proto> AUTH <user> <pass> option can be used to \
                           authenticate the client and select the RESP protocol version at the \
                           same time";

pub(crate) fn run(
    session: &mut Session,
    shared: &Shared,
    name: &str,
    arguments: &[Vec<u8>],
) -> Answer {
    match (name, arguments) {
        ("hello", arguments) => hello(session, shared, arguments),
        ("auth", arguments) => auth(session, shared, arguments),
        ("client", [subcommand, rest @ ..]) => client(session, subcommand, rest),
        ("ping", []) => Ok(Reply::Simple("PONG")),
        ("ping" | "echo", [text]) => Ok(Reply::text(text.as_slice())),
        ("quit", _) => {
            session.closing = true;
            Ok(Reply::OK)
        }
        ("reset", _) => {
            session.reset(shared);
            Ok(Reply::Simple("RESET"))
        }
        ("select", [index]) => select(session, index),
        _ => Err(wrong_number(name)),
    }
}

fn select(session: &mut Session, index: &[u8]) -> Answer {
    let index = whole(index)?;
    if i32::try_from(index).is_err() {
        let (low, high) = (i32::MIN, i32::MAX);
        let text = format!("value is out of range, value must between {low} and {high}");
        return Err(Reply::error(text));
    }
    let database = u8::try_from(index).ok().filter(|database| *database < DATABASES);
    let wrong = || Reply::error("DB index is out of range");
    session.database = database.ok_or_else(wrong)?;
    Ok(Reply::OK)
}

fn auth(session: &mut Session, shared: &Shared, arguments: &[Vec<u8>]) -> Answer {
    match arguments {
        [_] if shared.options.password.is_none() => Err(Reply::error(NO_PASSWORD)),
        [password] => session.authenticate(shared, b"default", password).map(|()| Reply::OK),
        [user, password] => session.authenticate(shared, user, password).map(|()| Reply::OK),
        _ => Err(Reply::error(SYNTAX)),
    }
}

fn hello(session: &mut Session, shared: &Shared, arguments: &[Vec<u8>]) -> Answer {
    let (protocol, mut rest) = match arguments {
        [] => (session.protocol, arguments),
        [version, rest @ ..] => match number::whole(version) {
            None => {
                let text = "Protocol version is not an integer or out of range";
                return Err(Reply::error(text));
            }
            Some(2) => (Protocol::Two, rest),
            Some(3) => (Protocol::Three, rest),
            Some(_) => return Err(Reply::Error("NOPROTO unsupported protocol version".into())),
        },
    };
    // Each option counts at once, as in Redis 7.0, even when a later one is wrong.
    loop {
        rest = match rest {
            [] => break,
            [option, user, password, rest @ ..] if is(option, "AUTH") => {
                session.authenticate(shared, user, password)?;
                rest
            }
            [option, name, rest @ ..] if is(option, "SETNAME") => {
                session.rename(name)?;
                rest
            }
            [option, ..] => {
                let option = String::from_utf8_lossy(option);
                return Err(Reply::error(format!("Syntax error in HELLO option '{option}'")));
            }
        };
    }
    if !session.authenticated {
        return Err(Reply::Error(HELLO_FIRST.to_owned()));
    }
    session.protocol = protocol;
    let version = if protocol == Protocol::Three { 3 } else { 2 };
    let pairs = [
        ("server", Reply::text("redis")),
        ("version", Reply::text(about::REDIS_VERSION)),
        ("proto", Reply::Integer(version)),
        ("id", Reply::count(session.id)),
        ("mode", Reply::text("standalone")),
        ("role", Reply::text("replica")),
        ("modules", Reply::Array(Vec::new())),
    ];
    Ok(Reply::Map(pairs.map(|(name, value)| (Reply::text(name), value)).into()))
}

fn client(session: &mut Session, subcommand: &[u8], rest: &[Vec<u8>]) -> Answer {
    let name = String::from_utf8_lossy(subcommand).to_ascii_lowercase();
    match (name.as_str(), rest) {
        ("id", []) => Ok(Reply::count(session.id)),
        ("getname", []) if session.name.is_empty() => Ok(Reply::Null),
        ("getname", []) => Ok(Reply::text(session.name.as_slice())),
        ("setname", [name]) => session.rename(name).map(|()| Reply::OK),
        ("info", []) => Ok(Reply::Verbatim(session.line("client|info"))),
        // Others are nobody's business here: a client sees itself.
        ("list", _) => Ok(Reply::Verbatim(session.line("client|list"))),
        ("no-evict", [switch]) if is(switch, "on") || is(switch, "off") => Ok(Reply::OK),
        ("no-evict", [_]) => Err(Reply::error(SYNTAX)),
        ("setinfo", [attribute, value]) => set_info(session, attribute, value),
        ("id" | "getname" | "setname" | "info" | "no-evict" | "setinfo", _) => {
            Err(wrong_number(&format!("client|{name}")))
        }
        _ => Err(about::unknown_subcommand(subcommand, "CLIENT")),
    }
}

fn set_info(session: &mut Session, attribute: &[u8], value: &[u8]) -> Answer {
    let name = String::from_utf8_lossy(attribute).to_ascii_lowercase();
    let wrong = format!("{name} cannot contain spaces, newlines or special characters.");
    match name.as_str() {
        "lib-name" => {
            check_name(value, &wrong)?;
            session.library = value.to_vec();
        }
        "lib-ver" => {
            check_name(value, &wrong)?;
            session.library_version = value.to_vec();
        }
        _ => {
            let given = String::from_utf8_lossy(attribute);
            return Err(Reply::error(format!("Unrecognized option '{given}'")));
        }
    }
    Ok(Reply::OK)
}

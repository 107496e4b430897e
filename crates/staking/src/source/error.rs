//! Why no messages come, and what to do about it.

use std::io;

use lapin::ErrorKind;

/// What AMQP calls `PRECONDITION_FAILED`: a queue exists, and is another.
const PRECONDITION_FAILED: u16 = 406;
/// What AMQP calls `ACCESS_REFUSED`.
const ACCESS_REFUSED: u16 = 403;
/// What AMQP calls `NOT_ALLOWED`; RabbitMQ says so of a virtual host that it does not have.
const NOT_ALLOWED: u16 = 530;

/// Why a connection could not be opened, or ended. Whatever it is, it is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Nothing listens there, or it does not speak AMQP.
    #[error("no broker answers at {address}: {source}; start RabbitMQ or correct the url")]
    Away {
        /// Host and port.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The broker does not let this user in.
    #[error("the broker refuses: {said}; correct the user, password or virtual host of the url")]
    Refused {
        /// What the broker said.
        said: String,
    },
    /// A queue exists with other arguments.
    #[error(
        "{name} exists with other arguments: {said}; set `quorum` as the other clients of the \
         queue have it, or, when it is empty, remove it: rabbitmqctl delete_queue {name}"
    )]
    Declared {
        /// The queue or exchange.
        name: String,
        /// What the broker said.
        said: String,
    },
    /// The user may not declare or read a queue.
    #[error(
        "the user may not use {name}: {said}; let it configure, write and read: rabbitmqctl \
         set_permissions USER '.*' '.*' '.*'"
    )]
    Forbidden {
        /// The queue or exchange.
        name: String,
        /// What the broker said.
        said: String,
    },
    /// The queue was deleted under its consumer.
    #[error("the broker ended the consumption of {queue}; it is declared again")]
    Cancelled {
        /// The queue.
        queue: &'static str,
    },
    /// A message could not be put off; it went back to its queue.
    #[error("the broker did not confirm a message for {queue}: {said}; see the log of the broker")]
    Unconfirmed {
        /// The queue for messages that are put off.
        queue: String,
        /// What happened.
        said: String,
    },
    /// The connection failed.
    #[error("the connection to the broker failed: {0}")]
    Lost(#[from] lapin::Error),
}

impl SourceError {
    /// For what fails while connecting.
    pub(super) fn connecting(address: &str, error: lapin::Error) -> Self {
        match code(&error) {
            Some(ACCESS_REFUSED | NOT_ALLOWED) => Self::Refused { said: error.to_string() },
            Some(_) => Self::Lost(error),
            None => Self::Away { address: address.to_owned(), source: io::Error::other(error) },
        }
    }

    /// For what fails while declaring or beginning to consume.
    pub(super) fn declaring(name: &str, error: lapin::Error) -> Self {
        let name = name.to_owned();
        match code(&error) {
            Some(PRECONDITION_FAILED) => Self::Declared { name, said: error.to_string() },
            Some(ACCESS_REFUSED) => Self::Forbidden { name, said: error.to_string() },
            _ => Self::Lost(error),
        }
    }

    /// Whether waiting does not help.
    pub(super) fn needs_a_person(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Declared { .. } | Self::Forbidden { .. })
    }
}

/// The broker's own number for an error, if it was the broker who said so.
fn code(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some(error.get_id()),
        _ => None,
    }
}

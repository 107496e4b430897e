//! What people try who mean no good, against the real server over real sockets. All of it is
//! refused.

mod common;

#[path = "security/bodies.rs"]
mod bodies;
#[path = "security/guesses.rs"]
mod guesses;
#[path = "security/heads.rs"]
mod heads;
#[path = "security/people.rs"]
mod people;
#[path = "security/secrets.rs"]
mod secrets;
#[path = "security/sessions.rs"]
mod sessions;
#[path = "security/sites.rs"]
mod sites;

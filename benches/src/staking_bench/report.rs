//! The figures as a table.

use super::events::Event;
use super::statistics::Statistics;
use super::{Measured, messages};

/// Says what is measured.
pub(crate) fn head(seed: u64, events: &[Event], expected: &Statistics, version: &str) {
    println!(
        "seed {seed}: {} events of {} delegations, {} finality providers, {} stakers",
        events.len(),
        expected.overall.total_delegations,
        expected.providers.len(),
        expected.stakers.len()
    );
    let bytes: usize = events.iter().map(|event| messages::message(event).len()).sum();
    println!("as messages of the queue they have {} bytes each", bytes / events.len().max(1));
    println!("postgres {version}: TCP on loopback, fsync and synchronous_commit on");
    println!("after each line all sums were compared with those of a plain list\n");
    println!(
        "| {:<52} | {:>9} | {:>17} | {:>17} |",
        "configuration", "events/s", "server µs/event", "client µs/event"
    );
    println!("|{:-<54}|{:-<11}|{:-<19}|{:-<19}|", "", "", "", "");
}

/// A line of the table.
pub(crate) struct Line {
    name: String,
    rate: f64,
    /// Microseconds of processor time an event.
    server: f64,
    client: f64,
}

impl Line {
    pub(crate) fn new(name: String, measured: &Measured, events: usize) -> Self {
        Self {
            name,
            rate: measured.client.rate(events),
            server: measured.server.as_secs_f64() * 1e6 / events as f64,
            client: measured.client.cpu_each(events),
        }
    }

    /// Prints it at once: the next may take minutes.
    pub(crate) fn printed(self) -> Self {
        let Self { name, rate, server, client } = &self;
        println!("| {name:<52} | {rate:>9.0} | {server:>17.1} | {client:>17.1} |");
        self
    }

    fn cpu(&self) -> f64 {
        self.server + self.client
    }
}

/// Says who was best, and how far the others are.
pub(crate) fn foot(lines: &[Line]) {
    let Some(fastest) = lines.iter().max_by(|a, b| a.rate.total_cmp(&b.rate)) else { return };
    let Some(least) = lines.iter().min_by(|a, b| a.cpu().total_cmp(&b.cpu())) else { return };
    println!("\nfastest: {}; least processor time: {}", fastest.name, least.name);
    println!(
        "of the fastest's events a second, and of the least processor time, server and client:"
    );
    for line in lines {
        let (rate, cpu) = (line.rate / fastest.rate, line.cpu() / least.cpu());
        println!("{:<52}   {rate:>6.3}   {cpu:>7.1}", line.name);
    }
}

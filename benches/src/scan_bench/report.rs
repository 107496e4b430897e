//! The figures as a table, with what was aimed at.

use std::time::Duration;

use super::driver::{Fed, Kind, Latency};
use super::{Counts, Measured, data};

/// How many of Redis's epochs ours shall feed in a second of processor time.
const CPU_AIM: f64 = 5.0;
/// What share of Redis's bytes ours shall need.
const BYTES_AIM: f64 = 1.0 / 3.0;
/// Microseconds that 99 of 100 reads shall stay below.
const READ_AIM: f64 = 1000.0;

/// Says what is measured.
pub(crate) fn head(counts: Counts) {
    println!(
        "{} epochs of {} blocks of {} transactions one by one, {} in batches of 50",
        counts.epochs,
        data::BLOCKS,
        data::TRANSACTIONS,
        counts.batched()
    );
    println!("redis: TCP on loopback, MULTI/EXEC an epoch, append-only file synced every second");
    println!("ours: in this process, embedded engine, synced before each answer\n");
}

/// All that was measured.
pub(crate) struct All {
    pub(crate) ours: Measured,
    pub(crate) redis: Measured,
    /// On the chain at the end.
    pub(crate) transactions: u64,
    /// Processor time of reading an epoch's messages, on our side.
    pub(crate) messages: Duration,
}

fn met(is_met: bool) -> &'static str {
    if is_met { "aim met" } else { "aim missed" }
}

fn line(name: &str, ours: f64, redis: f64, aim: &str) {
    let ratio = ours / redis;
    println!("| {name:<44} | {ours:>9.1} | {redis:>9.1} | {ratio:>6.2} | {aim:<10} |");
}

impl All {
    /// Prints the table.
    pub(crate) fn print(&self) {
        println!(
            "| {:<44} | {:>9} | {:>9} | {:>6} | {:<10} |",
            "figure", "ours", "redis", "ratio", "aim"
        );
        println!("|{:-<46}|{:-<11}|{:-<11}|{:-<8}|{:-<12}|", "", "", "", "", "");
        let feeds = [
            ("one by one", &self.ours.singles, &self.redis.singles),
            ("batches of 50", &self.ours.batches, &self.redis.batches),
        ];
        for (name, ours, redis) in feeds {
            self.feed(name, ours, redis);
        }
        let switches = [
            ("one popped, one pushed", &self.ours.switches, &self.redis.switches),
            ("many popped, as many pushed", &self.ours.deep, &self.redis.deep),
        ];
        for (name, ours, redis) in switches {
            line(&format!("{name}: epochs/s"), ours.rate(), redis.rate(), "");
            let (ours, redis) = (ours.per_cpu(true), redis.per_cpu(true));
            line(&format!("{name}: epochs/CPU s"), ours, redis, "");
        }
        self.bytes();
        reads("idle", &self.ours.idle, &self.redis.idle);
        reads("feeding", &self.ours.busy, &self.redis.busy);
        println!("\nwhere ours spends processor time, µs an epoch:");
        let feeds = [
            ("one by one", self.ours.singles),
            ("batches of 50", self.ours.batches),
            ("one popped, one pushed", self.ours.switches),
            ("many popped, as many pushed", self.ours.deep),
        ];
        for (name, fed) in feeds {
            let each = |cpu: Duration| cpu.as_secs_f64() * 1e6 / fed.epochs as f64;
            println!(
                "{name}: look up, derive, encode {:.0}; write the journal and memtables {:.0}; \
                 flush and compact {:.0}",
                each(fed.client),
                each(fed.cpu.saturating_sub(fed.background)),
                each(fed.background)
            );
        }
        println!("reading messages: {:.0}", self.messages.as_secs_f64() * 1e6);
    }

    fn feed(&self, name: &str, ours: &Fed, redis: &Fed) {
        line(&format!("{name}: epochs/s"), ours.rate(), redis.rate(), "");
        let (cpu, server) = (ours.per_cpu(true), redis.per_cpu(false));
        let aim = met(cpu >= CPU_AIM * server);
        line(&format!("{name}: epochs/CPU s, server alone"), cpu, server, aim);
        let whole = redis.per_cpu(true);
        let aim = met(cpu >= CPU_AIM * whole);
        line(&format!("{name}: epochs/CPU s, with client"), cpu, whole, aim);
        let read = 1.0 / (1.0 / cpu + self.messages.as_secs_f64());
        let aim = met(read >= CPU_AIM * whole);
        line(&format!("{name}: the same, ours packs messages"), read, whole, aim);
    }

    fn bytes(&self) {
        let each = |bytes: u64| bytes as f64 / self.transactions as f64;
        let (directory, tables) = (each(self.ours.bytes.0), each(self.ours.bytes.1));
        let (memory, file) = (each(self.redis.bytes.0), each(self.redis.bytes.1));
        let pairs = [
            ("directory to memory", directory, memory),
            ("tables to memory", tables, memory),
            ("directory to AOF", directory, file),
            ("tables to AOF", tables, file),
        ];
        for (name, ours, redis) in pairs {
            let aim = met(ours <= BYTES_AIM * redis);
            line(&format!("bytes a transaction: {name}"), ours, redis, aim);
        }
    }
}

fn reads(when: &str, ours: &[Latency; 5], redis: &[Latency; 5]) {
    for (((_, name), ours), redis) in Kind::ALL.into_iter().zip(ours).zip(redis) {
        line(&format!("{name}, {when}: p50 µs"), ours.p50, redis.p50, "");
        let aim = met(ours.p99 < READ_AIM);
        line(&format!("{name}, {when}: p99 µs"), ours.p99, redis.p99, aim);
    }
}

//! What a piece of work costs: time, processor time, bytes written.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The cost of one piece of work.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// Bytes this process caused to be written to the disk.
    pub(crate) written: u64,
}

impl Cost {
    /// Measures `work`, background threads of this process included.
    pub(crate) fn of<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(Self, T)> {
        let meter = Self::begin();
        let result = work()?;
        Ok((meter.end(), result))
    }

    /// Begins to measure.
    pub(crate) fn begin() -> Meter {
        Meter { wall: Instant::now(), cpu: cpu_time(), written: written_bytes() }
    }

    /// Microseconds of processor time for each of `count` things.
    pub(crate) fn cpu_each(&self, count: usize) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / count as f64
    }

    /// Things a second.
    pub(crate) fn rate(&self, count: usize) -> f64 {
        count as f64 / self.wall.as_secs_f64()
    }
}

/// A measurement that has begun.
pub(crate) struct Meter {
    wall: Instant,
    cpu: Duration,
    written: u64,
}

impl Meter {
    /// What it cost since.
    pub(crate) fn end(self) -> Cost {
        Cost {
            wall: self.wall.elapsed(),
            cpu: cpu_time().saturating_sub(self.cpu),
            written: written_bytes().saturating_sub(self.written),
        }
    }
}

/// Processor time of this process, all threads.
pub(crate) fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Processor time of the threads of this process that have a name. Those that ended are missing.
pub(crate) fn cpu_of_threads(name: &str) -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let cpu = |path: std::path::PathBuf| {
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
        let named = fs::read_to_string(path.join("comm")).ok()?;
        (named.trim() == name).then_some(Duration::from_nanos(nanoseconds))
    };
    tasks.filter_map(|entry| cpu(entry.ok()?.path())).sum()
}

/// Linux counts the processor time of ended processes in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of other processes, with that of their children that have ended.
pub(crate) fn cpu_of_processes(processes: &[u32]) -> Duration {
    processes.iter().map(|process| cpu_of_process(*process).unwrap_or_default()).sum()
}

fn cpu_of_process(process: u32) -> Option<Duration> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let cpu = |path: std::path::PathBuf| {
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
    };
    let running: Duration = tasks.filter_map(|entry| cpu(entry.ok()?.path())).sum();
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything, these two are the 14th and 15th.
    let (_, fields) = stat.rsplit_once(')')?;
    let ended = fields.split_whitespace().skip(13).take(2);
    let ended: u32 = ended.filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    Some(running + TICK * ended)
}

fn written_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Waits until this process has nothing left to do, so that the cost of loading includes
/// compaction.
pub(crate) fn settle() {
    let mut before = cpu_time();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = cpu_time();
        if now.saturating_sub(before) < Duration::from_millis(3) {
            return;
        }
        before = now;
    }
}

/// Bytes of all files below a directory, as the disk counts them (preallocated zeroes cost
/// nothing).
pub(crate) fn disk_bytes(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .filter_map(|entry| entry.ok()?.path().canonicalize().ok())
        .map(|path| match path.metadata() {
            Ok(found) if found.is_dir() => disk_bytes(&path),
            Ok(found) => found.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// The median of a few figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// One workload on both sides: ours, and a peer doing the same.
pub(crate) struct Line {
    name: &'static str,
    things: usize,
    pub(crate) ours: Vec<Cost>,
    pub(crate) raw: Vec<Cost>,
}

impl Line {
    /// A workload of so many things, not measured yet.
    pub(crate) fn new(name: &'static str, things: usize) -> Self {
        Self { name, things, ours: Vec::new(), raw: Vec::new() }
    }

    /// The head of the table.
    pub(crate) fn head(peer: &str) {
        println!(
            "| {:<28} | {:>10} | {:>10} | {:>8} | {:>8} | {:>5} |",
            "workload",
            "ours /s",
            format!("{peer} /s"),
            "ours µs",
            format!("{peer} µs"),
            "ratio"
        );
        println!("|{:-<30}|{:-<12}|{:-<12}|{:-<10}|{:-<10}|{:-<7}|", "", "", "", "", "", "");
    }

    /// One row of the table: rates, processor time of each thing, and the ratio of the latter.
    pub(crate) fn print(&self) {
        let cpu = |costs: &[Cost]| median(costs.iter().map(|c| c.cpu_each(self.things)).collect());
        let rate = |costs: &[Cost]| median(costs.iter().map(|c| c.rate(self.things)).collect());
        let (ours, raw) = (cpu(&self.ours), cpu(&self.raw));
        println!(
            "| {:<28} | {:>10.0} | {:>10.0} | {:>8.3} | {:>8.3} | {:>5.2} |",
            self.name,
            rate(&self.ours),
            rate(&self.raw),
            ours,
            raw,
            ours / raw
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_of_a_process_includes_its_ended_children() {
        let own = [std::process::id()];
        let before = cpu_of_processes(&own);
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let ended = std::process::Command::new("sh").args(["-c", spin]).status();
        assert!(ended.expect("a shell").success());
        assert!(cpu_of_processes(&own) > before + TICK);
    }
}

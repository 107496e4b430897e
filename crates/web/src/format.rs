//! Numbers, sizes, spans and times as people read them; the same in terminal and page.

/// A count with its thousands apart: `12,345`.
pub fn count(number: u64) -> String {
    large(u128::from(number))
}

/// The same of a number that may be larger: a difficulty, an amount.
pub fn large(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An amount of 10^-18 parts in whole ones, with as many digits behind the point as it needs.
pub fn whole_of_18(parts: u128) -> String {
    const ONE: u128 = 1_000_000_000_000_000_000;
    let behind = format!("{:018}", parts % ONE);
    let behind = behind.trim_end_matches('0');
    let point = if behind.is_empty() { "" } else { "." };
    format!("{}{point}{behind}", large(parts / ONE))
}

/// An amount of satoshi in bitcoins, always with its eight digits: `1,234.56780000`.
pub fn bitcoin(satoshi: u64) -> String {
    const ONE: u64 = 100_000_000;
    format!("{}.{:08}", count(satoshi / ONE), satoshi % ONE)
}

/// A number in three digits and the word of its power of 1000: `12.3 M`.
pub fn short(number: f64) -> String {
    const POWERS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    let mut value = number;
    let mut power = 0;
    while value >= 999.5 && power + 1 < POWERS.len() {
        value /= 1000.0;
        power += 1;
    }
    let word = POWERS.get(power).copied().unwrap_or_default();
    match value {
        value if value >= 100.0 || value.fract().abs() < 1e-9 => format!("{value:.0}{word}"),
        value if value >= 10.0 => format!("{value:.1}{word}"),
        value => format!("{value:.2}{word}"),
    }
}

/// A size with a unit of 1024: `1.5 MiB`.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut value = size as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Seconds as the two largest units: `3 d 4 h`, `12 s`.
pub fn span(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (length, name) in units {
        if rest >= length {
            parts.push(format!("{} {name}", rest / length));
            rest %= length;
        }
    }
    if parts.is_empty() { "0 s".to_owned() } else { parts[..parts.len().min(2)].join(" ") }
}

/// A short time: `850 µs`, `12.5 ms`, `1.25 s`.
pub fn duration(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

/// A Unix second as `2026-11-15 20:52:41`, in UTC.
pub fn utc(unix: u64) -> String {
    let (year, month, day) = civil(unix / 86_400);
    let second = unix % 86_400;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of a day since 1970 (Howard Hinnant's algorithm, days of the epoch onwards).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Lines of columns, each as wide as its widest cell; numbers to the right.
pub fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(head.get(column).map_or(0, |cell| cell.chars().count()))
    };
    let numeric = |column: usize| {
        let digits = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit());
        !rows.is_empty() && rows.iter().all(|row| row.get(column).is_some_and(digits))
    };
    let line = |cells: &[String]| {
        let pad = |(column, cell): (usize, &String)| {
            let gap = " ".repeat(width(column) - cell.chars().count());
            if numeric(column) { format!("{gap}{cell}") } else { format!("{cell}{gap}") }
        };
        cells.iter().enumerate().map(pad).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let lines = std::iter::once(line(&head)).chain(rows.iter().map(|row| line(row)));
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes_are_short() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        let sizes = [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (300 << 20, "300 MiB")];
        for (size, text) in sizes {
            assert_eq!(bytes(size), text);
        }
        assert_eq!(bytes(u64::MAX), "16384 PiB");
    }

    #[test]
    fn amounts_have_the_digits_they_need() {
        for (parts, text) in [
            (0, "0"),
            (1, "0.000000000000000001"),
            (1_500_000_000_000_000_000, "1.5"),
            (1_234_000_000_000_000_000_000, "1,234"),
        ] {
            assert_eq!(whole_of_18(parts), text);
        }
        let amounts = [(0, "0.00000000"), (1, "0.00000001"), (123_450_000_000, "1,234.50000000")];
        for (satoshi, text) in amounts {
            assert_eq!(bitcoin(satoshi), text);
        }
        assert_eq!(large(u128::MAX), "340,282,366,920,938,463,463,374,607,431,768,211,455");
        for (number, text) in [(0.0, "0"), (1.5, "1.50"), (12.34, "12.3"), (999.7, "1.00 k")] {
            assert_eq!(short(number), text);
        }
        assert_eq!(short(2e9), "2 G");
        assert_eq!(short(1e24), "1000000 E");
    }

    #[test]
    fn spans_show_two_units() {
        for (seconds, text) in [(0, "0 s"), (61, "1 min 1 s"), (90_061, "1 d 1 h"), (3600, "1 h")] {
            assert_eq!(span(seconds), text);
        }
        assert_eq!(duration(0.000_85), "850 µs");
        assert_eq!(duration(0.0125), "12.5 ms");
        assert_eq!(duration(1.25), "1.25 s");
    }

    #[test]
    fn times_follow_the_calendar() {
        for (unix, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_794_775_961, "2026-11-15 20:52:41"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(utc(unix), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_owned(), "5".to_owned()], vec!["bcd".to_owned(), "12".to_owned()]];
        assert_eq!(columns(&["name", "rows"], &rows), "name  rows\na        5\nbcd     12\n");
    }
}

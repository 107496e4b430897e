//! Spans of time as people write them: `"500 ms"`, `"3 s"`, `"2 min"`.

use std::time::Duration;

/// The units, in lower case, with their milliseconds. None is assumed: readers would guess.
const UNITS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000)];

/// The span, or nothing when it is none.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*millis).map(Duration::from_millis)
}

/// The span in the largest unit that fits it whole: what [`parse`] reads back.
pub(crate) fn text(span: Duration) -> String {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let whole = |(_, unit): &&(&str, u64)| millis > 0 && millis.is_multiple_of(*unit);
    let (name, unit) = UNITS.iter().rev().find(whole).copied().unwrap_or(("ms", 1));
    format!("{} {name}", millis / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_alike() {
        for (written, millis) in [("500 ms", 500), ("3 s", 3_000), ("2 min", 120_000), ("0 ms", 0)]
        {
            assert_eq!(parse(written), Some(Duration::from_millis(millis)), "{written}");
            assert_eq!(text(Duration::from_millis(millis)), written);
        }
        assert_eq!(parse(" 1H "), Some(Duration::from_secs(3600)));
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for written in ["", "5", "s", "1.5 s", "-1 s", "3 days", "99999999999999999999 s"] {
            assert_eq!(parse(written), None, "{written}");
        }
    }
}

//! Numbers as Redis reads and writes them.

/// A whole number: digits, at most one minus, no zero in front, nothing around it.
pub(crate) fn whole(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let strict = match digits {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !strict {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A cursor of SCAN: what `strtoul` reads, without blanks before it.
pub(crate) fn cursor(text: &[u8]) -> Option<u64> {
    match text {
        // As in Redis: no digits at all are 0.
        [] => Some(0),
        [b'-', digits @ ..] => unsigned(digits).map(u64::wrapping_neg),
        [b'+', digits @ ..] | digits => unsigned(digits),
    }
}

fn unsigned(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// An end of a range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ScoreEnd {
    /// The score.
    pub(crate) score: f64,
    /// Members that have exactly it are not meant.
    pub(crate) exclusive: bool,
}

/// An end of a range of scores: a number that `(` may exclude, or an infinity.
pub(crate) fn score_end(text: &[u8]) -> Option<ScoreEnd> {
    let (exclusive, number) = match text {
        [b'(', number @ ..] => (true, number),
        number => (false, number),
    };
    float(number).filter(|score| !score.is_nan()).map(|score| ScoreEnd { score, exclusive })
}

/// What `strtod` reads, when nothing is left over: blanks may stand before it, it may be
/// hexadecimal, and no text at all is 0.
fn float(text: &[u8]) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if size.starts_with(['-', '+']) {
        return None;
    }
    match size.strip_prefix("0x").or_else(|| size.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|c| c.is_ascii_hexdigit()) => {
            // 53 bits are exact; beyond them the last ones are rounded.
            u128::from_str_radix(digits, 16).ok().map(|size| sign * size as f64)
        }
        Some(_) => None,
        None => size.parse::<f64>().ok().map(|size| sign * size),
    }
}

/// A score as Redis writes it with 17 digits.
pub(crate) fn score_text(score: f64) -> String {
    if score.is_infinite() {
        return if score > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    if score.fract() == 0.0 && score.abs() < 1e17 {
        return format!("{score:.0}");
    }
    format!("{score}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_strict() {
        let good = [("0", 0), ("7", 7), ("-1", -1), ("9223372036854775807", i64::MAX)];
        for (text, number) in good {
            assert_eq!(whole(text.as_bytes()), Some(number));
        }
        for bad in ["", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "0x1", "9223372036854775808"] {
            assert_eq!(whole(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn scores_are_read_as_strtod_reads_them() {
        let end = |text: &str| score_end(text.as_bytes()).map(|end| (end.score, end.exclusive));
        assert_eq!(end("(1.5"), Some((1.5, true)));
        assert_eq!(end("-inf"), Some((f64::NEG_INFINITY, false)));
        assert_eq!(end("(+Infinity"), Some((f64::INFINITY, true)));
        assert_eq!(end("0x10"), Some((16.0, false)));
        assert_eq!(end(" 2e1"), Some((20.0, false)));
        assert_eq!((end(""), end("(")), (Some((0.0, false)), Some((0.0, true))));
        for bad in ["nan", "1x", "((1", "one", "--1", "1 "] {
            assert_eq!(end(bad), None, "{bad}");
        }
    }

    #[test]
    fn scores_are_written_as_redis_writes_them() {
        let cases = [(0.0, "0"), (-3.0, "-3"), (1.5, "1.5"), (1e9, "1000000000")];
        for (score, text) in cases {
            assert_eq!(score_text(score), text);
        }
        assert_eq!(score_text(f64::NEG_INFINITY), "-inf");
    }
}

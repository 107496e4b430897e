//! Shares, bytes and strings as people read them.

pub(crate) use crate::numbers::count;

/// Heat has six levels, from nothing to six times the fair share and more.
pub(crate) const LEVELS: [&str; 6] =
    ["none", "below ½", "about fair", "2 times", "4 times", "6 times or more"];

/// The level of a load that would be `fair` if all nodes carried the same.
///
/// The scale is fixed, not fitted to the data, so that two heat strips can be compared.
pub(crate) fn level(load: u64, fair: f64) -> usize {
    if load == 0 || fair <= 0.0 {
        return 0;
    }
    match load as f64 / fair {
        ratio if ratio < 0.5 => 1,
        ratio if ratio < 1.5 => 2,
        ratio if ratio < 3.0 => 3,
        ratio if ratio < 6.0 => 4,
        _ => 5,
    }
}

/// Bytes in the decimal units that Cassandra's rule is written in.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.iter().find(|(size, _)| number >= *size);
    match unit {
        Some((size, name)) => format!("{:.1} {name}", number as f64 / *size as f64),
        None => format!("{number} B"),
    }
}

/// A share as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A figure with two decimals, without the sign that rounding can leave before a zero.
pub(crate) fn decimal(number: f64) -> String {
    let rounded = (number * 100.0).round() / 100.0;
    format!("{:.2}", rounded + 0.0)
}

/// A number, marked when it is only an estimate.
pub(crate) fn estimate(number: u64, exact: bool) -> String {
    format!("{}{}", if exact { "" } else { "about " }, count(number))
}

/// A number between two bounds, which are usually the same.
pub(crate) fn bounds(least: &str, most: &str) -> String {
    if least == most { least.to_owned() } else { format!("{least} to {most}") }
}

/// Safe inside HTML text and quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// Safe on a terminal: control characters could move its cursor or rewrite what stands above.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        for (number, expected) in
            [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (100_000_000, "100.0 MB")]
        {
            assert_eq!(bytes(number), expected);
        }
    }

    #[test]
    fn a_rounded_zero_has_no_sign() {
        for (number, expected) in [(-0.001, "0.00"), (0.7329, "0.73"), (-0.5, "-0.50")] {
            assert_eq!(decimal(number), expected);
        }
    }

    #[test]
    fn markup_and_control_characters_do_not_survive() {
        assert_eq!(
            escape("<a href=\"x\">'&\u{1b}"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\u{fffd}"
        );
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn levels_are_multiples_of_the_fair_share() {
        for (load, expected) in [(0, 0), (4, 1), (10, 2), (20, 3), (40, 4), (60, 5), (160, 5)] {
            assert_eq!(level(load, 10.0), expected, "{load}");
        }
        assert_eq!(level(5, 0.0), 0);
    }
}

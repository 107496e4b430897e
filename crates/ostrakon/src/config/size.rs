//! Sizes as people write them: `"256 MiB"`, `"1 GB"`, `1048576`.

/// The units, in lower case, with what they multiply.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// The size in bytes, or nothing when it is no size.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.replace('_', "").parse().ok()?;
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_have_units_of_1000_and_1024() {
        for (text, size) in [
            ("0", 0),
            ("1_000", 1000),
            ("256 MiB", 256 << 20),
            ("2gib", 2 << 30),
            (" 5 kB ", 5000),
            ("7 B", 7),
        ] {
            assert_eq!(parse(text), Some(size), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "MiB", "1.5 GiB", "-1", "5 apples", "20000000 TiB", "99999999999999999999"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

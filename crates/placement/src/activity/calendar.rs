//! Months and their days.

use crate::YearMonth;

/// All months of the years `first` to `last`, in order.
pub(crate) fn months(first: u16, last: u16) -> impl Iterator<Item = YearMonth> {
    (first..=last).flat_map(|year| (1..=12).filter_map(move |month| YearMonth::new(year, month)))
}

/// How many days a month has in the Gregorian calendar.
pub(crate) fn days(month: YearMonth) -> u32 {
    let year = month.year();
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month.month() {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_knows_leap_years() {
        for (year, month, expected) in [
            (2015, 2, 28),
            (2016, 2, 29),
            (2100, 2, 28),
            (2000, 2, 29),
            (2016, 4, 30),
            (2016, 5, 31),
        ] {
            assert_eq!(days(YearMonth::new(year, month).expect("a month")), expected);
        }
    }

    #[test]
    fn the_papers_span_has_252_months_and_7670_days() {
        assert_eq!(months(2015, 2035).count(), 252);
        assert_eq!(months(2015, 2035).map(days).sum::<u32>(), 7670);
    }
}

//! A line chart as inline SVG: one curve over time or heights, its scale from zero, no script.

use maud::{Markup, html};

/// A place, which is a moment or a height, and its value.
type Point = (u64, f64);

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 140.0;
/// Room for the scale's words on the left, and below.
const LEFT: f64 = 58.0;
const BOTTOM: f64 = 20.0;
const TOP: f64 = 8.0;
const RIGHT: f64 = 6.0;
/// Points drawn; an hour of samples is thinned to what the eye can tell apart.
const POINTS: usize = 240;

/// What the places of a curve are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// Unix seconds.
    Time,
    /// Heights of a chain.
    Heights,
}

/// A chart of one curve.
#[derive(Debug)]
pub struct Chart<'a> {
    /// What is measured.
    pub title: &'a str,
    /// The curve, in order.
    pub points: &'a [Point],
    /// What its places are.
    pub across: Across,
    /// The places at both ends.
    pub span: (u64, u64),
    /// Seconds or heights without a point after which the curve is broken: nobody measured.
    pub gap: u64,
    /// Stands there instead of an empty chart.
    pub none: &'a str,
}

impl Chart<'_> {
    /// The chart; `words` names a value on the scale.
    pub fn line(&self, words: fn(f64) -> String) -> Markup {
        let Some((_, latest)) = self.points.last() else {
            return html! { figure { figcaption { h3 { (self.title) } } p.note { (self.none) } } };
        };
        let highest = self.points.iter().map(|point| point.1).fold(0.0, f64::max);
        let title = self.title;
        let described = format!("{title}: {} at last, {} at most", words(*latest), words(highest));
        html! {
            figure {
                figcaption { h3 { (title) } span.now { (words(*latest)) } }
                svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
                    aria-label=(described)
                {
                    (self.drawing(&Scale::new(self.span, highest), words))
                }
            }
        }
    }

    fn drawing(&self, scale: &Scale, words: fn(f64) -> String) -> Markup {
        let (from, to) = self.span;
        let points = thin(self.points);
        html! {
            @for step in 0..=2u8 {
                @let value = scale.top * f64::from(step) / 2.0;
                @let y = scale.place((from, value)).1;
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(short(y)) y2=(short(y)) {}
                text x=(LEFT - 8.0) y=(short(y + 4.0)) text-anchor="end" { (words(value)) }
            }
            text x=(LEFT) y=(HEIGHT - 4.0) { (self.end(from)) }
            text x=(WIDTH - RIGHT) y=(HEIGHT - 4.0) text-anchor="end" { (self.end(to)) }
            @for piece in points.chunk_by(|a, b| b.0.saturating_sub(a.0) <= self.pause()) {
                @let placed: Vec<(f64, f64)> = piece.iter().map(|p| scale.place(*p)).collect();
                path.area d=(area(&placed)) {}
                path.curve d=(curve(&placed)) {}
            }
            @if let Some((x, y)) = points.last().map(|point| scale.place(*point)) {
                circle.dot cx=(short(x)) cy=(short(y)) r="3" {}
            }
        }
    }

    /// The gap, as wide as thinning makes it.
    fn pause(&self) -> u64 {
        self.gap.saturating_mul(step(self.points) as u64)
    }

    /// A place of the scale; a moment with its day when the hour alone would not tell it.
    fn end(&self, place: u64) -> String {
        if self.across == Across::Heights {
            return crate::format::count(place);
        }
        let utc = crate::format::utc(place);
        let (skipped, shown) = match self.span.1.saturating_sub(self.span.0) {
            0..86_400 => (11, 5),
            _ => (0, 16),
        };
        utc.chars().skip(skipped).take(shown).collect::<String>() + " UTC"
    }
}

/// The power of 1000 that leaves at most three digits before the point, and its word. Scales end at
/// round numbers of their unit, so the unit goes into the title.
#[must_use]
pub fn power(points: &[Point]) -> (f64, &'static str) {
    const POWERS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let highest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut unit = 1.0;
    for word in POWERS {
        if highest / unit < 1000.0 {
            return (unit, word);
        }
        unit *= 1000.0;
    }
    (unit / 1000.0, "E")
}

struct Scale {
    from: u64,
    to: u64,
    top: f64,
}

impl Scale {
    fn new((from, to): (u64, u64), highest: f64) -> Self {
        Self { from, to, top: round_up(highest) }
    }

    fn place(&self, (at, value): Point) -> (f64, f64) {
        let span = self.to.saturating_sub(self.from).max(1) as f64;
        let right = at.clamp(self.from, self.to.max(self.from)) - self.from;
        let x = LEFT + (WIDTH - LEFT - RIGHT) * right as f64 / span;
        let y = TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / self.top);
        (x, y)
    }
}

/// A round number at or above the value, so that the scale has short words. Sizes are round in
/// powers of two and times in tens; halves and quarters of 1024 read well in both.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    if value >= 1024.0 {
        let unit = 1024f64.powf(value.log(1024.0).floor());
        return unit * round_in_tens(value / unit);
    }
    round_in_tens(value)
}

fn round_in_tens(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * unit >= value * 0.999_999);
    step.unwrap_or(10.0) * unit
}

fn step(points: &[Point]) -> usize {
    points.len().div_ceil(POINTS).max(1)
}

fn thin(points: &[Point]) -> Vec<Point> {
    // From the end, so that the latest point is always there.
    let mut kept: Vec<Point> = points.iter().rev().step_by(step(points)).copied().collect();
    kept.reverse();
    kept
}

fn curve(points: &[(f64, f64)]) -> String {
    let part = |(index, (x, y)): (usize, &(f64, f64))| {
        format!("{}{} {}", if index == 0 { "M" } else { "L" }, short(*x), short(*y))
    };
    points.iter().enumerate().map(part).collect()
}

fn area(points: &[(f64, f64)]) -> String {
    let base = short(HEIGHT - BOTTOM);
    match (points.first(), points.last()) {
        (Some((first, _)), Some((last, _))) => {
            format!("{}L{} {base}L{} {base}Z", curve(points), short(*last), short(*first))
        }
        _ => String::new(),
    }
}

fn short(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (value, top) in [
            (0.0, 1.0),
            (0.003, 0.004),
            (0.01, 0.01),
            (7.0, 8.0),
            (1500.0, 2048.0),
            (35.0 * 1024.0, 40.0 * 1024.0),
        ] {
            assert!((round_up(value) - top).abs() < top * 1e-9, "{value} gave {}", round_up(value));
        }
        assert!(round_up(f64::NAN) == 1.0 && round_up(f64::INFINITY) == 1.0);
    }

    fn draw(points: &[Point], span: (u64, u64)) -> String {
        let (across, gap) = (Across::Time, 2);
        let chart = Chart { title: "x", points, across, span, gap, none: "none yet" };
        chart.line(|value| value.to_string()).into_string()
    }

    #[test]
    fn the_curve_stays_inside_the_drawing_and_ends_at_the_latest_point() {
        let points: Vec<Point> = (0..1000).map(|at| (at, (at % 7) as f64)).collect();
        let chart = draw(&points, (0, 999));
        assert!(chart.contains("cx=\"454.0\""), "{chart}");
        assert!(!chart.contains("NaN") && !chart.contains("L-"), "{chart}");
        assert_eq!(chart.matches("class=\"curve\"").count(), 1);
        assert!(thin(&points).len() <= POINTS);
    }

    #[test]
    fn the_curve_is_broken_where_nobody_measured() {
        let chart = draw(&[(1, 1.0), (2, 1.0), (8, 1.0), (9, 1.0)], (0, 10));
        assert_eq!(chart.matches("class=\"curve\"").count(), 2, "{chart}");
    }

    #[test]
    fn heights_stand_at_the_ends_of_a_curve_over_heights() {
        let (points, span) = ([(1_200, 1.0), (864_000, 2.0)], (1_200, 864_000));
        let (across, gap) = (Across::Heights, u64::MAX);
        let chart = Chart { title: "x", points: &points, across, span, gap, none: "none yet" };
        let chart = chart.line(|value| value.to_string()).into_string();
        assert!(chart.contains(">1,200<") && chart.contains(">864,000<"), "{chart}");
        assert!(!chart.contains("UTC") && chart.matches("class=\"curve\"").count() == 1);
    }

    #[test]
    fn a_unit_leaves_three_digits() {
        for (highest, unit) in [(0.0, ""), (999.0, ""), (1000.0, "k"), (2.5e7, "M"), (1e30, "E")] {
            assert_eq!(power(&[(0, highest)]).1, unit, "{highest}");
        }
    }

    #[test]
    fn one_point_is_drawn_and_none_is_said() {
        assert!(draw(&[(5, 3.0)], (0, 10)).contains("<circle"));
        let none = draw(&[], (0, 10));
        assert!(none.contains("none yet") && !none.contains("<svg"), "{none}");
    }
}

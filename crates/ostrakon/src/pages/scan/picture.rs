//! The picture of a stretch of the tree-graph, as inline SVG.
//!
//! ```text
//!        ○   ○          other blocks of an epoch, above and below
//!       ╱  ╲╱ ╲
//!   ●━━━●━━━●━━━●       the pivot chain: one block for each epoch, left to right
//!            ╲  ╱
//!             ◌         a block that a switch popped, and that nothing has merged since
//! ```

use std::collections::{HashMap, HashSet};

use maud::{Markup, html};
use scan::Hash;
use web::format;

/// Pixels between epochs, and between blocks of one.
const STEP: f64 = 40.0;
const ROW: f64 = 34.0;
/// Pixels between blocks of one branch in one epoch.
const DEEP: f64 = 26.0;
/// Room at the sides, above the highest block, and for the numbers below.
const SIDE: f64 = 28.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 44.0;
/// Other blocks stand a little before the pivot that is executed after them.
const BEFORE: f64 = 12.0;
/// Pixels of a digit.
const DIGIT: f64 = 7.0;

/// What a block is in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The pivot of its epoch.
    Pivot,
    /// Another block of it.
    Other,
    /// One that its epoch skips.
    Skipped,
    /// In no epoch any more.
    Ghost,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::Pivot => "pivot",
            Self::Other => "other",
            Self::Skipped => "skipped",
            Self::Ghost => "ghost",
        }
    }

    fn radius(self) -> f64 {
        if self == Self::Pivot { 8.0 } else { 6.5 }
    }
}

/// A block of the picture.
#[derive(Clone, Debug)]
pub(super) struct Dot {
    pub(super) hash: Hash,
    pub(super) kind: Kind,
    /// Where it leads.
    pub(super) path: String,
    /// What is said about it.
    pub(super) title: String,
    pub(super) parent: Option<Hash>,
    pub(super) referees: Vec<Hash>,
}

/// An epoch of the picture.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) epoch: u64,
    pub(super) dots: Vec<Dot>,
    /// Blocks that are not drawn.
    pub(super) more: usize,
}

/// Where everything stands.
struct Layout {
    places: HashMap<Hash, (f64, f64)>,
    /// The middle of each epoch's pivot.
    columns: Vec<f64>,
    width: f64,
    height: f64,
}

/// A block that is not a pivot: its row, negative above the pivots, and its place in its epoch.
#[derive(Clone, Copy)]
struct Seat {
    row: i32,
    deep: u32,
}

impl Layout {
    fn new(columns: &[Column]) -> Self {
        let mut places = HashMap::new();
        let mut seats: HashMap<Hash, Seat> = HashMap::new();
        let mut middles = Vec::with_capacity(columns.len());
        let (mut end, mut above, mut below) = (SIDE - STEP, 0, 0);
        for (index, column) in columns.iter().enumerate() {
            let seated = seat(column, index, &mut seats);
            let deepest = seated.iter().map(|(_, seat)| seat.deep).max().unwrap_or(0);
            let start = end + STEP;
            end = start + DEEP * f64::from(deepest);
            middles.push(end);
            for (hash, seat) in seated {
                above = above.min(seat.row);
                below = below.max(seat.row);
                let x = start - BEFORE + DEEP * f64::from(seat.deep);
                // A block that was popped from one epoch and is in another one stands there.
                places.entry(hash).or_insert((x, ROW * f64::from(seat.row)));
            }
            let pivots = column.dots.iter().filter(|dot| dot.kind == Kind::Pivot);
            places.extend(pivots.map(|dot| (dot.hash, (end, 0.0))));
        }
        let middle = TOP - ROW * f64::from(above);
        places.values_mut().for_each(|place| place.1 += middle);
        let height = middle + ROW * f64::from(below) + BOTTOM;
        Self { places, columns: middles, width: end.max(SIDE) + SIDE, height }
    }

    /// A curve from a block to one that it names; none when that is not in the picture.
    fn edge(&self, from: Hash, to: Hash) -> Option<String> {
        let ((x1, y1), (x2, y2)) = (self.places.get(&from)?, self.places.get(&to)?);
        let bend = (x1 - x2).abs() / 2.0;
        Some(format!(
            "M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}",
            x1 - bend,
            x2 + bend
        ))
    }
}

/// Seats for the blocks of an epoch that are not its pivot. A branch keeps its row, and goes to the
/// right; a new one begins in the next row that is free, above and below in turn.
fn seat(column: &Column, index: usize, seats: &mut HashMap<Hash, Seat>) -> Vec<(Hash, Seat)> {
    let mut seated: Vec<(Hash, Seat)> = Vec::new();
    for dot in column.dots.iter().filter(|dot| dot.kind != Kind::Pivot) {
        let parent = dot.parent.and_then(|parent| Some((parent, *seats.get(&parent)?)));
        let here = parent.is_some_and(|(hash, _)| seated.iter().any(|(it, _)| *it == hash));
        let deep = parent.filter(|_| here).map_or(0, |(_, seat)| seat.deep + 1);
        let is_free = |row: i32| seated.iter().all(|(_, it)| it.row != row || it.deep < deep);
        let kept = parent.map(|(_, seat)| seat.row).filter(|row| is_free(*row));
        // Starting at another side in every other epoch keeps the picture even.
        let side = if index.is_multiple_of(2) { -1 } else { 1 };
        let mut rows = (1..).flat_map(|far| [side * far, -side * far]);
        let free = || rows.find(|row| seated.iter().all(|(_, it)| it.row != *row));
        let row = kept.or_else(free).unwrap_or(side);
        let seat = Seat { row, deep };
        seats.insert(dot.hash, seat);
        seated.push((dot.hash, seat));
    }
    seated
}

/// The drawing. `name` says what it is, `more` what a number of blocks not drawn means.
pub(super) fn draw(columns: &[Column], name: &str, more: &str) -> Markup {
    let layout = Layout::new(columns);
    let (width, height) = (layout.width, layout.height);
    let dots = || columns.iter().flat_map(|column| &column.dots);
    let pivots: HashSet<Hash> =
        dots().filter(|dot| dot.kind == Kind::Pivot).map(|dot| dot.hash).collect();
    let digits = columns.last().map_or(1, |column| format::count(column.epoch).len());
    let every = ((digits as f64 + 1.0) * DIGIT / STEP).ceil().max(1.0) as usize;
    html! {
        svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role="group" aria-label=(name)
        {
            @for dot in dots() {
                @for referee in &dot.referees {
                    @if let Some(curve) = layout.edge(dot.hash, *referee) {
                        path.referee d=(curve) {}
                    }
                }
            }
            @for dot in dots() {
                @if let Some(parent) = dot.parent {
                    @let main = dot.kind == Kind::Pivot && pivots.contains(&parent);
                    @let class = if main { "parent main" } else { "parent" };
                    @if let Some(curve) = layout.edge(dot.hash, parent) {
                        path class=(class) d=(curve) {}
                    }
                }
            }
            @for dot in dots() {
                @if let Some((x, y)) = layout.places.get(&dot.hash) {
                    a class=(dot.kind.class()) href=(dot.path) aria-label=(dot.title) {
                        title { (dot.title) }
                        circle cx=(short(*x)) cy=(short(*y)) r=(dot.kind.radius()) {}
                    }
                }
            }
            @for (index, (column, x)) in columns.iter().zip(&layout.columns).enumerate() {
                @if (columns.len() - 1 - index).is_multiple_of(every) {
                    text x=(short(*x)) y=(short(height - 8.0)) text-anchor="middle" {
                        (format::count(column.epoch))
                    }
                }
                @if column.more > 0 {
                    text x=(short(*x)) y=(short(height - 24.0)) text-anchor="middle" {
                        title { (column.more) " " (more) } "+" (column.more)
                    }
                }
            }
        }
    }
}

fn short(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(number: u8, kind: Kind, parent: u8, referees: &[u8]) -> Dot {
        let hash = |number: u8| Hash([number; 32]);
        Dot {
            hash: hash(number),
            kind,
            path: format!("/{number}"),
            title: format!("<{number}>"),
            parent: Some(hash(parent)),
            referees: referees.iter().map(|it| hash(*it)).collect(),
        }
    }

    #[test]
    fn blocks_stand_in_columns_and_edges_lead_to_what_is_drawn() {
        let columns = [
            Column { epoch: 7, dots: vec![dot(1, Kind::Pivot, 0, &[])], more: 0 },
            Column {
                epoch: 8,
                dots: vec![
                    dot(2, Kind::Other, 1, &[]),
                    dot(3, Kind::Ghost, 1, &[]),
                    dot(4, Kind::Pivot, 1, &[2]),
                ],
                more: 3,
            },
        ];
        let layout = Layout::new(&columns);
        let place = |number: u8| layout.places[&Hash([number; 32])];
        assert_eq!(place(1).1, place(4).1, "the pivots stand in one row");
        assert!(place(2).1 > place(4).1 && place(3).1 < place(4).1);
        assert_eq!(place(4).0 - place(1).0, STEP);
        for (x, y) in layout.places.values() {
            assert!(*x > 0.0 && *x < layout.width && *y > 0.0 && *y < layout.height);
        }
        let drawn = draw(&columns, "graph", "more").into_string();
        assert_eq!(drawn.matches("<circle").count(), 4);
        // The parent of the first one is not drawn, nor is a line to it.
        assert_eq!(drawn.matches("class=\"parent").count(), 3);
        assert_eq!(drawn.matches("class=\"parent main\"").count(), 1);
        assert_eq!(drawn.matches("class=\"referee\"").count(), 1);
        assert!(drawn.contains("+3") && drawn.contains("&lt;4&gt;") && !drawn.contains("style="));
    }

    #[test]
    fn a_branch_keeps_its_row_and_goes_to_the_right() {
        let columns = [
            Column { epoch: 0, dots: vec![dot(1, Kind::Pivot, 0, &[])], more: 0 },
            Column {
                epoch: 1,
                dots: vec![
                    dot(2, Kind::Other, 1, &[]),
                    dot(3, Kind::Other, 1, &[]),
                    dot(4, Kind::Other, 2, &[]),
                    dot(5, Kind::Other, 2, &[]),
                    dot(6, Kind::Pivot, 1, &[4, 5]),
                ],
                more: 0,
            },
            Column {
                epoch: 2,
                dots: vec![dot(7, Kind::Other, 4, &[]), dot(8, Kind::Pivot, 6, &[7])],
                more: 0,
            },
        ];
        let layout = Layout::new(&columns);
        let place = |number: u8| layout.places[&Hash([number; 32])];
        let row = |number: u8| place(number).1;
        assert!(row(2) == row(4) && row(4) == row(7), "one branch, one row");
        assert!(place(2).0 < place(4).0 && place(4).0 < place(6).0 && place(6).0 < place(7).0);
        let mut rows = [row(2), row(3), row(5), row(6)].map(|row| row as i64);
        rows.sort_unstable();
        assert!(rows.is_sorted_by(|a, b| a < b), "no two branches share a row: {rows:?}");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(!draw(&[], "graph", "more").into_string().contains("<circle"));
    }
}

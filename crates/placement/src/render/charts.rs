//! Inline SVG: bars, a heat strip, a Lorenz curve. Colours come from the page's style, so both
//! schemes work.

use super::format::{LEVELS, count, escape, level, percent};
use crate::LorenzPoint;

/// What a screen reader says about a figure, and the name its parts are referred to by.
pub(crate) struct Caption<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
}

/// A drawing of some width and height, stretched to its column; `class` may limit that.
fn svg(caption: &Caption<'_>, class: &str, size: (usize, usize), inside: &str) -> String {
    let (id, title, description) =
        (escape(caption.id), escape(caption.title), escape(caption.description));
    let (width, height) = size;
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
         <desc id=\"{id}-d\">{description}</desc>{inside}</svg>\n"
    )
}

/// One bar per node, with a line at the mean.
pub(crate) fn bars(caption: &Caption<'_>, loads: &[u64]) -> String {
    const WIDTH: f64 = 360.0;
    const HEIGHT: f64 = 120.0;
    let most = loads.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mean = loads.iter().sum::<u64>() as f64 / loads.len().max(1) as f64;
    let step = WIDTH / loads.len().max(1) as f64;
    let mut inside = String::new();
    for (node, load) in loads.iter().enumerate() {
        let height = HEIGHT * *load as f64 / most;
        let class = if *load as f64 > 2.0 * mean { "bar over" } else { "bar" };
        inside.push_str(&format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"{height:.1}\"><title>node {node}: {} rows</title></rect>",
            node as f64 * step + step * 0.12,
            HEIGHT + 4.0 - height,
            step * 0.76,
            count(*load),
        ));
        if loads.len() <= 16 {
            inside.push_str(&format!(
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{node}</text>",
                (node as f64 + 0.5) * step,
                HEIGHT + 17.0,
            ));
        }
    }
    let at = HEIGHT + 4.0 - HEIGHT * mean / most;
    inside.push_str(&format!(
        "<line class=\"mean\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
    ));
    svg(caption, "wide", (360, 142), &inside)
}

/// Nodes from top to bottom, time from left to right, darker where a node takes more than its
/// share.
///
/// All cells of one level are one path: a page with many tables stays small.
pub(crate) fn heat(caption: &Caption<'_>, windows: &[impl AsRef<[u64]>]) -> String {
    const WIDTH: f64 = 360.0;
    const CELL: usize = 9;
    let nodes = windows.first().map_or(0, |window| window.as_ref().len());
    let step = WIDTH / windows.len().max(1) as f64;
    let mut paths = vec![String::new(); LEVELS.len()];
    for (column, window) in windows.iter().enumerate() {
        let window = window.as_ref();
        let fair = window.iter().sum::<u64>() as f64 / window.len().max(1) as f64;
        for (node, load) in window.iter().enumerate() {
            if let Some(path) = paths.get_mut(level(*load, fair)) {
                let (x, y) = (column as f64 * step, node * CELL);
                path.push_str(&format!("M{x:.1} {y}h{step:.1}v{}H{x:.1}z", CELL - 1));
            }
        }
    }
    let inside: String = (1..LEVELS.len())
        .filter_map(|level| paths.get(level).map(|path| (level, path)))
        .filter(|(_, path)| !path.is_empty())
        .map(|(level, path)| format!("<path class=\"h{level}\" d=\"{path}\"/>"))
        .collect();
    svg(caption, "wide", (360, nodes * CELL), &inside)
}

/// What the shades of a heat strip mean.
pub(crate) fn heat_legend() -> String {
    let swatch = |(level, name): (usize, &&str)| {
        format!(
            "<span><svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\">\
             <rect class=\"h{level}\" width=\"10\" height=\"10\"/></svg>{name}</span>"
        )
    };
    let swatches: String = LEVELS.iter().enumerate().skip(1).map(swatch).collect();
    format!("<p class=\"legend\"><span>Share of the fair load:</span>{swatches}</p>\n")
}

/// The curve under the diagonal: the closer to it, the more equal the partitions.
pub(crate) fn lorenz(caption: &Caption<'_>, points: &[LorenzPoint]) -> String {
    const SIDE: f64 = 180.0;
    let (left, top) = (36.0, 6.0);
    let place = |point: &LorenzPoint| {
        format!("{:.1},{:.1}", left + SIDE * point.partitions, top + SIDE * (1.0 - point.load))
    };
    let line: Vec<String> = points.iter().map(place).collect();
    let line = line.join(" ");
    let (right, bottom) = (left + SIDE, top + SIDE);
    let mut inside = format!(
        "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{SIDE}\" height=\"{SIDE}\"/>\
         <line class=\"mean\" x1=\"{left}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{top}\"/>"
    );
    if !points.is_empty() {
        inside.push_str(&format!(
            "<polygon class=\"area\" points=\"{line} {right},{bottom} {left},{bottom}\"/>\
             <polyline class=\"curve\" points=\"{line}\"/>"
        ));
    }
    for (share, x, y) in [
        (0.0, left, bottom + 14.0),
        (0.5, left + SIDE / 2.0, bottom + 14.0),
        (1.0, right, bottom + 14.0),
    ] {
        let label = format!("{:.0}%", 100.0 * share);
        inside.push_str(&format!(
            "<text class=\"tick\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>\
             <text class=\"tick\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{label}</text>",
            left - 5.0,
            bottom - SIDE * share + 4.0,
        ));
    }
    svg(caption, "square", (236, 206), &inside)
}

/// A horizontal bar for a share, with a mark at the ideal.
pub(crate) fn share_bar(caption: &Caption<'_>, share: f64, ideal: f64) -> String {
    let width = 360.0 * share.clamp(0.0, 1.0);
    let mark = 360.0 * ideal.clamp(0.0, 1.0);
    let class = if share > 4.0 * ideal { "bar over" } else { "bar" };
    let inside = format!(
        "<rect class=\"frame\" width=\"360\" height=\"14\"/>\
         <rect class=\"{class}\" width=\"{width:.1}\" height=\"14\"><title>{}</title></rect>\
         <line class=\"ideal\" x1=\"{mark:.1}\" x2=\"{mark:.1}\" y1=\"0\" y2=\"14\"/>",
        percent(share)
    );
    svg(caption, "wide", (360, 14), &inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTION: Caption<'_> = Caption { id: "x", title: "A <title>", description: "says & so" };

    #[test]
    fn every_figure_has_a_title_and_a_description() {
        let points = [LorenzPoint { partitions: 0.0, load: 0.0 }];
        for figure in [
            bars(&CAPTION, &[1, 2, 3]),
            heat(&CAPTION, &[vec![1, 2], vec![0, 0]]),
            lorenz(&CAPTION, &points),
            share_bar(&CAPTION, 0.5, 0.1),
        ] {
            assert!(figure.contains("<title id=\"x-t\">A &lt;title&gt;</title>"), "{figure}");
            assert!(figure.contains("<desc id=\"x-d\">says &amp; so</desc>"), "{figure}");
            assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
        }
    }

    #[test]
    fn figures_without_data_are_drawn_without_numbers_that_are_none() {
        for figure in [
            bars(&CAPTION, &[]),
            bars(&CAPTION, &[0, 0]),
            heat(&CAPTION, &Vec::<Vec<u64>>::new()),
            lorenz(&CAPTION, &[]),
        ] {
            assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
        }
    }

    #[test]
    fn a_bar_above_twice_the_mean_stands_out() {
        assert_eq!(bars(&CAPTION, &[10, 1, 1, 1]).matches("bar over").count(), 1);
    }
}

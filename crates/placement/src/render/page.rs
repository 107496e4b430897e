//! The HTML page: its frame and the overview.

use super::format::{count, escape, estimate, percent};
use super::{ShardReport, activity_page, table_page};
use crate::report::{Grade, Report};

const STYLE: &str = include_str!("style.css");

pub(crate) fn render(report: &ShardReport) -> String {
    let mut main = overview(&report.tables);
    for (index, table) in report.tables.iter().enumerate() {
        main.push_str(&table_page::section(index, table));
    }
    if let Some(activity) = &report.activity {
        main.push_str(&activity_page::section(activity));
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Shard report · Ostrakon</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Shard report</h1>\n<p class=\"lead\">Where the rows of each table live on a \
         cluster, how evenly, at what cost it grows, and what to do about it.</p>\n</header>\n\
         <main>\n{main}</main>\n<footer><p>Nodes are those of a Cassandra ring: Murmur3 tokens, 16 \
         allocated ranges per node, the first replica of each partition.</p></footer>\n\
         </body>\n</html>\n"
    )
}

/// A badge that says its grade in words: colour is never the only sign.
pub(crate) fn badge(grade: Grade) -> String {
    format!("<span class=\"grade {grade}\">{grade}</span>")
}

/// A table with a caption and headers. Cells must be escaped already.
pub(crate) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let head: String = head.iter().map(|cell| format!("<th scope=\"col\">{cell}</th>")).collect();
    let row = |cells: &Vec<String>| {
        let cell = |(index, cell): (usize, &String)| {
            if index == 0 {
                format!("<th scope=\"row\">{cell}</th>")
            } else {
                format!("<td>{cell}</td>")
            }
        };
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{caption}</caption>\
         <thead><tr>{head}</tr></thead><tbody>\n{}</tbody></table></div>\n",
        rows.iter().map(row).collect::<String>()
    )
}

fn overview(tables: &[Report]) -> String {
    if tables.is_empty() {
        return "<section><p>No tables were observed.</p></section>\n".to_owned();
    }
    let row = |(index, report): (usize, &Report)| {
        let balance = report.balance.iter().find(|balance| balance.nodes == 16);
        let dash = || "–".to_owned();
        vec![
            format!("<a href=\"#t{index}\">{}</a>", escape(&report.table)),
            badge(report.grade()),
            count(report.rows),
            estimate(report.partitions.count, report.partitions.exact),
            balance.map_or_else(dash, |balance| format!("{:.2}", balance.max_over_mean)),
            report.heat.as_ref().map_or_else(dash, |heat| percent(heat.hottest_share)),
        ]
    };
    let rows: Vec<Vec<String>> = tables.iter().enumerate().map(row).collect();
    let head = ["Table", "Verdict", "Rows", "Partitions", "Max/mean", "Hottest node"];
    format!(
        "<section>\n{}<p class=\"note\">Max/mean and the hottest node are for 16 nodes; the \
         hottest node is its mean share of the writes in a window of time, where an even share is \
         {}.</p>\n</section>\n",
        table("Tables", &head, &rows),
        percent(1.0 / 16.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::example;

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = render(example());
        for foreign in ["http:", "https:", "<script", "<link", "<img", "@import", "url(", "src="] {
            assert!(!page.contains(foreign), "{foreign} is in the page");
        }
        assert_eq!(page.matches("<style>").count(), 1);
        assert!(page.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn what_comes_from_outside_is_escaped() {
        let page = render(example());
        assert!(page.contains("&lt;script&gt;alert(&#39;\u{fffd}[31m&#39;)&lt;/script&gt;"));
        assert!(page.contains("&quot;&amp;&lt;&gt;&#39;"));
        assert!(page.contains("&lt;b&gt;"));
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn every_figure_and_table_is_labelled_and_every_element_is_closed() {
        let page = render(example());
        let figures = page.matches("role=\"img\"").count();
        assert!(figures > 0);
        assert_eq!(page.matches("<desc id=").count(), figures);
        assert_eq!(page.matches("<table>").count(), page.matches("<caption>").count());
        for element in ["svg", "table", "section", "figure", "ul", "dl", "div", "p", "tr", "span"] {
            let opened = page.matches(&format!("<{element}>")).count()
                + page.matches(&format!("<{element} ")).count();
            assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
        }
    }

    #[test]
    fn a_table_without_rows_draws_nothing() {
        let facts = crate::report::TableFacts { name: "a.b".into(), ..Default::default() };
        let tables = vec![crate::report::Observer::new(facts).finish()];
        let page = render(&ShardReport { tables, activity: None });
        assert!(page.contains("No rows yet."));
        assert!(!page.contains("<svg"), "there is nothing to draw");
    }

    #[test]
    fn every_id_is_given_once() {
        let page = render(example());
        let mut ids: Vec<&str> =
            page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}

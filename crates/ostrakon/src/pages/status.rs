//! The status page: the store, its tables, what it measured, when it started.

use maud::{Markup, html};
use store::{EngineInfo, Stat};

use web::{Across, Chart, Messages, format};

use crate::catalogue;
use crate::server::reports::Made;
use crate::system::derive::{self, sample_time};
use crate::system::tables::{SAMPLE_SECONDS, Sample, SampleNumber, Start, StartNumber};

/// Everything the page shows.
#[derive(Debug)]
pub(crate) struct Status<'a> {
    /// The words.
    pub(crate) words: &'a Messages,
    /// Unix second of the page.
    pub(crate) now: u64,
    /// Name and birth of the store.
    pub(crate) instance: Option<(String, u64)>,
    /// Engine, place and size.
    pub(crate) info: EngineInfo,
    /// The engine's measurements.
    pub(crate) stats: Vec<Stat>,
    /// The number of this start, and the row of it.
    pub(crate) start: (StartNumber, &'a Start),
    /// The latest starts, last one first.
    pub(crate) starts: Vec<(StartNumber, Start)>,
    /// Samples of the last hour.
    pub(crate) samples: Vec<(SampleNumber, u64, Sample)>,
    /// Rows and partitions, when they have been counted.
    pub(crate) counted: Option<&'a Made>,
}

impl Status<'_> {
    /// The content of the page.
    pub(crate) fn content(&self) -> Markup {
        html! {
            (self.head())
            (self.facts())
            (self.charts())
            (self.tables())
            (self.starts())
            (self.measurements())
        }
    }

    fn head(&self) -> Markup {
        let name = self.instance.as_ref().map_or("Ostrakon", |(name, _)| name);
        html! {
            div.top {
                h1 { (name) }
                span.badge.good { (self.words.serving) }
            }
            p.lead { (self.words.tagline) }
        }
    }

    fn facts(&self) -> Markup {
        let words = self.words;
        let rows = self.counted.map(|made| made.report.tables.iter().map(|t| t.rows).sum());
        let since = self.instance.as_ref().map(|(_, created)| format::utc(*created));
        let since = since.map(|text| text.chars().take(10).collect::<String>());
        let facts = [
            (words.uptime, format::span(self.now.saturating_sub(self.start.1.at))),
            (words.rows, rows.map_or_else(dash, format::count)),
            (words.on_disk, format::bytes(self.info.disk_bytes)),
            (words.engine, self.info.engine.to_owned()),
            (words.format, self.info.format.to_string()),
            (words.since, since.unwrap_or_else(dash)),
        ];
        html! {
            section {
                dl.facts {
                    @for (name, value) in facts {
                        div { dt { (name) } dd { (value) } }
                    }
                    div.wide { dt { (words.place) } dd { code { (self.info.location) } } }
                }
            }
        }
    }

    fn charts(&self) -> Markup {
        let words = self.words;
        // A young store fills its chart; an old one shows the whole hour.
        let first = self.samples.first().map_or(self.now, |(number, ..)| sample_time(*number));
        let first = first.min(self.now.saturating_sub(300)).max(self.now.saturating_sub(3600));
        let span = (first, self.now);
        let disk = derive::disk_over_time(&self.samples);
        let batches = derive::batch_time_over_time(&self.samples);
        let curve = |title, points| Chart {
            title,
            points,
            across: Across::Time,
            span,
            gap: 3 * SAMPLE_SECONDS,
            none: words.no_samples,
        };
        html! {
            section {
                h2 { (words.last_hour) }
                div.charts {
                    (curve(words.disk_chart, &disk).line(|value| format::bytes(value as u64)))
                    (curve(words.batch_chart, &batches).line(format::duration))
                }
            }
        }
    }

    fn tables(&self) -> Markup {
        let words = self.words;
        let head = [
            (words.table, ""),
            (words.placement, ""),
            (words.writes, ""),
            (words.rows, "number"),
            (words.partitions, "number"),
            (words.bytes, "number"),
            (words.verdict, ""),
        ];
        html! {
            section {
                h2 { (words.tables) }
                div.scroll role="region" tabindex="0" aria-label=(words.tables) {
                    table.cards {
                        thead { tr { @for (name, class) in head {
                            th scope="col" class=[Some(class).filter(|c| !c.is_empty())] { (name) }
                        } } }
                        tbody { @for table in catalogue::tables() { (self.table(&table)) } }
                    }
                }
                @match self.counted {
                    Some(made) => p.note {
                        (words.counted_at) " " (web::time(made.at)) ". "
                        a href="/shards" { (words.shards_note) }
                    },
                    None => p.note { (words.counting) },
                }
            }
        }
    }

    fn table(&self, table: &catalogue::Described) -> Markup {
        let def = table.def;
        let found = self
            .counted
            .and_then(|made| made.report.tables.iter().find(|report| report.table == def.name()));
        let words = self.words;
        // On a phone a row becomes a card, and each cell says what it is.
        let number = |name: &str, value: Option<String>| {
            html! { td.number data-name=(name) { (value.unwrap_or_else(dash)) } }
        };
        html! {
            tr {
                th scope="row" { (def.name()) small { (def.about()) } }
                td.word data-name=(words.placement) { code { (def.placement()) } }
                td.word data-name=(words.writes) { (catalogue::writes(def)) }
                (number(words.rows, found.map(|report| format::count(report.rows))))
                (number(words.partitions, found.map(|r| format::count(r.partitions.count))))
                (number(words.bytes, found.map(|report| format::bytes(report.bytes))))
                td data-name=(words.verdict) {
                    @if let Some(report) = found {
                        @let grade = report.grade().to_string();
                        span class={ "badge " (grade) } { (grade) }
                    } @else { (dash()) }
                }
            }
        }
    }

    fn starts(&self) -> Markup {
        let words = self.words;
        html! {
            section {
                h2 { (words.starts) }
                div.scroll role="region" tabindex="0" aria-label=(words.starts) {
                    table.plain {
                        thead { tr {
                            @for name in [words.number, words.time, words.version] {
                                th scope="col" { (name) }
                            }
                            th.rare scope="col" { (words.process) }
                        } }
                        tbody { @for (number, start) in &self.starts {
                            tr {
                                th.word scope="row" {
                                    (format::count(number.0))
                                    @if *number == self.start.0 { small { (words.this_start) } }
                                }
                                td.word { (web::time(start.at)) }
                                td.word { (start.version) }
                                td.word.rare { (start.process) }
                            }
                        } }
                    }
                }
            }
        }
    }

    fn measurements(&self) -> Markup {
        let words = self.words;
        html! {
            section {
                h2 { (words.measurements) }
                dl.pairs { @for stat in &self.stats {
                    div {
                        dt { (stat.help.trim_end_matches('.')) }
                        dd { (value(stat)) }
                    }
                } }
                p.note { (words.measurements_note) " " a href="/metrics" { "/metrics" } "." }
            }
        }
    }
}

fn dash() -> String {
    "–".to_owned()
}

/// A measurement in the unit that its name says.
fn value(stat: &Stat) -> String {
    let whole = stat.value.max(0.0) as u64;
    match stat.name {
        name if name.contains("seconds") => format::duration(stat.value),
        name if name.ends_with("bytes") => format::bytes(whole),
        _ => format::count(whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use web::ENGLISH;

    fn page(samples: Vec<(SampleNumber, u64, Sample)>, location: &str) -> String {
        let start = Start { at: 1000, version: "1".into(), process: 7 };
        let info = EngineInfo {
            engine: "model",
            location: location.to_owned(),
            format: 1,
            disk_bytes: 2048,
        };
        let stat = |name, value| Stat { name, help: "Help.", counter: false, value };
        let status = Status {
            words: &ENGLISH,
            now: 1061,
            instance: Some(("solmar-7".into(), 1000)),
            info,
            stats: vec![stat("commit_seconds_max", 0.002), stat("disk_bytes", 2048.0)],
            start: (StartNumber(1), &start),
            starts: vec![(StartNumber(1), start.clone())],
            samples,
            counted: None,
        };
        status.content().into_string()
    }

    #[test]
    fn a_new_store_has_a_page_too() {
        let page = page(vec![], "memory");
        for text in [
            "solmar-7",
            "1 min 1 s",
            ENGLISH.no_samples,
            ENGLISH.counting,
            "system.samples",
            "2.0 ms",
            "2.0 KiB",
            "1<small>this one</small>",
        ] {
            assert!(page.contains(text), "{text} is not in {page}");
        }
    }

    #[test]
    fn samples_are_drawn_and_foreign_text_is_escaped() {
        let page = page(vec![(SampleNumber(201), 1, Sample::default())], "<script>");
        assert!(page.contains("<svg") && page.contains("&lt;script&gt;"));
        assert!(!page.contains("<script") && !page.contains("style="));
    }
}

//! The judgement: what is good, what to watch, what to change, and how.

use serde::{Deserialize, Serialize};

use super::{PARTITION_BYTES, PARTITION_ROWS, Report};
use crate::Strategy;
use crate::numbers::count;

/// Up to here a table is so small that it need not be spread.
const SMALL_ROWS: u64 = 10_000;
const SMALL_BYTES: u64 = 10_000_000;
/// The cluster a judgement is made for.
const NODES: u16 = 16;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Nothing to do.
    Good,
    /// Works today; look again when the table grows.
    Watch,
    /// Will hurt: change the placement.
    Bad,
}

impl std::fmt::Display for Grade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Good => "good",
            Self::Watch => "watch",
            Self::Bad => "change",
        })
    }
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Enough different partitions to spread.
    Cardinality,
    /// No value that outweighs a node.
    Frequency,
    /// A key that does not climb with time.
    Monotonicity,
    /// Even load over nodes.
    Balance,
    /// Even load over nodes at every time.
    OverTime,
    /// Queries that touch few partitions.
    Locality,
    /// Partitions within Cassandra's rule.
    PartitionSize,
    /// The cost of one more node.
    Growth,
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Cardinality => "cardinality",
            Self::Frequency => "frequency",
            Self::Monotonicity => "monotonicity",
            Self::Balance => "balance",
            Self::OverTime => "over time",
            Self::Locality => "locality",
            Self::PartitionSize => "partition size",
            Self::Growth => "growth",
        })
    }
}

/// A finding with its grade and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What it is about.
    pub subject: Subject,
    /// How serious it is.
    pub grade: Grade,
    /// What was found.
    pub finding: String,
    /// What to do, in a plain sentence.
    pub advice: String,
}

impl Report {
    /// The most serious grade of all verdicts.
    #[must_use]
    pub fn grade(&self) -> Grade {
        self.verdicts.iter().map(|verdict| verdict.grade).max().unwrap_or(Grade::Good)
    }

    fn is_small(&self) -> bool {
        self.rows <= SMALL_ROWS && self.bytes <= SMALL_BYTES
    }
}

pub(crate) fn judge(report: &Report) -> Vec<Verdict> {
    let spread = [
        Some(cardinality(report)),
        frequency(report),
        monotonicity(report),
        balance(report),
        over_time(report),
    ];
    let always = [Some(locality(report)), Some(partition_size(report)), growth(report)];
    if report.is_small() {
        return std::iter::once(Some(small(report))).chain(always).flatten().collect();
    }
    spread.into_iter().chain(always).flatten().collect()
}

fn verdict(subject: Subject, grade: Grade, finding: String, advice: &str) -> Verdict {
    Verdict { subject, grade, finding, advice: advice.to_owned() }
}

/// Below `watch` good, below `bad` to be watched.
fn graded(value: f64, watch: f64, bad: f64) -> Grade {
    match value {
        value if value < watch => Grade::Good,
        value if value < bad => Grade::Watch,
        _ => Grade::Bad,
    }
}

fn small(report: &Report) -> Verdict {
    let finding = format!("{} rows: too few to be worth spreading.", count(report.rows));
    let advice = "Nothing to do; judge it again when it passes 10,000 rows or 10 MB.";
    verdict(Subject::Cardinality, Grade::Good, finding, advice)
}

fn cardinality(report: &Report) -> Verdict {
    let partitions = report.partitions.count;
    let largest = report.balance.last().map_or(NODES, |balance| balance.nodes);
    let (grade, advice) = match partitions {
        few if few < u64::from(largest) => (
            Grade::Bad,
            "Put a part with more values into the partition key, or cut the list into buckets.",
        ),
        some if some < 20 * u64::from(largest) => {
            (Grade::Watch, "Enough for now; a finer partition key would spread more evenly.")
        }
        _ => (Grade::Good, "Nothing to do: there are partitions enough for any cluster size."),
    };
    let finding = format!("{} partitions for up to {largest} nodes.", count(partitions));
    verdict(Subject::Cardinality, grade, finding, advice)
}

fn frequency(report: &Report) -> Option<Verdict> {
    let top = report.top.first()?;
    let fair = 1.0 / f64::from(NODES);
    let grade = graded(top.share, fair / 4.0, fair);
    let finding = format!("The heaviest value holds {:.2}% of the rows.", 100.0 * top.share);
    let advice = match grade {
        Grade::Good => "Nothing to do: no single value can fill a node.",
        Grade::Watch => "Watch its growth; logical shards or buckets would divide it.",
        Grade::Bad => "Divide it with logical shards or buckets: it outweighs a node on its own.",
    };
    Some(verdict(Subject::Frequency, grade, finding, advice))
}

fn monotonicity(report: &Report) -> Option<Verdict> {
    let trend = report.trend.as_ref()?;
    let climbing = trend.windows.iter().filter(|w| w.monotonicity.is_monotonic()).count();
    let finding = format!(
        "Rank correlation with time {:.2}; {:.0}% of the steps go up; {climbing} of {} stretches \
         of time are monotonic.",
        // Adding zero takes the sign from a zero that was rounded.
        (100.0 * trend.whole.correlation).round() / 100.0 + 0.0,
        100.0 * trend.whole.steps_up,
        trend.windows.len()
    );
    let climbs = trend.whole.is_monotonic() || 2 * climbing > trend.windows.len();
    let (grade, advice) = if climbs {
        let advice = "Harmless as long as the engine hashes the partition key; never use this key \
                      on a store that shards by range.";
        (Grade::Watch, advice)
    } else {
        (Grade::Good, "Nothing to do: new rows do not follow each other in key order.")
    };
    Some(verdict(Subject::Monotonicity, grade, finding, advice))
}

fn balance(report: &Report) -> Option<Verdict> {
    let balance = report.balance.iter().find(|b| b.nodes == NODES).or(report.balance.last())?;
    let grade = graded(balance.max_over_mean, 1.3, 2.0);
    let empty = match balance.empty {
        0 => "none is empty".to_owned(),
        1 => "one is empty".to_owned(),
        empty => format!("{empty} are empty"),
    };
    let finding = format!(
        "On {} nodes the fullest holds {:.2} times the mean; {}.",
        balance.nodes, balance.max_over_mean, empty
    );
    let advice = match grade {
        Grade::Good => "Nothing to do: load is as even as the ring itself.",
        Grade::Watch => "Acceptable; smaller buckets or a finer key would even it out.",
        Grade::Bad => "Use a finer partition key: a few partitions decide the load of a node.",
    };
    Some(verdict(Subject::Balance, grade, finding, advice))
}

fn over_time(report: &Report) -> Option<Verdict> {
    let heat = report.heat.as_ref().filter(|heat| heat.windows.len() > 1)?;
    let grade = graded(heat.hottest_share * f64::from(heat.nodes), 2.5, 5.0);
    let finding = format!(
        "At any time the busiest of {} nodes takes {:.0}% of the writes; an even share is {:.0}%.",
        heat.nodes,
        100.0 * heat.hottest_share,
        100.0 / f64::from(heat.nodes)
    );
    let advice = match grade {
        Grade::Good => "Nothing to do: new rows reach all nodes.",
        Grade::Watch => "Let more partitions be open at a time: smaller buckets, or more lists.",
        Grade::Bad => {
            "New rows go to one place: put the user or another busy, varied part first in the \
             partition key and time into the sort key."
        }
    };
    Some(verdict(Subject::OverTime, grade, finding, advice))
}

fn locality(report: &Report) -> Verdict {
    let queries = &report.queries;
    if queries.declared.is_empty() {
        let advice = "Declare the queries beside the table, so that their reach can be judged.";
        let finding = "No queries are declared.".to_owned();
        return verdict(Subject::Locality, Grade::Watch, finding, advice);
    }
    let percent = |share: f64| 100.0 * share;
    let finding = format!(
        "{:.0}% of the declared queries touch one partition, {:.0}% a few, {:.0}% all.",
        percent(queries.one),
        percent(queries.few),
        percent(queries.all)
    );
    let (grade, advice) = match queries.all {
        all if all >= 0.5 => (
            Grade::Bad,
            "Add an index table keyed by what is asked: at least half of the queries scan all.",
        ),
        all if all > 0.0 => {
            (Grade::Watch, "Keep the scanning queries off the request path, or give them an index.")
        }
        _ => (Grade::Good, "Nothing to do: no query scans the cluster."),
    };
    verdict(Subject::Locality, grade, finding, advice)
}

fn partition_size(report: &Report) -> Verdict {
    let (rows, bytes) = (report.sizes.rows, report.sizes.bytes);
    let of_rule = |rows: u64, bytes: u64| {
        (rows as f64 / PARTITION_ROWS as f64).max(bytes as f64 / PARTITION_BYTES as f64)
    };
    let at_least = of_rule(rows.max, bytes.max);
    let at_most = of_rule(rows.max_at_most, bytes.max_at_most);
    let grade = if at_least > 1.0 {
        Grade::Bad
    } else if at_least > 0.5 || at_most > 1.0 {
        Grade::Watch
    } else {
        Grade::Good
    };
    let finding = format!(
        "The largest partition has {}{} rows and {:.1} MB: {:.0}% of Cassandra's rule of 100,000 \
         rows and 100 MB.",
        if at_most > at_least { "at least " } else { "" },
        count(rows.max),
        bytes.max as f64 / 1e6,
        100.0 * at_least
    );
    let advice = match grade {
        Grade::Good => "Nothing to do: partitions are small.",
        Grade::Watch => "Choose a smaller bucket before the largest partition doubles.",
        Grade::Bad => "Cut partitions into buckets, or make buckets smaller, and copy the table.",
    };
    verdict(Subject::PartitionSize, grade, finding, advice)
}

fn growth(report: &Report) -> Option<Verdict> {
    let of = |strategy| report.joins.iter().find(|join| join.strategy == strategy);
    let (ring, modulo) = (of(Strategy::CASSANDRA)?, of(Strategy::ModN)?);
    if report.joins_on_generated_keys {
        return None;
    }
    let finding = format!(
        "Going from {} to {} nodes moves {:.1}% of the partitions on a ring (mod N: {:.0}%, ideal \
         {:.1}%).",
        ring.from,
        ring.to,
        100.0 * ring.share_moved,
        100.0 * modulo.share_moved,
        100.0 * ring.ideal
    );
    let grade = graded(ring.share_moved / ring.ideal, 1.5, 3.0);
    let advice = match grade {
        Grade::Good => "Nothing to do on a ring or with fixed slots; never place by mod N.",
        Grade::Watch | Grade::Bad => {
            "Add nodes at a quiet hour: more than the new share will move."
        }
    };
    Some(verdict(Subject::Growth, grade, finding, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{DeclaredQuery, Observation, Observer, TableFacts, Touches};

    fn observed(touches: Option<Touches>, rows: impl Fn(&mut Observer)) -> Report {
        let query =
            |touches| DeclaredQuery { name: "the usual question".into(), touches, weight: 1 };
        let queries = touches.map(query).into_iter().collect();
        let facts = TableFacts { name: "t".into(), placement: "hashed".into(), queries };
        let mut observer = Observer::new(facts);
        rows(&mut observer);
        observer.finish()
    }

    fn check(report: &Report, subject: Subject, grade: Grade) {
        let verdict = report.verdicts.iter().find(|verdict| verdict.subject == subject);
        let verdict = verdict.expect("the subject is judged");
        assert_eq!(verdict.grade, grade, "{verdict:?}");
        assert!(verdict.finding.ends_with('.') && verdict.advice.ends_with('.'), "{verdict:?}");
    }

    #[test]
    fn a_hashed_table_is_good_in_every_respect() {
        let report = observed(Some(Touches::One), |observer| {
            for key in 0..20_000u64 {
                let hashed = crate::random::mix(key).to_be_bytes();
                observer.observe(Observation::row(&hashed, 100).at(key));
            }
        });
        assert_eq!(report.grade(), Grade::Good, "{:#?}", report.verdicts);
        assert_eq!(report.verdicts.len(), 8);
    }

    #[test]
    fn one_endless_partition_is_to_be_changed() {
        let report = observed(Some(Touches::All), |observer| {
            (0..150_000).for_each(|at| observer.observe(Observation::row(b"list", 1000).at(at)));
        });
        for subject in [
            Subject::Cardinality,
            Subject::Frequency,
            Subject::Balance,
            Subject::OverTime,
            Subject::Locality,
            Subject::PartitionSize,
        ] {
            check(&report, subject, Grade::Bad);
        }
        check(&report, Subject::Monotonicity, Grade::Good);
    }

    /// Even in the long run, hot at every moment: what a balance over the whole span cannot show.
    #[test]
    fn buckets_of_time_are_even_overall_and_hot_at_every_time() {
        let report = observed(Some(Touches::Few(3)), |observer| {
            for at in 0..200_000u64 {
                observer.observe(Observation::row(&(at / 200).to_be_bytes(), 100).at(at));
            }
        });
        check(&report, Subject::Monotonicity, Grade::Watch);
        check(&report, Subject::Locality, Grade::Good);
        let heat = report.heat.as_ref().expect("rows had positions");
        let balance = report.balance.iter().find(|b| b.nodes == 16).expect("16 nodes");
        assert!(heat.hottest_share * 16.0 > 1.5 * balance.max_over_mean, "{heat:?}");
    }

    #[test]
    fn a_small_table_need_not_be_spread() {
        let report =
            observed(Some(Touches::One), |observer| observer.observe(Observation::row(b"x", 10)));
        assert_eq!(report.grade(), Grade::Good, "{:#?}", report.verdicts);
    }

    #[test]
    fn undeclared_queries_are_asked_for() {
        check(&observed(None, |_| ()), Subject::Locality, Grade::Watch);
    }

    #[test]
    fn a_partition_at_half_of_the_rule_is_watched() {
        let report = observed(Some(Touches::One), |observer| {
            observer.observe(Observation {
                partition: b"p",
                rows: 60_000,
                bytes: 1,
                position: None,
                value: None,
            });
        });
        check(&report, Subject::PartitionSize, Grade::Watch);
    }
}

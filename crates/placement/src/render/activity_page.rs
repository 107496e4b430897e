//! The comparison of shard keys on the HTML page.

use super::charts::{self, Caption};
use super::format::{count, decimal, percent};
use super::page::table;
use crate::activity::{Comparison, KeyResult, ShardKey};

/// Months shown in a heat strip: a decade can still be told apart on a phone.
const MONTHS: usize = 120;

pub(crate) fn section(activity: &Comparison) -> String {
    let cards: String = activity.keys.iter().map(|result| card(activity, result)).collect();
    format!(
        "<section id=\"activity\" aria-labelledby=\"activity-name\">\n\
         <h2 id=\"activity-name\">Shard keys for monthly activity</h2>\n\
         <p class=\"note\">Three ways to shard one document per user and month (paper 001), under \
         the same generated writes.</p>\n{}<div class=\"grid\">\n{cards}</div>\n\
         {}<div class=\"grid wide\">\n{}{}</div>\n<p class=\"note\">{}</p>\n</section>\n",
        facts(activity),
        charts::heat_legend(),
        results(activity),
        decades(activity),
        model(activity),
    )
}

fn facts(activity: &Comparison) -> String {
    let facts = &activity.formula;
    let fact = |name: &str, value: String| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
    format!(
        "<dl class=\"facts\">{}{}{}{}</dl>\n",
        fact("Values of the formula", format!("{} in {} months", facts.distinct, facts.months)),
        fact("All multiples of", facts.common_divisor.to_string()),
        fact("Month steps that go up", percent(facts.steps_up)),
        fact("An even share of a day's writes", percent(activity.ideal)),
    )
}

fn card(activity: &Comparison, result: &KeyResult) -> String {
    let id = match result.key {
        ShardKey::Formula => "key-formula",
        ShardKey::Month => "key-month",
        ShardKey::HashedUser => "key-hashed",
    };
    let share = percent(result.hottest_share);
    let description = format!(
        "The busiest of {} shards takes {share} of a day's writes; an even share is {}.",
        activity.model.shards,
        percent(activity.ideal)
    );
    let bar_id = format!("{id}-share");
    let bar = Caption { id: &bar_id, title: "Hottest shard", description: &description };
    let (skipped, months) = shown_months(activity, result);
    let from = usize::from(activity.model.first_year) + skipped / 12;
    let over_time = format!(
        "{} shards from top to bottom, {} months from {from} left to right.",
        activity.model.shards,
        months.len()
    );
    let heat_id = format!("{id}-heat");
    let heat = Caption { id: &heat_id, title: "Writes over time", description: &over_time };
    format!(
        "<figure><h3><code>{}</code></h3><p class=\"big\">{share}</p>{}\
         <p class=\"note\">{description} A user's year is on {:.1} shards.</p>\
         {}<figcaption>{over_time}</figcaption></figure>\n",
        result.key,
        charts::share_bar(&bar, result.hottest_share, activity.ideal),
        result.shards_per_user_year,
        charts::heat(&heat, &months),
    )
}

/// The decade after the first five years, when there is one: the collection is past its beginnings.
fn shown_months(activity: &Comparison, result: &KeyResult) -> (usize, Vec<Vec<u64>>) {
    let skipped = usize::from((10 - activity.model.first_year % 10) % 10) * 12;
    let skipped = if skipped + MONTHS <= result.monthly_writes.len() { skipped } else { 0 };
    let months = result.monthly_writes.iter().skip(skipped).take(MONTHS);
    let wide = |month: &Vec<u32>| month.iter().copied().map(u64::from).collect();
    (skipped, months.map(wide).collect())
}

fn results(activity: &Comparison) -> String {
    let rows: Vec<Vec<String>> = activity
        .keys
        .iter()
        .map(|result| {
            let worst = result.years.iter().map(|year| year.hottest_share).fold(0.0, f64::max);
            vec![
                format!("<code>{}</code>", result.key),
                percent(result.hottest_share),
                percent(worst),
                format!("{:.1}", result.shards_per_user_year),
            ]
        })
        .collect();
    let head = ["Shard key", "Hottest shard", "Worst year", "Shards of a user's year"];
    table("Balance and locality", &head, &rows)
}

fn decades(activity: &Comparison) -> String {
    let facts = &activity.formula;
    let mut rows: Vec<Vec<String>> = facts
        .decades
        .iter()
        .map(|span| vec![format!("{}–{}", span.from, span.to), decimal(span.correlation)])
        .collect();
    let whole = format!("{}–{}", facts.first_year, facts.last_year);
    rows.push(vec![whole, decimal(facts.correlation)]);
    let caption = "The formula against time (0.7 is monotonic)";
    table(caption, &["Years", "Rank correlation"], &rows)
}

fn model(activity: &Comparison) -> String {
    let model = &activity.model;
    format!(
        "Simulated: {} users who each contribute on {} of the days, {} to {}; chunks of at most {} \
         documents, split at the median, balanced every night over {} shards by chunk count; seed \
         {}.",
        count(model.users.into()),
        percent(model.daily),
        model.first_year,
        model.last_year,
        count(model.chunk_documents.into()),
        model.shards,
        model.seed,
    )
}

#[cfg(test)]
mod tests {
    use crate::render::{html, tests::example};

    #[test]
    fn the_page_compares_the_three_keys() {
        let page = html(example());
        for part in [
            "{f(year, month), user}",
            "{month, user}",
            "{hash(user), year, month}",
            "80 in 252 months",
            "120 months from 2020",
            "2020–2029",
        ] {
            assert!(page.contains(part), "{part} is missing");
        }
    }
}

//! `[chains.NAME]`: chains that are there from the start and cannot be changed by API.

use platform::chains::Chain;
use serde::Deserialize as _;
use toml::{Spanned, Value};

use super::file::Check;
use super::problem::Problem;

/// Reads one chain; its name is that of its section.
pub(super) fn read(check: &Check<'_>, name: &str, item: &Spanned<Value>) -> Result<Chain, Problem> {
    let section = format!("[chains.{name}]");
    let Value::Table(mut table) = item.get_ref().clone() else {
        let remedy = format!("write {section} on a line of its own, and keys below it");
        return Err(check.problem(item, format!("{section} is a section, not a value"), remedy));
    };
    if table.insert("name".to_owned(), Value::String(name.to_owned())).is_some() {
        let remedy = "remove the line: the name stands in the section".to_owned();
        return Err(check.problem(item, format!("{section} has a `name`"), remedy));
    }
    let chain = Chain::deserialize(Value::Table(table)).map_err(|error| {
        let what = format!("{section}: {}", error.message());
        let remedy = "a chain has kind, network and nodes; a node has name, http or ws, weight \
                      and priority"
            .to_owned();
        check.problem(item, what, remedy)
    })?;
    chain.check().map_err(|error| {
        let what = format!("{section}: `{}` is {:?}", error.field, error.value);
        check.problem(item, what, error.remedy)
    })?;
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::file;

    const GOOD: &str = "[chains.conflux]\nkind = \"conflux\"\nnetwork = \"mainnet\"\n\n\
                        [[chains.conflux.nodes]]\nname = \"one\"\n\
                        http = \"http://10.0.0.1:12537\"\n";

    #[test]
    fn a_chain_with_its_nodes_is_read() {
        let settings = file::read(Path::new("o.toml"), GOOD).expect("correct");
        let [chain] = settings.chains.as_slice() else { panic!("one chain") };
        assert_eq!((chain.name.as_str(), chain.nodes.len()), ("conflux", 1));
        assert!(chain.enabled && chain.nodes[0].weight == 1, "defaults hold");
    }

    #[test]
    fn a_wrong_chain_is_named_with_its_line_and_a_remedy() {
        for (text, what) in [
            (GOOD.replace("http://", "ftp://"), "nodes[0].http"),
            (GOOD.replace("kind = \"conflux\"", "kind = \"x\""), "unknown variant `x`"),
            (GOOD.replace("network", "netwrok"), "unknown field `netwrok`"),
            (GOOD.replace("chains.conflux", "chains.Conflux"), "lower-case"),
            ("[chains.api]\nkind = \"evm\"\nnetwork = \"1\"\n".to_owned(), "chains.api"),
            ("[chains]\nbtc = 5\n".to_owned(), "is a section"),
        ] {
            let problem = file::read(Path::new("o.toml"), &text).expect_err(what).to_string();
            assert!(problem.starts_with("o.toml:") && problem.contains(what), "{problem}");
        }
    }
}

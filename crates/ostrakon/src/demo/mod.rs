//! What the demo shows: a chain that lives, staking events, an operator's account, a project.
//!
//! Every page of the demo has real rows behind it: they come in the way they come in everywhere, by
//! the registry, the accounts and the nodes, and none is made up for a page.

mod staking;

use anyhow::Context as _;
use devnet::{TreeGraphNode, TreeGraphOptions};
use platform::Platform;
use platform::chains::{Chain, ChainChangeError, ChainKind, ChainName, Node};
use platform::projects::{ListRequest, NewProject, Which};
use timeline::{Lane, Timeline};
use tokio::task::JoinSet;

use crate::server::Product;

/// The account that is made.
const NAME: &str = "demo";
/// The chain that lives in this process.
const CHAIN: &str = "devnet";

/// Epochs that its node has at the start.
const HISTORY: u64 = 600;

/// What lives as long as the demo.
pub(crate) struct Show {
    /// The account's name.
    pub(crate) name: &'static str,
    /// Its password, new at every start.
    pub(crate) password: String,
    _node: TreeGraphNode,
    _indexer: JoinSet<()>,
}

/// Makes the rows that the demo begins with. On a store that is kept it finds them again.
pub(crate) async fn prepare(product: &Product) -> anyhow::Result<Show> {
    let platform = &product.platform;
    let node =
        TreeGraphNode::start(TreeGraphOptions { history: HISTORY, past: 0, ..Default::default() })
            .await;
    let node = node.context("the demo's node does not start")?;
    let chain = put_chain(platform, &node).await?;
    let password = password()?;
    let op = index::new_op()?;
    let user = platform.accounts.make_operator(NAME, &password, op).await?;
    let own = ListRequest::latest(Which::User(user.clone()), 1);
    if platform.projects.list(&own).await?.projects.is_empty() {
        let new = NewProject { uid: user, chain, name: "first steps".into() };
        platform.projects.create(new, index::new_op()?).await?;
    }
    let mut indexer = JoinSet::new();
    let started = staking::Indexer::start(product.staking.clone()).await;
    indexer.spawn(started.run());
    Ok(Show { name: NAME, password, _node: node, _indexer: indexer })
}

/// The chain, at the address that its node has this time. The node forgets its chain when it ends,
/// so on a store that is kept each start is another chain, under a name of its own.
async fn put_chain(platform: &Platform, node: &TreeGraphNode) -> anyhow::Result<String> {
    let mut name = CHAIN.to_owned();
    for number in 2.. {
        let times = timeline::Settings::default();
        let known = Timeline::new(platform.store.clone(), name.clone(), times).view().await?;
        if known.head(Lane::MINED).is_none() {
            break;
        }
        name = format!("{CHAIN}-{number}");
    }
    let node = Node {
        name: "here".into(),
        http: Some(node.url()),
        ws: Some(node.ws_url()),
        http_port: None,
        ws_port: None,
        weight: 1,
        priority: 0,
    };
    let chain = Chain {
        name: ChainName::new(name.as_str())?,
        kind: ChainKind::Conflux,
        network: "demo".into(),
        nodes: vec![node],
        enabled: true,
    };
    match platform.chains.add(chain.clone(), None, index::new_op()?).await {
        Err(ChainChangeError::Exists { .. }) => {
            platform.chains.change(chain, None, index::new_op()?).await?;
        }
        added => {
            added?;
        }
    }
    Ok(name)
}

/// A password that can be typed: 80 random bits in letters that look like no other.
pub(crate) fn password() -> anyhow::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).copied().map(char::from);
    Ok(bytes.iter().filter_map(letter).collect())
}

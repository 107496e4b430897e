//! All tables of the platform.

use index::{LIST_ENTRIES, List, ListDef};
use placement::Placement;
use store::{Bounds, Query, Sequenced, Table, TableDef, Touches, limits};

use crate::accounts::{ACCOUNT_TOKENS, AccountRow, AccountSlot, Nobodies, UserId};
use crate::chains::{CHAIN_NODES, CHAINS_LIMIT, Chain, ChainName, Tip};
use crate::events::{ARCHIVE_AT, ARCHIVE_BUCKET, EVENTS_PER_APPEND, EventRow, StoredEvent};
use crate::lease::LeaseRow;
use crate::projects::{
    CHAIN_SHARDS, Pid, Position, ProjectLine, ProjectRecord, USER_PROJECTS_LIMIT,
};
use crate::secret::SecretHash;
use crate::webhooks::{WEBHOOKS_LIMIT, Webhook, WebhookId, WebhookState};

/// Bytes of one chain with all its nodes.
const CHAIN_BYTES: usize = 20 * 1024;
/// Bytes of one webhook: an address, a filter of 16 kinds, names and times.
const WEBHOOK_BYTES: usize = 4096;
/// Rows of an account: profile, throttle, sessions, tokens.
pub(crate) const ACCOUNT_ROWS: usize = 128;

const _: () = {
    // A reader must see all chains at one version, and a writer all of an account.
    assert!(CHAINS_LIMIT * CHAIN_BYTES <= limits::PAGE_BYTES, "all chains fit one page");
    assert!(WEBHOOKS_LIMIT * WEBHOOK_BYTES <= limits::PAGE_BYTES, "all webhooks fit one page");
    assert!(ACCOUNT_ROWS >= 2 + ACCOUNT_TOKENS + crate::accounts::ACCOUNT_SESSIONS);
};

/// The chain registry. A few hundred small rows that rarely change, read as a whole: one partition
/// is right, and its version is the registry's.
pub(crate) static CHAINS: Table<(), ChainName, Chain> = Table::guarded(
    "platform.chains",
    "A chain and its nodes, under its name.",
    Placement::Single,
    Bounds::rows(CHAINS_LIMIT as u64).values(CHAIN_BYTES).pages(CHAINS_LIMIT),
)
.answers(&[Query { name: "all chains", touches: Touches::One }]);

/// Tips. A partition is one chain: its nodes are read together, and the chains move apart.
pub(crate) static TIPS: Table<ChainName, String, Tip> = Table::guarded(
    "platform.tips",
    "What a node of a chain says its tip is, under the node's name.",
    Placement::Hashed,
    Bounds::rows(CHAIN_NODES as u64).values(4096).pages(CHAIN_NODES),
)
.answers(&[
    Query { name: "tips of a chain's nodes", touches: Touches::One },
    Query { name: "tips of all chains", touches: Touches::Few(CHAINS_LIMIT as u32) },
]);

/// Accounts. A partition is one account with everything that must change together with it.
pub(crate) static ACCOUNTS: Table<UserId, AccountSlot, AccountRow> = Table::guarded(
    "platform.accounts",
    "An account: its profile, its failed logins, its sessions and its personal tokens.",
    Placement::Hashed,
    Bounds::rows(ACCOUNT_ROWS as u64).values(1024).pages(ACCOUNT_ROWS),
)
.answers(&[
    Query { name: "an account by its name", touches: Touches::One },
    Query { name: "whether a session or token is valid", touches: Touches::One },
    Query { name: "tokens of an account", touches: Touches::One },
]);

/// Attempts at names nobody has. A fixed number of partitions: guessing names fills nothing.
pub(crate) static NOBODIES: Table<u16, (), Nobodies> = Table::guarded(
    "platform.nobodies",
    "Logins with names nobody has: the latest 64 names of one of 4096 partitions.",
    Placement::Hashed,
    Bounds::rows(1).values(8192).pages(1),
)
.answers(&[Query { name: "attempts at a name nobody has", touches: Touches::One }]);

/// Whose a session or token is. The hash of a random secret is given once, so the row is a function
/// of it; whether the credential is valid stands in [`ACCOUNTS`].
pub(crate) static CREDENTIALS: Table<SecretHash, (), UserId> = Table::once(
    "platform.credentials",
    "The owner of a session or personal token, under the hash of its secret.",
    Placement::Hashed,
    Bounds::rows(1).values(64).pages(1),
)
.answers(&[Query { name: "owner of a session or token", touches: Touches::One }]);

/// Projects. The version of a project's partition is the rank of everything that follows from it.
pub(crate) static PROJECTS: Table<Pid, (), ProjectRecord> = Table::guarded(
    "platform.projects",
    "A project: owner, chain, name, hash of its key, times, status.",
    Placement::Hashed,
    Bounds::rows(1).values(1024).pages(1),
)
.answers(&[Query { name: "a project by its id", touches: Touches::One }]);

/// Projects of a user, and of a user on a chain (an empty chain stands for all), by creation time
/// (0) and by the time of the last change (1).
pub(crate) static USER_PROJECTS: List<(UserId, String, u8), Pid, Position, ProjectLine> =
    List::new(
        "platform.user_projects",
        "A project of a user, or of a user on a chain, by creation or by last change.",
        2 * USER_PROJECTS_LIMIT,
        1024,
    )
    .answers(&[
        Query { name: "projects of a user, also of one chain", touches: Touches::One },
        Query { name: "number of a user's projects, also of one chain", touches: Touches::One },
        Query { name: "a user's projects of a period", touches: Touches::One },
    ]);

/// Projects of a chain in shards, by creation time (0) and by the time of the last change (1).
pub(crate) static CHAIN_PROJECTS: List<(ChainName, u8, u8), Pid, Position, ProjectLine> =
    List::new(
        "platform.chain_projects",
        "A project of a chain, by creation or by last change, in 16 shards.",
        LIST_ENTRIES,
        1024,
    )
    .answers(&[
        Query { name: "projects of a chain", touches: Touches::Few(CHAIN_SHARDS as u32) },
        Query {
            name: "a chain's projects of a period",
            touches: Touches::Few(CHAIN_SHARDS as u32),
        },
    ]);

/// The newest events and where the stream stands, in one partition: an append is one commit, so
/// there is no gap. Readers begin at an id and never meet the tombstones of those that moved.
pub(crate) static EVENTS: Table<(), u64, EventRow> = Table::guarded(
    "platform.events",
    "The head of the event stream under 0, and the newest events under their ids.",
    Placement::Single,
    Bounds::rows(1 + ARCHIVE_AT + 2 * EVENTS_PER_APPEND as u64).values(17 * 1024).pages(1000),
)
.answers(&[Query { name: "the newest events", touches: Touches::One }]);

/// Older events. An id is given to one event only, so the row is a function of it.
pub(crate) static EVENT_ARCHIVE: Table<Sequenced<()>, u64, StoredEvent> = Table::once(
    "platform.event_archive",
    "An event under its id, until its bucket is swept.",
    Placement::Bucketed { size: ARCHIVE_BUCKET },
    Bounds::rows(ARCHIVE_BUCKET).values(17 * 1024).pages(1000),
)
.answers(&[Query { name: "events behind an id", touches: Touches::Few(2) }]);

/// Webhooks. The process that delivers reads all of them again and again, and they rarely change.
pub(crate) static WEBHOOKS: Table<(), WebhookId, Webhook> = Table::guarded(
    "platform.webhooks",
    "A webhook: whose, where to, which events, and the secret that signs them.",
    Placement::Single,
    Bounds::rows(WEBHOOKS_LIMIT as u64).values(WEBHOOK_BYTES).pages(WEBHOOKS_LIMIT),
)
.answers(&[Query { name: "all webhooks", touches: Touches::One }]);

/// How far webhooks are. A partition each, because all of them move at the same time.
pub(crate) static WEBHOOK_STATES: Table<WebhookId, (), WebhookState> = Table::guarded(
    "platform.webhook_states",
    "How far a webhook is in the event stream, its failures and its pause.",
    Placement::Hashed,
    Bounds::rows(1).values(4096).pages(1),
)
.answers(&[Query { name: "position of a webhook", touches: Touches::One }]);

/// Leases. One row for each kind of work that one process does for all.
pub(crate) static LEASES: Table<String, (), LeaseRow> = Table::guarded(
    "platform.leases",
    "Which process does a piece of work, and the beat that shows it lives.",
    Placement::Hashed,
    Bounds::rows(1).values(256).pages(1),
)
.answers(&[Query { name: "holder of a lease", touches: Touches::One }]);

/// The tables of this crate, for the schema of whoever uses it. Those of `index` and `tally` go
/// along.
#[must_use]
pub fn tables() -> Vec<&'static TableDef> {
    let mut tables = vec![
        CHAINS.def(),
        TIPS.def(),
        ACCOUNTS.def(),
        NOBODIES.def(),
        CREDENTIALS.def(),
        PROJECTS.def(),
        EVENTS.def(),
    ];
    tables.extend([EVENT_ARCHIVE.def(), WEBHOOKS.def(), WEBHOOK_STATES.def(), LEASES.def()]);
    tables.extend(lists().map(ListDef::table));
    tables
}

/// The lists of this crate, for the calls that place entries in them.
#[must_use]
pub fn lists() -> [&'static ListDef; 2] {
    [USER_PROJECTS.def(), CHAIN_PROJECTS.def()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_listed_once_with_a_sentence_and_a_query() {
        let tables = tables();
        for table in &tables {
            assert!(table.name().starts_with("platform."), "{}", table.name());
            assert!(table.about().ends_with('.'), "{}", table.name());
            assert!(!table.queries().is_empty(), "{}", table.name());
            let same = tables.iter().filter(|other| other.name() == table.name()).count();
            assert_eq!(same, 1, "{}", table.name());
        }
        assert_eq!(tables.len(), 13);
    }
}

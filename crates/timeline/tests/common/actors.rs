//! Writers that compete, pause and die, readers that read slowly, a sweeper; and who goes next.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use store::{CommitError, Engine, Row, Store};
use timeline::{
    Attempt, Broken, Cut, Height, Lane, LeadError, NewUnit, PublishError, Settings, Sight, Sweeper,
    Timeline, UnitRow, Watch, Writer, WriterId,
};

use super::check::{Torn, check};
use super::tree::{CHAIN, Tree, executed_row, hash, id_of, mined_rows, rows_of};
use super::{ManualClock, Steps, poll, step};

const WRITERS: usize = 3;
const READERS: usize = 3;
/// Chains stay this short so that a reader can check all of them.
const HEIGHT: u64 = 24;
const SWEEP_DELAY: u64 = 400;
const PATIENCE: u64 = 60;
/// A writer dies in one of so many steps.
const CRASHES: u32 = 700;

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) checks: u64,
    pub(crate) expired: u64,
    pub(crate) publishes: u64,
    pub(crate) reorganisations: u64,
    pub(crate) crashes: u64,
    pub(crate) lost: u64,
    pub(crate) swept: u64,
    pub(crate) unknown: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.checks += other.checks;
        self.expired += other.expired;
        self.publishes += other.publishes;
        self.reorganisations += other.reorganisations;
        self.crashes += other.crashes;
        self.lost += other.lost;
        self.swept += other.swept;
        self.unknown += other.unknown;
    }
}

/// One run: its world and its dice.
pub(crate) struct World {
    /// Each actor takes one of them by chance.
    engines: Vec<Arc<dyn Engine>>,
    tree: RefCell<Tree>,
    rng: RefCell<Rng>,
    clock: Arc<ManualClock>,
    counts: Cell<Counts>,
    broken: Option<Broken>,
    /// Whether commits may stay of unknown outcome.
    unsure: bool,
    crashes: u32,
    /// What must have happened before a run ends.
    eventful: fn(&Counts) -> bool,
    /// Switches in the journal after the newest publish that was acknowledged.
    published: Cell<u64>,
    /// When a publish or a check last succeeded, and the longest time between two of them.
    success: Cell<(Instant, Duration)>,
}

type Actor<'a> = Pin<Box<dyn Future<Output = Result<(), Torn>> + 'a>>;

impl World {
    pub(crate) fn new(engines: Vec<Arc<dyn Engine>>, seed: u64, broken: Option<Broken>) -> Self {
        Self {
            engines,
            tree: RefCell::default(),
            rng: RefCell::new(Rng::with_seed(seed)),
            clock: Arc::default(),
            counts: Cell::default(),
            broken,
            unsure: false,
            crashes: CRASHES,
            eventful: |_| true,
            published: Cell::new(0),
            success: Cell::new((Instant::now(), Duration::ZERO)),
        }
    }

    /// The same on an engine that may not know what became of a commit.
    pub(crate) fn unsure(self) -> Self {
        Self { unsure: true, ..self }
    }

    /// The same with a writer's death in one of `steps` steps, for runs that are short.
    pub(crate) fn dying(self, steps: u32) -> Self {
        Self { crashes: steps, ..self }
    }

    /// The same with runs that go on until enough has happened, for those that would be too short.
    pub(crate) fn eventful(self, eventful: fn(&Counts) -> bool) -> Self {
        Self { eventful, ..self }
    }

    /// The longest time between two publishes or checks that succeeded.
    pub(crate) fn longest_pause(&self) -> Duration {
        self.success.get().1
    }

    /// Runs until `checks` checks were made or one fails; longer, but not for ever, when not enough
    /// has happened by then.
    pub(crate) fn run(&self, checks: u64) -> Result<Counts, Torn> {
        self.run_while(|counts| {
            counts.checks < checks || counts.checks < 10 * checks && !(self.eventful)(&counts)
        })
    }

    /// Runs on for as long as it is told to, or until a check fails.
    pub(crate) fn run_while(&self, more: impl Fn(Counts) -> bool) -> Result<Counts, Torn> {
        // What happened between two runs is no pause of either.
        self.success.set((Instant::now(), self.longest_pause()));
        let mut actors: Vec<Actor<'_>> =
            (0..WRITERS + READERS + 1).map(|index| self.start(index)).collect();
        let mut asleep = vec![0u64; actors.len()];
        let mut now = 0;
        while more(self.counts.get()) {
            now += 1;
            self.clock.advance(u64::from(self.dice(4) == 0));
            let index = self.rng.borrow_mut().usize(0..actors.len());
            if asleep[index] > now {
                continue;
            }
            // A pause long enough for others to take over, sweep and go on.
            if self.dice(3000) == 0 {
                asleep[index] = now + u64::from(self.dice(20_000));
            }
            if index < WRITERS && self.dice(self.crashes) == 0 {
                self.count(|counts| counts.crashes += 1);
                actors[index] = self.start(index);
            }
            if let Some(done) = poll(&mut actors[index]) {
                done?;
                actors[index] = self.start(index);
            }
        }
        Ok(self.counts.get())
    }

    fn start(&self, index: usize) -> Actor<'_> {
        match index {
            0..WRITERS => Box::pin(self.write()),
            6 => Box::pin(self.sweep()),
            _ => Box::pin(self.read()),
        }
    }

    fn dice(&self, sides: u32) -> u32 {
        self.rng.borrow_mut().u32(0..sides)
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    fn succeed(&self) {
        let ((last, longest), now) = (self.success.get(), Instant::now());
        self.success.set((now, longest.max(now - last)));
    }

    /// Each actor is a process of its own: it shares nothing but the store.
    fn timeline(&self) -> Timeline {
        let engine = self.rng.borrow_mut().choice(&self.engines).expect("an engine").clone();
        let engine: Arc<dyn Engine> = Arc::new(Steps(engine));
        let settings = Settings {
            sweep_delay: Duration::from_millis(SWEEP_DELAY),
            patience: Duration::from_millis(PATIENCE),
        };
        let store = Store::new(engine, 0);
        Timeline::with_clock(store, CHAIN.to_owned(), settings, self.clock.clone())
    }

    async fn read(&self) -> Result<(), Torn> {
        let timeline = self.timeline();
        let mut version = store::Version::NEVER;
        loop {
            let published = self.published.get();
            let view = timeline.view().await.map_err(|error| error.to_string())?;
            if view.version() < version {
                return Err("a reader went back".to_owned());
            }
            if self.broken.is_none() && view.tip().switches < published {
                return Err("a publish that was acknowledged is not seen".to_owned());
            }
            version = view.version();
            let last = u64::from(self.dice(60) + 1);
            let judged = check(&timeline, &self.tree, &view, last).await?;
            self.count(|counts| {
                counts.checks += u64::from(judged);
                counts.expired += u64::from(!judged);
            });
            self.succeed();
            step().await;
        }
    }

    async fn sweep(&self) -> Result<(), Torn> {
        let mut sweeper = Sweeper::new(self.timeline());
        loop {
            let due = sweeper.due().await.map_err(|error| error.to_string())?;
            let tree = &self.tree;
            let rows = due.iter().flat_map(|(unit, seat)| rows_of(&tree.borrow(), *unit, seat));
            let rows = rows.collect();
            sweeper.sweep(&due, rows).await.map_err(|error| error.to_string())?;
            self.count(|counts| counts.swept += due.len() as u64);
            // Looking again at all that is hidden costs something; once in a while is enough.
            for _ in 0..60 {
                step().await;
            }
        }
    }

    async fn write(&self) -> Result<(), Torn> {
        let timeline = self.timeline();
        let id = WriterId(self.rng.borrow_mut().u128(1..).to_be_bytes());
        let mut watch = Watch::default();
        loop {
            let leading = match timeline.lead(id, &mut watch).await {
                Err(LeadError::Commit(CommitError::Unknown(_))) if self.unsure => {
                    self.count(|counts| counts.unknown += 1);
                    None
                }
                known => known.map_err(|error| error.to_string())?,
            };
            let Some(mut writer) = leading else {
                step().await;
                continue;
            };
            if let Some(broken) = self.broken {
                writer.break_it(broken);
            }
            while self.dice(60) != 0 {
                match self.advance(&timeline, &mut writer).await {
                    Ok(()) => {}
                    Err(PublishError::Lost) => {
                        self.count(|counts| counts.lost += 1);
                        break;
                    }
                    // The tip will tell whoever leads next, which may be this one.
                    Err(PublishError::Unknown(_)) if self.unsure => {
                        self.count(|counts| counts.unknown += 1);
                        break;
                    }
                    Err(error) => return Err(format!("a writer failed: {error}")),
                }
            }
            // It stops without a word; whoever is patient takes over.
            for _ in 0..self.dice(300) {
                step().await;
            }
        }
    }

    /// One attempt: somewhere in the tree, by whatever path.
    async fn advance(&self, timeline: &Timeline, writer: &mut Writer) -> Result<(), PublishError> {
        let plan = self.plan(writer);
        let mined = plan.blocks.len() as u64;
        let depth = plan.keep.map_or(0, |height| height.0 + 1) + mined;
        // Execution follows behind, or not at all.
        let executed_to = depth.saturating_sub(u64::from(self.dice(4)));
        let base = writer.tip().head(Lane::EXECUTED).map_or(0, |head| head.height.0 + 1);
        let base = base.min(plan.keep.map_or(0, |height| height.0 + 1));
        let executed = if self.dice(2) == 0 { executed_to.saturating_sub(base) } else { 0 };
        let cut = Cut { lane: Lane::MINED, keep: plan.keep };
        let mut attempt = writer.begin(&[cut], mined + executed).await?;
        let (units, mut rows) =
            self.derive(timeline, &attempt, &plan.blocks, (base, base + executed)).await?;
        self.rng.borrow_mut().shuffle(&mut rows);
        let middle = if rows.is_empty() { 0 } else { self.dice(rows.len() as u32) as usize };
        let rest = rows.split_off(middle);
        // Usually units first; sometimes not, which leaves unsweepable rows but must tear nothing.
        let early = self.dice(50) == 0;
        if early {
            timeline.store().put(rows.clone()).await?;
        }
        writer.write_units(&mut attempt, units).await?;
        timeline.store().put(rest).await?;
        if self.dice(5) == 0 {
            writer.renew().await?;
        }
        timeline.store().put(rows).await?;
        let published = writer.publish(attempt).await?;
        self.published.set(self.published.get().max(published.number + 1));
        self.succeed();
        self.count(|counts| {
            counts.publishes += 1;
            counts.reorganisations += u64::from(!published.switch.popped.is_empty());
        });
        Ok(())
    }

    /// The rows of an attempt, derived through its branch.
    async fn derive(
        &self,
        timeline: &Timeline,
        attempt: &Attempt,
        blocks: &[u64],
        executed: (u64, u64),
    ) -> Result<(Vec<NewUnit>, Vec<Row>), PublishError> {
        let (mut units, mut rows) = (Vec::new(), Vec::new());
        for (index, id) in (0..).zip(blocks) {
            let block = self.tree.borrow().block(*id).clone();
            rows.extend(mined_rows(&block, attempt.unit(index)));
            let items = block.position + block.items.len() as u64;
            let parent = block.parent.map(hash).unwrap_or_default();
            let row = UnitRow { hash: hash(*id), parent, of: None, items };
            units.push(NewUnit { lane: Lane::MINED, height: Height(block.height), row });
        }
        let mut parent = attempt.base(Lane::EXECUTED).map(|h| h.hash.clone()).unwrap_or_default();
        for (index, height) in (units.len() as u64..).zip(executed.0..executed.1) {
            let own = units.iter().position(|new| new.height.0 == height);
            let (of, of_hash) = match own {
                Some(own) => (attempt.unit(own as u64), units[own].row.hash.clone()),
                None => {
                    let branch: &dyn Sight = attempt.branch();
                    let found = timeline.unit_at(branch, Lane::MINED, Height(height)).await?;
                    // Missing only for a writer that slept until its branch was swept.
                    let (unit, row) = found.ok_or(PublishError::Lost)?;
                    (unit, row.hash)
                }
            };
            rows.push(executed_row(height, id_of(&of_hash), attempt.unit(index)));
            let row = UnitRow { hash: of_hash.clone(), parent, of: Some(of), items: 0 };
            units.push(NewUnit { lane: Lane::EXECUTED, height: Height(height), row });
            parent = of_hash;
        }
        Ok((units, rows))
    }

    fn plan(&self, writer: &Writer) -> Plan {
        let mut tree = self.tree.borrow_mut();
        let mut rng = self.rng.borrow_mut();
        let head = writer.tip().head(Lane::MINED).map(|head| id_of(&head.hash));
        let Some(head) = head else {
            return Plan { keep: None, blocks: vec![tree.grow(None, &mut rng)] };
        };
        let chain: Vec<u64> = tree.chain(head).iter().map(|block| block.id).collect();
        // Back to a branch that was left, under new numbers.
        let target = if rng.u8(0..3) == 0 { tree.random(&mut rng) } else { None };
        let mut path: Vec<u64> = match target {
            Some(target) => tree.chain(target).iter().map(|block| block.id).collect(),
            None => {
                let deepest = if rng.u8(0..10) == 0 { chain.len() } else { chain.len().min(5) };
                let back = if rng.bool() { 0 } else { rng.usize(0..=deepest) };
                chain[..chain.len() - back].to_vec()
            }
        };
        let ceiling = usize::try_from(HEIGHT).expect("small") - 4;
        path.truncate(rng.usize(ceiling / 2..ceiling));
        let shared = path.iter().zip(&chain).take_while(|(a, b)| a == b).count();
        for _ in 0..rng.usize(1..=3) {
            path.push(tree.grow(path.last().copied(), &mut rng));
        }
        let keep = shared.checked_sub(1).map(|height| Height(height as u64));
        Plan { keep, blocks: path.split_off(shared) }
    }
}

struct Plan {
    keep: Option<Height>,
    blocks: Vec<u64>,
}

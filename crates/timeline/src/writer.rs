//! Reserve, write, publish.

use std::time::Duration;

use bytes::Bytes;
use store::{Change, Commit, CommitError, OpId, Read, Row, Sequenced, Version};

use crate::tables::{HEIGHTS, RECENT_SWITCHES, SEALED, SEATS, SWITCHES, TIPS};
use crate::tip::{LIVE_RANGES, SEALED_RANGES, TipRow};
use crate::{
    Branch, Head, Height, Lane, LeadError, Lease, PublishError, Run, Seat, Sight, Switch, Timeline,
    Tip, Unit, UnitRow, UnitSet, View, WriterId,
};

/// Units one attempt may publish.
const ATTEMPT_UNITS: u64 = 100_000;
/// Switches one publish archives at the most.
const ARCHIVE_STEP: u64 = 128;

/// What a writer that waits for the lease has seen of the one who holds it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    seen: Option<(Lease, Duration)>,
}

/// Below which height a lane is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The lane.
    pub lane: Lane,
    /// The highest unit that stays; none to leave the lane empty.
    pub keep: Option<Height>,
}

/// One unit of an attempt, in the order of its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUnit {
    /// Its lane.
    pub lane: Lane,
    /// Its height: the one above the unit before it in its lane.
    pub height: Height,
    /// What is known of it.
    pub row: UnitRow,
}

/// A branch that is being written.
#[derive(Clone, Debug)]
pub struct Attempt {
    branch: Branch,
    popped: Vec<Run>,
    /// Heads as they will be below the new units.
    heads: Vec<Option<Head>>,
    units: Vec<NewUnit>,
}

impl Attempt {
    /// Number of the attempt's `index`-th unit.
    #[must_use]
    pub fn unit(&self, index: u64) -> Unit {
        Unit(self.branch.first.0 + index)
    }

    /// What the attempt sees: derive through it.
    #[must_use]
    pub fn branch(&self) -> &Branch {
        &self.branch
    }

    /// The unit a lane will stand on below the attempt's own.
    #[must_use]
    pub fn base(&self, lane: Lane) -> Option<&Head> {
        self.heads.get(usize::from(lane.0))?.as_ref()
    }

    fn count(&self) -> u64 {
        self.branch.last.0 + 1 - self.branch.first.0
    }
}

/// What a publish did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its number in the journal.
    pub number: u64,
    /// What left and what came.
    pub switch: Switch,
}

/// Ways to get it wrong, for the test of the test.
#[cfg(feature = "broken")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Numbers are taken without being reserved.
    NoReservation,
    /// Numbers of other attempts are not hidden.
    NoHiding,
    /// The tip is overwritten whatever its version is.
    NoVersionCheck,
}

/// The one who may write a chain. Everything it does is one commit after the other.
#[derive(Debug)]
pub struct Writer {
    timeline: Timeline,
    id: WriterId,
    /// The tip after this writer's last commit.
    state: View,
    #[cfg(feature = "broken")]
    broken: Option<Broken>,
}

impl Timeline {
    /// Takes the lease if it is free, ours, or has stood still for as long as a holder may. None
    /// means that another writer lives: ask again, with the same `watch`.
    ///
    /// # Errors
    /// When the tip cannot be read or written.
    pub async fn lead(&self, id: WriterId, watch: &mut Watch) -> Result<Option<Writer>, LeadError> {
        let view = self.view_by(Read::Serial).await?;
        let lease = view.tip().lease;
        let now = self.now();
        let since = match watch.seen {
            Some((seen, since)) if seen == lease => since,
            _ => now,
        };
        watch.seen = Some((lease, since));
        let free = lease == Lease::default() || lease.writer == id;
        if !free && now.saturating_sub(since) < self.settings().patience {
            return Ok(None);
        }
        let mut writer = Writer {
            timeline: self.clone(),
            id,
            state: view,
            #[cfg(feature = "broken")]
            broken: None,
        };
        let mut tip = writer.tip().clone();
        tip.lease = Lease { writer: id, beat: lease.beat + 1 };
        match writer.commit(tip, Vec::new()).await {
            Ok(()) => Ok(Some(writer)),
            // Somebody else was faster; it lives.
            Err(PublishError::Lost) => Ok(None),
            Err(PublishError::Unknown(error) | PublishError::Commit(error)) => Err(error.into()),
            Err(PublishError::View(error)) => Err(error.into()),
            Err(PublishError::Put(_) | PublishError::Misused(_))
            | Err(PublishError::NoSuchHeight { .. }) => Ok(None),
        }
    }
}

impl Writer {
    /// The tip as this writer left it.
    #[must_use]
    pub fn tip(&self) -> &Tip {
        self.state.tip()
    }

    /// The chain as this writer left it.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.state
    }

    /// Shows that this writer lives. Reserving and publishing show it too.
    ///
    /// # Errors
    /// When another writer has the lease now, or the tip cannot be written.
    pub async fn renew(&mut self) -> Result<(), PublishError> {
        let tip = self.next_tip();
        self.commit(tip, Vec::new()).await
    }

    /// Begins an attempt: leaves each lane at its cut and reserves `count` numbers.
    ///
    /// # Errors
    /// When a cut is above its lane, another writer went on, or the store fails.
    pub async fn begin(&mut self, cuts: &[Cut], count: u64) -> Result<Attempt, PublishError> {
        if count == 0 || count > ATTEMPT_UNITS {
            return Err(PublishError::Misused("an attempt has 1 to 100,000 units"));
        }
        let (popped, heads) = self.leave(cuts).await?;
        let first = self.tip().next;
        let last = Unit(first.0 + count - 1);
        let mut tip = self.next_tip();
        tip.next = Unit(last.0 + 1);
        self.reserve(tip).await?;
        let units = popped.iter().flat_map(Run::units);
        let mut hidden = UnitSet::default();
        units.for_each(|(_, unit)| hidden.insert(unit));
        let branch = Branch { base: self.state.clone(), popped: hidden, first, last };
        Ok(Attempt { branch, popped, heads, units: Vec::new() })
    }

    /// Writes the units of an attempt: the rows by which they are found, and swept. Rows that
    /// depend on them are put afterwards, in any order, in parallel, but all before
    /// [`Writer::publish`]. In the other order nothing would be torn, but a crash would leave rows
    /// that nobody can sweep.
    ///
    /// # Errors
    /// When the units are not those reserved, do not link, or cannot be written.
    pub async fn write_units(
        &self,
        attempt: &mut Attempt,
        units: Vec<NewUnit>,
    ) -> Result<(), PublishError> {
        check_units(attempt, &units)?;
        let chain = self.timeline.chain();
        let mut rows: Vec<Row> = Vec::with_capacity(2 * units.len());
        for (index, new) in (0..).zip(&units) {
            let unit = attempt.unit(index);
            let seat = Seat { lane: new.lane, height: new.height, hash: new.row.hash.clone() };
            rows.push(SEATS.row(&Sequenced(chain.clone(), unit.0), &unit, &seat)?);
            let partition = Sequenced((chain.clone(), new.lane.0), new.height.0);
            rows.push(HEIGHTS.row(&partition, &(new.height.0, unit), &new.row)?);
        }
        self.timeline.store().put(rows).await?;
        attempt.units = units;
        Ok(())
    }

    /// Publishes an attempt: one commit that sets the heads, raises the horizon and hides every
    /// number up to it that is not on the chain. Call it when every put was acknowledged.
    ///
    /// # Errors
    /// When another writer went on, the outcome stays unknown, or the store fails.
    pub async fn publish(&mut self, attempt: Attempt) -> Result<Published, PublishError> {
        if attempt.units.len() as u64 != attempt.count() {
            return Err(PublishError::Misused("not every reserved unit was written"));
        }
        // Renewals in between are fine; another publish is not.
        let base = attempt.branch.base.tip();
        if base.horizon != self.tip().horizon || base.heads != self.tip().heads {
            return Err(PublishError::Lost);
        }
        let mut tip = self.next_tip();
        let number = tip.switches;
        let switch = Switch { popped: attempt.popped.clone(), pushed: pushed(&attempt) };
        tip.switches += 1;
        tip.heads = new_heads(&attempt);
        self.hide(&mut tip, &attempt);
        self.seal(&mut tip, attempt.branch.first).await?;
        let mut changes = self.archive(&mut tip).await?;
        changes.push(TIPS.insert(&(1, number), &TipRow::Switch(switch.clone())));
        self.commit(tip, changes).await?;
        Ok(Published { number, switch })
    }

    fn next_tip(&self) -> Tip {
        let mut tip = self.tip().clone();
        tip.lease.beat += 1;
        tip
    }

    /// What leaves each lane, and the heads that stay.
    async fn leave(&self, cuts: &[Cut]) -> Result<(Vec<Run>, Vec<Option<Head>>), PublishError> {
        let mut cuts = cuts.to_vec();
        // Whatever lane 0 loses, the lanes above it lose too.
        if let Some(lead) = cuts.iter().find(|cut| cut.lane == Lane::MINED).copied() {
            for lane in (1..Lane::MOST).map(Lane) {
                if self.tip().head(lane).is_some() && cuts.iter().all(|cut| cut.lane != lane) {
                    cuts.push(Cut { lane, keep: lead.keep });
                }
            }
            for cut in cuts.iter_mut().filter(|cut| cut.lane != Lane::MINED) {
                cut.keep = cut.keep.min(lead.keep);
            }
        }
        let (mut popped, mut heads) = (Vec::new(), self.tip().heads.clone());
        for Cut { lane, keep } in cuts {
            let Some(head) = self.tip().head(lane) else { continue };
            if lane != Lane::MINED && keep.is_some_and(|keep| keep >= head.height) {
                continue;
            }
            let from = keep.map_or(0, |height| height.0 + 1);
            let view = &self.state;
            let left = self.timeline.units_between(view, lane, Height(from), head.height).await?;
            popped.extend(Run::collect(lane, left.into_iter().map(|(h, unit, _)| (h, unit))));
            let kept = match keep {
                None => None,
                Some(height) => {
                    let kept = self.timeline.unit_at(view, lane, height).await?;
                    let Some((unit, row)) = kept else {
                        return Err(self.missing(lane, height).await?);
                    };
                    Some(Head { unit, height, hash: row.hash })
                }
            };
            if let Some(slot) = heads.get_mut(usize::from(lane.0)) {
                *slot = kept;
            }
        }
        Ok((popped, heads))
    }

    /// Why a unit is not there: the lane never had it, or this writer slept so long that others
    /// went on and the unit was swept.
    async fn missing(&self, lane: Lane, height: Height) -> Result<PublishError, PublishError> {
        let now = self.timeline.view_by(Read::Serial).await?;
        if now.version() == self.state.version() {
            return Ok(PublishError::NoSuchHeight { lane, height });
        }
        Ok(PublishError::Lost)
    }

    async fn reserve(&mut self, tip: Tip) -> Result<(), PublishError> {
        #[cfg(feature = "broken")]
        if self.broken == Some(Broken::NoReservation) {
            self.state.tip = tip.into();
            return Ok(());
        }
        self.commit(tip, Vec::new()).await
    }

    /// Raises the horizon and hides what is not on the chain.
    fn hide(&self, tip: &mut Tip, attempt: &Attempt) {
        let (low, high) = (Unit(tip.horizon.0 + 1), Unit(tip.next.0 - 1));
        tip.horizon = high;
        for (_, unit) in attempt.popped.iter().flat_map(Run::units) {
            tip.hidden.insert(unit);
        }
        #[cfg(feature = "broken")]
        if self.broken == Some(Broken::NoHiding) {
            return;
        }
        let branch = &attempt.branch;
        tip.hidden.add(low, Unit(branch.first.0 - 1));
        tip.hidden.add(Unit(branch.last.0 + 1), high);
    }

    /// Moves the lowest hidden ranges into a segment before the row grows too large.
    async fn seal(&self, tip: &mut Tip, name: Unit) -> Result<(), PublishError> {
        if tip.hidden.range_count() <= LIVE_RANGES {
            return Ok(());
        }
        let segment = tip.hidden.take_lowest(SEALED_RANGES);
        let row = SEALED.row(&(self.timeline.chain().clone(), name), &(), &segment)?;
        self.timeline.store().put(vec![row]).await?;
        tip.sealed.push(name);
        Ok(())
    }

    /// Copies old switches into the archive; the changes delete them from the tip's partition.
    async fn archive(&self, tip: &mut Tip) -> Result<Vec<Change>, PublishError> {
        if tip.switches - tip.archived <= RECENT_SWITCHES {
            return Ok(Vec::new());
        }
        let end = (tip.switches - 1).min(tip.archived + ARCHIVE_STEP);
        let found = self.timeline.recent_switches(tip.archived, end).await?;
        let chain = self.timeline.chain();
        let mut rows = Vec::new();
        for (number, switch) in &found {
            rows.push(SWITCHES.row(&Sequenced(chain.clone(), *number), number, switch)?);
        }
        self.timeline.store().put(rows).await?;
        tip.archived = end;
        Ok(found.iter().map(|(number, _)| TIPS.delete(&(1, *number))).collect())
    }

    /// Commits a new tip at the version this writer knows.
    async fn commit(&mut self, tip: Tip, mut changes: Vec<Change>) -> Result<(), PublishError> {
        changes.push(TIPS.insert(&(0, 0), &TipRow::Tip(Box::new(tip.clone()))));
        let expected = self.state.version();
        let chain = self.timeline.chain();
        let mut op = [0; 16];
        getrandom::fill(&mut op).map_err(|_| PublishError::Misused("no randomness"))?;
        let commit = Commit {
            table: TIPS.def(),
            partition: TIPS.partition(chain)?,
            expected,
            changes,
            op: OpId(op),
            result: Bytes::new(),
        };
        #[cfg(feature = "broken")]
        let commit = self.overwrite(commit).await?;
        let version = match self.timeline.store().commit(commit).await {
            Ok(done) => done.version,
            Err(CommitError::Conflict { .. }) => return Err(PublishError::Lost),
            Err(error @ CommitError::Unknown(_)) => return Err(PublishError::Unknown(error)),
            Err(error) => return Err(PublishError::Commit(error)),
        };
        self.adopt(version, tip).await
    }

    /// Takes over the tip that was just committed.
    async fn adopt(&mut self, version: Version, tip: Tip) -> Result<(), PublishError> {
        if tip.sealed != self.state.tip().sealed {
            self.state = self.timeline.view_by(Read::Serial).await?;
            return if self.state.tip().lease.writer == self.id {
                Ok(())
            } else {
                Err(PublishError::Lost)
            };
        }
        self.state.tip = tip.into();
        self.state.version = version;
        Ok(())
    }

    /// Makes this writer do it wrong.
    #[cfg(feature = "broken")]
    pub fn break_it(&mut self, broken: Broken) {
        self.broken = Some(broken);
    }

    #[cfg(feature = "broken")]
    async fn overwrite(&self, mut commit: Commit) -> Result<Commit, PublishError> {
        if self.broken == Some(Broken::NoVersionCheck) {
            commit.expected = self.timeline.view_by(Read::Serial).await?.version();
        }
        Ok(commit)
    }
}

fn pushed(attempt: &Attempt) -> Vec<Run> {
    let mut runs = Vec::new();
    for lane in (0..Lane::MOST).map(Lane) {
        let units = (0..).zip(&attempt.units).filter(|(_, new)| new.lane == lane);
        runs.extend(Run::collect(lane, units.map(|(i, new)| (new.height, attempt.unit(i)))));
    }
    runs
}

fn new_heads(attempt: &Attempt) -> Vec<Option<Head>> {
    let mut tip = Tip { heads: attempt.heads.clone(), ..Tip::default() };
    for (index, new) in (0..).zip(&attempt.units) {
        let (unit, hash) = (attempt.unit(index), new.row.hash.clone());
        tip.set_head(new.lane, Some(Head { unit, height: new.height, hash }));
    }
    tip.heads
}

/// Each unit must stand on the one below it, and a unit of a lane above 0 on a visible unit of lane
/// 0.
fn check_units(attempt: &Attempt, units: &[NewUnit]) -> Result<(), PublishError> {
    if units.len() as u64 != attempt.count() {
        return Err(PublishError::Misused("more or fewer units than were reserved"));
    }
    let mut heads = Tip { heads: attempt.heads.clone(), ..Tip::default() };
    for (index, new) in (0..).zip(units) {
        if new.lane.0 >= Lane::MOST || new.row.hash.len() > 64 {
            return Err(PublishError::Misused("there are 8 lanes, and hashes of up to 64 bytes"));
        }
        let (height, parent) = heads
            .head(new.lane)
            .map_or((0, &[][..]), |head| (head.height.0 + 1, head.hash.as_slice()));
        if new.height.0 != height || new.row.parent != parent {
            return Err(PublishError::Misused("a unit does not stand on the one below it"));
        }
        let stands = match (new.lane, new.row.of) {
            (Lane::MINED, of) => of.is_none(),
            (_, Some(of)) => attempt.branch.sees(of),
            (_, None) => false,
        };
        if !stands {
            return Err(PublishError::Misused("a unit above lane 0 must stand on one of lane 0"));
        }
        let (unit, hash) = (attempt.unit(index), new.row.hash.clone());
        heads.set_head(new.lane, Some(Head { unit, height: new.height, hash }));
    }
    Ok(())
}

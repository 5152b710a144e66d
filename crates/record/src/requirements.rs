//! `requirements.npz`: how every requirement ended.

use std::path::Path;

use deepconcolic_check::audit::Shown;
use deepconcolic_check::{Audit, PairClaim, Slot};
use deepconcolic_criteria::{Family, Group};
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_language::Inputs;

use crate::column::Column;
use crate::error::ArchiveError;

/// The number of the first hidden layer: the input is layer 1.
pub const FIRST_HIDDEN: usize = 2;

/// How a requirement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Neither a test nor a proof was found.
    Unresolved = 0,
    /// A test meets it.
    Covered = 1,
    /// Proven to be impossible in the search region.
    Infeasible = 2,
    /// A slot that is numbered but required of nobody.
    NotRequired = 3,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [
        Self::Unresolved,
        Self::Covered,
        Self::Infeasible,
        Self::NotRequired,
    ];

    /// The state with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&state| state as u8 == number)
    }
}

/// The neurons that the rows of a pair criterion stand for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PairColumns {
    /// The condition's layer, counted as everywhere: the input is 1, the first hidden layer 2.
    pub layer: Vec<i32>,
    /// The condition.
    pub i: Vec<i32>,
    /// The decision's layer.
    pub layer2: Vec<i32>,
    /// The decision.
    pub j: Vec<i32>,
}

/// A row for every slot, groups one after the other; for pair criteria, whose slots are too many, for
/// those that are covered and then for those that are infeasible.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementTable {
    /// How it ended, a [`State`].
    pub state: Vec<u8>,
    /// The test that shows it, -1 if none.
    pub test: Vec<i64>,
    /// The second test of a requirement on two inputs, which may be the first once more; -1 if none.
    pub test2: Column<i64>,
    /// 1 if it is covered only within the margin of rounding.
    pub fragile: Column<u8>,
    /// An upper bound on its value over the region, where one was computed, else NaN.
    pub bound: Column<f32>,
    /// The certificate that shows it to be infeasible, -1 if none.
    pub certificate: Column<i64>,
    /// For pair criteria: the neurons of each row.
    pub pairs: Option<PairColumns>,
}

impl Default for RequirementTable {
    fn default() -> Self {
        Self {
            state: Vec::new(),
            test: Vec::new(),
            test2: Column::new(-1),
            fragile: Column::new(0),
            bound: Column::new(f32::NAN),
            certificate: Column::new(-1),
            pairs: None,
        }
    }
}

impl RequirementTable {
    /// The table of an audited suite.
    pub fn new(family: &dyn Family, audit: &Audit) -> Self {
        let mut table = Self {
            pairs: family.pairs().map(|_| PairColumns::default()),
            ..Self::default()
        };
        if family.pairs().is_none() {
            let rows = family.groups().iter().map(Group::slots).sum();
            table.state.reserve_exact(rows);
            table.test.reserve_exact(rows);
        }
        for (g, group) in family.groups().iter().enumerate() {
            if let Some(pairs) = family.pairs() {
                for slot in audit.covered[g].iter() {
                    let fragile = audit.fragile[g].contains(slot);
                    table.push(State::Covered, audit.witnesses[g].get(slot), true, fragile);
                    if let Some(columns) = &mut table.pairs {
                        columns.push(pairs.layers(g), pairs.neurons(g, slot));
                    }
                }
                continue;
            }
            table.push_group(family, audit, (g, group));
        }
        table
    }

    /// Adds the rows of a group, column by column: there can be tens of millions, most of them blank in most columns.
    fn push_group(&mut self, family: &dyn Family, audit: &Audit, (g, group): (usize, &Group)) {
        let (first, slots) = (self.state.len(), group.slots());
        self.state.resize(first + slots, State::Unresolved as u8);
        for slot in audit.covered[g].iter() {
            self.state[first + slot] = State::Covered as u8;
        }
        for slot in group.not_required.iter() {
            self.state[first + slot] = State::NotRequired as u8;
        }
        let shown = &audit.witnesses[g];
        let test = |(test, _): (u32, u32)| i64::from(test);
        let tests = (0..slots).map(|slot| shown.get(slot).map_or(-1, test));
        self.test.extend(tests);
        self.test2.push_blank(slots);
        for slot in audit.covered[g].iter() {
            // One test can meet a requirement on two inputs with itself.
            let is_paired = family.inputs(g, slot) == Inputs::Two;
            if let Some((_, second)) = shown.get(slot).filter(|_| is_paired) {
                self.test2[first + slot] = i64::from(second);
            }
        }
        self.fragile.push_blank(slots);
        for slot in audit.fragile[g].iter() {
            self.fragile[first + slot] = 1;
        }
        self.bound.push_blank(slots);
        self.certificate.push_blank(slots);
    }

    /// Enters that slots of a group are infeasible, by these certificates. Only what is open can be.
    pub fn refute(
        &mut self,
        family: &dyn Family,
        audit: &Audit,
        group: usize,
        refuted: impl Iterator<Item = (usize, i64)>,
    ) {
        let number = |slot: usize| Slot {
            group: group as u32,
            slot: slot as u32,
        };
        let open = |(slot, _): &(usize, i64)| !audit.covered[group].contains(*slot);
        for (slot, certificate) in refuted.filter(open) {
            if let (Some(columns), Some(pairs)) = (&mut self.pairs, family.pairs()) {
                columns.push(pairs.layers(group), pairs.neurons(group, slot));
                self.push(State::Infeasible, None, true, false);
                self.certificate.pop();
                self.certificate.push(certificate);
            } else {
                let row = Self::row(family, number(slot));
                if self.state[row] == State::Unresolved as u8 {
                    self.state[row] = State::Infeasible as u8;
                    self.certificate[row] = certificate;
                }
            }
        }
    }

    /// The rows of a table of pairs that are covered.
    pub fn covered_pairs(&self) -> Option<PairColumns> {
        let columns = self.pairs.as_ref()?;
        let covered = self.state.iter().map(|&s| s == State::Covered as u8);
        let covered: Vec<bool> = covered.collect();
        let pick = |column: &[i32]| {
            let rows = column.iter().zip(&covered);
            rows.filter_map(|(&n, &covered)| covered.then_some(n))
                .collect()
        };
        Some(PairColumns {
            layer: pick(&columns.layer),
            i: pick(&columns.i),
            layer2: pick(&columns.layer2),
            j: pick(&columns.j),
        })
    }

    /// The row of a requirement in a table that has a row for every slot.
    pub fn row(family: &dyn Family, slot: Slot) -> usize {
        let before = family.groups().iter().take(slot.group as usize);
        before.map(Group::slots).sum::<usize>() + slot.slot as usize
    }

    fn push(&mut self, state: State, shown: Shown, paired: bool, fragile: bool) {
        self.state.push(state as u8);
        self.fragile.push(u8::from(fragile));
        self.test
            .push(shown.map_or(-1, |(first, _)| i64::from(first)));
        let second = shown.filter(|_| paired);
        self.test2
            .push(second.map_or(-1, |(_, second)| i64::from(second)));
        self.bound.push(f32::NAN);
        self.certificate.push(-1);
    }

    /// What the table says of pairs of tests.
    pub fn claims(&self, family: &dyn Family) -> Result<Vec<PairClaim>, String> {
        let mut claims = Vec::new();
        for row in (0..self.state.len()).filter(|&row| self.test2[row] >= 0) {
            let slot = self
                .slot(family, row)
                .ok_or_else(|| format!("row {row} names no requirement"))?;
            let number = |n: i64| u32::try_from(n).map_err(|_| format!("row {row} names no test"));
            claims.push(PairClaim {
                slot,
                first: number(self.test[row])?,
                second: number(self.test2[row])?,
            });
        }
        Ok(claims)
    }

    /// The requirement of a row.
    pub fn slot(&self, family: &dyn Family, row: usize) -> Option<Slot> {
        let slot = |group: usize, slot: usize| Slot {
            group: group as u32,
            slot: slot as u32,
        };
        if let (Some(columns), Some(pairs)) = (&self.pairs, family.pairs()) {
            let at = |column: &[i32]| usize::try_from(*column.get(row)?).ok();
            let hidden = |column: &[i32]| at(column)?.checked_sub(FIRST_HIDDEN);
            let layers = (hidden(&columns.layer)?, hidden(&columns.layer2)?);
            let group = (0..family.groups().len()).find(|&g| pairs.layers(g) == layers)?;
            let number = pairs.slot(group, at(&columns.i)?, at(&columns.j)?)?;
            return Some(slot(group, number));
        }
        let mut rest = row;
        for (number, group) in family.groups().iter().enumerate() {
            if rest < group.slots() {
                return Some(slot(number, rest));
            }
            rest -= group.slots();
        }
        None
    }

    /// The same rows in another order, given by where each comes from.
    pub fn reordered(&self, from: &[usize]) -> Self {
        fn pick<T: Copy>(column: &[T], from: &[usize]) -> Vec<T> {
            from.iter().map(|&row| column[row]).collect()
        }
        Self {
            state: pick(&self.state, from),
            test: pick(&self.test, from),
            test2: self.test2.pick(from),
            fragile: self.fragile.pick(from),
            bound: self.bound.pick(from),
            certificate: self.certificate.pick(from),
            pairs: self.pairs.as_ref().map(|columns| PairColumns {
                layer: pick(&columns.layer, from),
                i: pick(&columns.i, from),
                layer2: pick(&columns.layer2, from),
                j: pick(&columns.j, from),
            }),
        }
    }

    /// Whether two tables say the same, to the last bit.
    pub fn is_same(&self, other: &Self) -> bool {
        let bits = |table: &Self| -> Vec<u32> { table.bound.iter().map(f32::to_bits).collect() };
        let rest = |table: &Self| Self {
            bound: Column::new(f32::NAN),
            ..table.clone()
        };
        bits(self) == bits(other) && rest(self) == rest(other)
    }

    /// Why the table does not fit a suite of so many tests, if it does not: every number is checked before
    /// anybody uses it.
    pub fn misfit(&self, tests: usize) -> Option<String> {
        let is_test = |test: i64| test == -1 || usize::try_from(test).is_ok_and(|t| t < tests);
        (0..self.state.len()).find_map(|row| {
            let wrong = if State::from_number(self.state[row]).is_none() {
                format!("state {}, which none is", self.state[row])
            } else if let Some(test) = [self.test[row], self.test2[row]]
                .into_iter()
                .find(|&test| !is_test(test))
            {
                format!("test {test} of {tests}")
            } else if self.certificate[row] < -1 {
                format!("certificate {}", self.certificate[row])
            } else {
                return None;
            };
            Some(format!("row {row} has {wrong}"))
        })
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        let rows = [self.state.len()];
        let mut file = NpzWriter::create(path)?;
        file.add("state", &rows, &self.state)?;
        file.add("test", &rows, &self.test)?;
        self.test2.write(&mut file, "test2")?;
        self.fragile.write(&mut file, "fragile")?;
        self.bound.write(&mut file, "bound")?;
        self.certificate.write(&mut file, "certificate")?;
        if let Some(columns) = &self.pairs {
            file.add("layer", &rows, &wide(&columns.layer))?;
            file.add("i", &rows, &wide(&columns.i))?;
            file.add("layer2", &rows, &wide(&columns.layer2))?;
            file.add("j", &rows, &wide(&columns.j))?;
        }
        Ok(file.finish()?)
    }

    /// Reads it back.
    pub fn read(path: &Path) -> Result<Self, ArchiveError> {
        let mut file = NpzReader::open(path)?;
        let pairs = if file.shape("layer2").is_some() {
            Some(PairColumns {
                layer: narrow(file.read("layer")?.values),
                i: narrow(file.read("i")?.values),
                layer2: narrow(file.read("layer2")?.values),
                j: narrow(file.read("j")?.values),
            })
        } else {
            None
        };
        let table = Self {
            state: file.read("state")?.values,
            test: file.read("test")?.values,
            test2: Column::read(&mut file, "test2", -1)?,
            fragile: Column::read(&mut file, "fragile", 0)?,
            bound: Column::read(&mut file, "bound", f32::NAN)?,
            certificate: Column::read(&mut file, "certificate", -1)?,
            pairs,
        };
        let rows = table.state.len();
        let mut lengths = vec![
            table.test.len(),
            table.test2.len(),
            table.fragile.len(),
            table.bound.len(),
            table.certificate.len(),
        ];
        if let Some(c) = &table.pairs {
            lengths.extend([c.layer.len(), c.i.len(), c.layer2.len(), c.j.len()]);
        }
        if lengths.iter().all(|&length| length == rows) {
            Ok(table)
        } else {
            Err(ArchiveError::damaged(
                path,
                "its arrays do not fit each other",
            ))
        }
    }
}

/// As they are on disk. Tables of pairs can have millions of rows, so columns are converted one by one.
fn wide(column: &[i32]) -> Vec<i64> {
    column.iter().map(|&n| n.into()).collect()
}

/// As they are in memory; what is no neuron's number stays none.
fn narrow(column: Vec<i64>) -> Vec<i32> {
    let narrow = |n: i64| i32::try_from(n).unwrap_or(-1);
    column.into_iter().map(narrow).collect()
}

impl PairColumns {
    fn push(&mut self, layers: (usize, usize), neurons: (usize, usize)) {
        self.layer.push((layers.0 + FIRST_HIDDEN) as i32);
        self.layer2.push((layers.1 + FIRST_HIDDEN) as i32);
        self.i.push(neurons.0 as i32);
        self.j.push(neurons.1 as i32);
    }
}

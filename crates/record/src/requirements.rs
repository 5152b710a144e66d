//! `requirements.npz`: how every requirement ended.

use std::ops::Range;
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
    /// Every state, each at the place of its number.
    pub const ALL: [Self; 4] = [
        Self::Unresolved,
        Self::Covered,
        Self::Infeasible,
        Self::NotRequired,
    ];

    /// The state with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// The neurons that the rows of pair criteria stand for: the last rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PairColumns {
    /// The number of the criterion among several, from 0; empty where there is one.
    pub criterion: Vec<i32>,
    /// The condition's layer, counted as everywhere: the input is 1, the first hidden layer 2.
    pub layer: Vec<i32>,
    /// The condition.
    pub i: Vec<i32>,
    /// The decision's layer.
    pub layer2: Vec<i32>,
    /// The decision.
    pub j: Vec<i32>,
}

/// A row for every slot, groups one after the other; then for pair criteria, whose slots are too many, for
/// those that are covered and for those that are infeasible.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementTable {
    /// How it ended, a [`State`].
    pub state: Vec<u8>,
    /// The test that shows it, -1 if none.
    pub test: Column<i32>,
    /// The second test of a requirement on two inputs, which may be the first once more; -1 if none.
    pub test2: Column<i32>,
    /// 1 if it is covered only within the margin of rounding.
    pub fragile: Column<u8>,
    /// An upper bound on its value over the region, where one was computed, else NaN.
    pub bound: Column<f32>,
    /// The certificate that shows it to be infeasible, -1 if none.
    pub certificate: Column<i32>,
    /// For pair criteria: the neurons of their rows, which are the last.
    pub pairs: Option<PairColumns>,
}

impl Default for RequirementTable {
    fn default() -> Self {
        Self {
            state: Vec::new(),
            test: Column::new(-1),
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
            pairs: family.has_pairs().then(PairColumns::default),
            ..Self::default()
        };
        table.state.reserve_exact(rows_of_slots(family));
        for (g, group) in family.groups().iter().enumerate() {
            if family.pairs(g).is_none() {
                table.push_group(family, audit, (g, group));
            }
        }
        for g in 0..family.groups().len() {
            let criterion = criterion_of(family, g);
            for slot in audit.covered[g].iter() {
                if let (Some(columns), Some(pairs)) = (&mut table.pairs, family.pairs(g)) {
                    let neurons = (pairs.layers(g), pairs.neurons(g, slot));
                    columns.push(criterion, neurons);
                    let fragile = audit.fragile[g].contains(slot);
                    table.push(State::Covered, audit.witnesses[g].get(slot), true, fragile);
                }
            }
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
        self.test.push_blank(slots);
        self.test2.push_blank(slots);
        for slot in audit.covered[g].iter() {
            let Some((test, second)) = shown.get(slot) else {
                continue;
            };
            self.test[first + slot] = number_of(test);
            // One test can meet a requirement on two inputs with itself.
            if family.inputs(g, slot) == Inputs::Two {
                self.test2[first + slot] = number_of(second);
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
        refuted: impl Iterator<Item = (usize, i32)>,
    ) {
        let number = |slot: usize| Slot {
            group: group as u32,
            slot: slot as u32,
        };
        let criterion = criterion_of(family, group);
        let open = |(slot, _): &(usize, i32)| !audit.covered[group].contains(*slot);
        for (slot, certificate) in refuted.filter(open) {
            if let (Some(columns), Some(pairs)) = (&mut self.pairs, family.pairs(group)) {
                let neurons = (pairs.layers(group), pairs.neurons(group, slot));
                columns.push(criterion, neurons);
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

    /// The row of a requirement that is no pair of neurons.
    pub fn row(family: &dyn Family, slot: Slot) -> usize {
        rows_before(family, slot.group as usize) + slot.slot as usize
    }

    /// The rows that are pairs of neurons: the last ones.
    pub fn pair_rows(&self) -> Range<usize> {
        let rows = self.state.len();
        let pairs = self.pairs.as_ref().map_or(0, |columns| columns.i.len());
        rows.saturating_sub(pairs)..rows
    }

    /// The table of some groups alone, which are those of one criterion.
    pub fn part(&self, family: &dyn Family, groups: Range<usize>) -> Self {
        let is_of_pairs = family.pairs(groups.start).is_some();
        let rows: Vec<usize> = if is_of_pairs {
            let is_mine = |slot: Slot| groups.contains(&(slot.group as usize));
            let mine = |&row: &usize| self.slot(family, row).is_some_and(is_mine);
            self.pair_rows().filter(mine).collect()
        } else {
            // A table that was written for another family may end before.
            let mine = rows_before(family, groups.start)..rows_before(family, groups.end);
            mine.filter(|&row| row < self.pair_rows().start).collect()
        };
        let mut part = self.reordered(&rows);
        match &mut part.pairs {
            Some(columns) if is_of_pairs => columns.criterion.clear(),
            columns => *columns = None,
        }
        part
    }

    fn push(&mut self, state: State, shown: Shown, paired: bool, fragile: bool) {
        self.state.push(state as u8);
        self.fragile.push(u8::from(fragile));
        self.test
            .push(shown.map_or(-1, |(first, _)| number_of(first)));
        let second = shown.filter(|_| paired);
        self.test2
            .push(second.map_or(-1, |(_, second)| number_of(second)));
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
            let number = |n: i32| u32::try_from(n).map_err(|_| format!("row {row} names no test"));
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
        if let (Some(columns), Some(at)) = (&self.pairs, row.checked_sub(self.pair_rows().start)) {
            let pair = columns.get(at)?;
            let is_mine = |&group: &usize| {
                let layers = family.pairs(group).map(|pairs| pairs.layers(group));
                layers == Some(pair.layers) && pair.criterion == criterion_of(family, group)
            };
            let group = (0..family.groups().len()).find(is_mine)?;
            let (condition, decision) = pair.neurons;
            let number = family.pairs(group)?.slot(group, condition, decision)?;
            return Some(slot(group, number));
        }
        let mut rest = row;
        for (number, group) in family.groups().iter().enumerate() {
            if family.pairs(number).is_some() {
                continue;
            }
            if rest < group.slots() {
                return Some(slot(number, rest));
            }
            rest -= group.slots();
        }
        None
    }

    /// Some rows, in the order given by where each comes from; pairs of neurons are the last of them.
    pub fn reordered(&self, from: &[usize]) -> Self {
        fn pick<T: Copy>(column: &[T], from: &[usize]) -> Vec<T> {
            from.iter().map(|&row| column[row]).collect()
        }
        let first = self.pair_rows().start;
        let pairs: Vec<usize> = from.iter().filter_map(|r| r.checked_sub(first)).collect();
        Self {
            state: pick(&self.state, from),
            test: self.test.pick(from),
            test2: self.test2.pick(from),
            fragile: self.fragile.pick(from),
            bound: self.bound.pick(from),
            certificate: self.certificate.pick(from),
            pairs: self.pairs.as_ref().map(|columns| PairColumns {
                criterion: if columns.criterion.is_empty() {
                    Vec::new()
                } else {
                    pick(&columns.criterion, &pairs)
                },
                layer: pick(&columns.layer, &pairs),
                i: pick(&columns.i, &pairs),
                layer2: pick(&columns.layer2, &pairs),
                j: pick(&columns.j, &pairs),
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
        let is_no_test = |test: i32| test < -1 || usize::try_from(test).is_ok_and(|t| t >= tests);
        let is_no_state = |&state: &u8| State::from_number(state).is_none();
        // Column by column: there can be tens of millions of rows, and most columns are blank.
        let wrong = [
            (self.state.iter().position(is_no_state))
                .map(|row| (row, format!("state {}, which none is", self.state[row]))),
            (self.test.position(is_no_test))
                .map(|row| (row, format!("test {} of {tests}", self.test[row]))),
            (self.test2.position(is_no_test))
                .map(|row| (row, format!("test {} of {tests}", self.test2[row]))),
            (self.certificate.position(|certificate| certificate < -1))
                .map(|row| (row, format!("certificate {}", self.certificate[row]))),
        ];
        let first = wrong.into_iter().flatten().min_by_key(|(row, _)| *row);
        first.map(|(row, wrong)| format!("row {row} has {wrong}"))
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        let rows = [self.state.len()];
        let mut file = NpzWriter::create(path)?;
        file.add("state", &rows, &self.state)?;
        self.test.write::<i64>(&mut file, "test")?;
        self.test2.write::<i64>(&mut file, "test2")?;
        self.fragile.write::<u8>(&mut file, "fragile")?;
        self.bound.write::<f32>(&mut file, "bound")?;
        self.certificate.write::<i64>(&mut file, "certificate")?;
        if let Some(columns) = &self.pairs {
            let rows = [columns.i.len()];
            if !columns.criterion.is_empty() {
                file.add("criterion", &rows, &wide(&columns.criterion))?;
            }
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
                criterion: match file.shape("criterion") {
                    Some(_) => narrow(file.read("criterion")?.values),
                    None => Vec::new(),
                },
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
            test: Column::read(&mut file, "test", -1, number_of::<i64>)?,
            test2: Column::read(&mut file, "test2", -1, number_of::<i64>)?,
            fragile: Column::read(&mut file, "fragile", 0, |byte: u8| byte)?,
            bound: Column::read(&mut file, "bound", f32::NAN, |bound: f32| bound)?,
            certificate: Column::read(&mut file, "certificate", -1, number_of::<i64>)?,
            pairs,
        };
        let rows = table.state.len();
        let lengths = [
            table.test.len(),
            table.test2.len(),
            table.fragile.len(),
            table.bound.len(),
            table.certificate.len(),
        ];
        let pairs_fit = table.pairs.as_ref().is_none_or(|c| c.fits(rows));
        if pairs_fit && lengths.iter().all(|&length| length == rows) {
            Ok(table)
        } else {
            Err(ArchiveError::damaged(
                path,
                "its arrays do not fit each other",
            ))
        }
    }
}

/// The number of a test or a certificate as it is in memory, which none of those goes beyond; what does is none, and
/// [`RequirementTable::misfit`] says so.
fn number_of<N: TryInto<i32>>(number: N) -> i32 {
    number.try_into().unwrap_or(i32::MIN)
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

/// Rows of the groups that have one for every slot.
fn rows_of_slots(family: &dyn Family) -> usize {
    rows_before(family, family.groups().len())
}

/// The same of the first groups.
fn rows_before(family: &dyn Family, groups: usize) -> usize {
    let before = family.groups().iter().enumerate().take(groups);
    let dense = before.filter(|(group, _)| family.pairs(*group).is_none());
    dense.map(|(_, group)| group.slots()).sum()
}

/// The number of a group's criterion, where there are several.
fn criterion_of(family: &dyn Family, group: usize) -> Option<usize> {
    let starts = family.starts();
    (starts.len() > 1).then(|| starts.partition_point(|&start| start <= group) - 1)
}

/// What a row of pairs says.
pub struct PairRow {
    /// The number of its criterion, where there are several.
    pub criterion: Option<usize>,
    /// The hidden layers of condition and decision, from 0.
    pub layers: (usize, usize),
    /// Condition and decision.
    pub neurons: (usize, usize),
}

impl PairColumns {
    /// What one of the rows of pairs says; none where it names no neurons.
    pub fn get(&self, at: usize) -> Option<PairRow> {
        let number = |column: &[i32]| usize::try_from(*column.get(at)?).ok();
        let hidden = |column: &[i32]| number(column)?.checked_sub(FIRST_HIDDEN);
        Some(PairRow {
            criterion: if self.criterion.is_empty() {
                None
            } else {
                Some(number(&self.criterion)?)
            },
            layers: (hidden(&self.layer)?, hidden(&self.layer2)?),
            neurons: (number(&self.i)?, number(&self.j)?),
        })
    }

    /// Whether the columns fit each other and a table of so many rows.
    fn fits(&self, rows: usize) -> bool {
        let count = self.i.len();
        let others = [self.layer.len(), self.layer2.len(), self.j.len()];
        let criteria = self.criterion.len();
        count <= rows
            && others.iter().all(|&length| length == count)
            && (criteria == 0 || criteria == count)
    }

    fn push(
        &mut self,
        criterion: Option<usize>,
        (layers, neurons): ((usize, usize), (usize, usize)),
    ) {
        self.criterion.extend(criterion.map(|number| number as i32));
        self.layer.push((layers.0 + FIRST_HIDDEN) as i32);
        self.layer2.push((layers.1 + FIRST_HIDDEN) as i32);
        self.i.push(neurons.0 as i32);
        self.j.push(neurons.1 as i32);
    }
}

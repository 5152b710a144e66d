//! `requirements.npz`: how every requirement ended.

use std::path::Path;

use deepconcolic_check::Audit;
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_spec::criteria::Group;

use crate::error::ArchiveError;

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

/// A row for every slot, groups one after the other.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RequirementTable {
    /// How it ended, a [`State`].
    pub state: Vec<u8>,
    /// The test that shows it, -1 if none.
    pub test: Vec<i64>,
    /// The second test of a pair, -1 if none.
    pub test2: Vec<i64>,
    /// An upper bound on its value over the region, where one was computed, else NaN.
    pub bound: Vec<f32>,
    /// The certificate that shows it to be infeasible, -1 if none.
    pub certificate: Vec<i64>,
}

impl RequirementTable {
    /// The table of an audited suite.
    pub fn new(groups: &[Group], audit: &Audit) -> Self {
        let slots = || {
            groups
                .iter()
                .enumerate()
                .flat_map(|(g, group)| (0..group.slots()).map(move |slot| (g, slot)))
        };
        let count = slots().count();
        Self {
            state: slots()
                .map(|(g, slot)| {
                    if groups[g].void.contains(slot) {
                        State::NotRequired as u8
                    } else if audit.covered[g].contains(slot) {
                        State::Covered as u8
                    } else {
                        State::Unresolved as u8
                    }
                })
                .collect(),
            test: slots()
                .map(|(g, slot)| audit.witnesses[g][slot].map_or(-1, i64::from))
                .collect(),
            test2: vec![-1; count],
            bound: vec![f32::NAN; count],
            certificate: vec![-1; count],
        }
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        let rows = [self.state.len()];
        let mut file = NpzWriter::create(path)?;
        file.add("state", &rows, &self.state)?;
        file.add("test", &rows, &self.test)?;
        file.add("test2", &rows, &self.test2)?;
        file.add("bound", &rows, &self.bound)?;
        file.add("certificate", &rows, &self.certificate)?;
        Ok(file.finish()?)
    }

    /// Reads it back.
    pub fn read(path: &Path) -> Result<Self, ArchiveError> {
        let mut file = NpzReader::open(path)?;
        let table = Self {
            state: file.read("state")?.values,
            test: file.read("test")?.values,
            test2: file.read("test2")?.values,
            bound: file.read("bound")?.values,
            certificate: file.read("certificate")?.values,
        };
        let rows = table.state.len();
        let lengths = [
            table.test.len(),
            table.test2.len(),
            table.bound.len(),
            table.certificate.len(),
        ];
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

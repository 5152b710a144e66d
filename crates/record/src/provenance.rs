//! The columns of `suite.npz` that say where tests come from: a [`Provenance`](deepconcolic_campaign::Provenance)
//! each.

use deepconcolic_campaign::{Seeds, Stage, Suite};
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;

use crate::error::ArchiveError;

/// Where tests come from.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ProvenanceColumns {
    /// Index in the data of the seed each was made from.
    pub root: Vec<i64>,
    /// The test each was made from, -1 for seeds.
    pub parent: Vec<i64>,
    /// The stage that made it.
    pub stage: Vec<u8>,
}

/// A value of a column that no run writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The column.
    pub column: &'static str,
    /// What it has.
    pub claimed: String,
    /// What it should have, or what is wrong.
    pub found: String,
}

impl ProvenanceColumns {
    /// Those of a suite.
    pub(crate) fn of(suite: &Suite, seeds: &Seeds) -> Self {
        let all = || suite.tests().iter().map(|test| test.provenance);
        Self {
            root: all().map(|p| seeds.index(p.root) as i64).collect(),
            parent: all().map(|p| p.parent.map_or(-1, |n| n as i64)).collect(),
            stage: all().map(|p| p.stage as u8).collect(),
        }
    }

    pub(crate) fn write(&self, file: &mut NpzWriter) -> Result<(), ArchiveError> {
        let tests = [self.len()];
        file.add("root", &tests, &self.root)?;
        file.add("parent", &tests, &self.parent)?;
        Ok(file.add("stage", &tests, &self.stage)?)
    }

    /// Reads them; none where they do not fit each other.
    pub(crate) fn read(file: &mut NpzReader) -> Result<Option<Self>, ArchiveError> {
        let columns = Self {
            root: file.read("root")?.values,
            parent: file.read("parent")?.values,
            stage: file.read("stage")?.values,
        };
        let fits = [columns.parent.len(), columns.stage.len()];
        let fits = fits.iter().all(|&length| length == columns.len());
        Ok(fits.then_some(columns))
    }

    /// How many tests they are of.
    pub(crate) fn len(&self) -> usize {
        self.root.len()
    }

    /// The seed that each test was made from, by its number in the data.
    pub fn roots(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        self.root.iter().map(|&root| usize::try_from(root).ok())
    }

    /// Seeds among the tests.
    pub(crate) fn seeds(&self) -> usize {
        self.parent.iter().filter(|&&p| p < 0).count()
    }

    /// What is wrong with a test of a run from these seeds, by their numbers in the data: seeds come first,
    /// and each other test was made from an earlier one round the same seed.
    pub fn misfits(&self, test: usize, seeds: &[usize]) -> Vec<Misfit> {
        let (root, parent, stage) = (self.root[test], self.parent[test], self.stage[test]);
        let misfit = |column, claimed: String, found: String| Misfit {
            column,
            claimed,
            found,
        };
        if let Some(&seed) = seeds.get(test) {
            let columns = [
                ("root", root, seed as i64),
                ("parent", parent, -1),
                ("stage", stage.into(), i64::from(Stage::Measure as u8)),
            ];
            let wrong = columns.into_iter().filter(|(_, claimed, is)| claimed != is);
            return wrong
                .map(|(column, claimed, is)| misfit(column, claimed.to_string(), is.to_string()))
                .collect();
        }
        let mut misfits = Vec::new();
        if !Stage::from_number(stage).is_some_and(Stage::makes_tests) {
            let found = "no stage that makes tests".into();
            misfits.push(misfit("stage", stage.to_string(), found));
        }
        match usize::try_from(parent).ok().filter(|&p| p < test) {
            Some(parent) if self.root[parent] != root => {
                let found = format!("test {parent}, whose root is {}", self.root[parent]);
                misfits.push(misfit("parent", format!("a test round {root}"), found));
            }
            Some(_) => {}
            None => misfits.push(misfit(
                "parent",
                parent.to_string(),
                "no earlier test".into(),
            )),
        }
        if !seeds.iter().any(|&seed| seed as i64 == root) {
            misfits.push(misfit(
                "root",
                root.to_string(),
                "no seed of the run".into(),
            ));
        }
        misfits
    }
}

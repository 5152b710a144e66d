//! What the folder of a run says, read without its model or data: for those who show it. Nothing is judged here
//! (`check` does that), but every number is one that can be used.

use std::path::{Path, PathBuf};

use deepconcolic_geometry::Domain;
use deepconcolic_record::{
    ADVERSARIAL_TABLE, AdversarialTable, ArchiveError, JournalEntry, NEAREST_ADVERSARIAL_TABLE,
    NearestAdversarialTable, NeuronRanges, RequirementTable, RunFolder, SuiteTable, Summary,
};

use super::{ADVERSARIAL, NEAREST_ADVERSARIAL, NEURONS, REQUIREMENTS, SUITE, SUMMARY};
use crate::error::Error;
use crate::settings::Settings;

/// The folder of a run, read.
pub struct SavedRun {
    /// The folder.
    pub folder: PathBuf,
    /// `run.json`.
    pub summary: Summary,
    /// The settings in it.
    pub settings: Settings,
    /// The shape of one input.
    pub shape: Vec<usize>,
    /// Where inputs may lie.
    pub domain: Domain,
    /// `suite.npz`.
    pub suite: SuiteTable,
    /// `requirements.npz`.
    pub requirements: RequirementTable,
    /// What the suite shows of neurons; nothing in folders of versions that did not keep it.
    pub neurons: NeuronRanges,
    /// The adversarial tests of the suite; none if there are none.
    pub adversarial: AdversarialTable,
    /// The nearest adversarial inputs, if there are any.
    pub nearest_adversarial: Option<NearestAdversarialTable>,
    /// The steps of the journal; empty where it cannot be read.
    pub steps: Vec<JournalEntry>,
}

impl SavedRun {
    /// Whether a folder is that of a run.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(SUMMARY).is_file()
    }

    /// Reads it.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let damaged = |file: &str, detail: String| {
            let path = folder.join(file);
            Error::from(ArchiveError::Damaged { path, detail })
        };
        let summary = Summary::read(&folder.join(SUMMARY))?;
        let settings = Settings::read(&summary.settings).map_err(|e| damaged(SUMMARY, e))?;
        let path = folder.join(SUITE);
        let shape = SuiteTable::shape(&path)?;
        let size = |product: usize, &side: &usize| product.checked_mul(side);
        let elements = shape.iter().try_fold(1, size);
        let elements = elements
            .filter(|&elements| elements > 0)
            .ok_or_else(|| damaged(SUITE, format!("inputs of the shape {shape:?} are none")))?;
        let suite = SuiteTable::read(&path, elements)?;
        let domain = settings.domain.domain(elements);
        let domain = domain.map_err(|e| damaged(SUMMARY, e))?;
        let requirements = RequirementTable::read(&folder.join(REQUIREMENTS))?;
        if let Some(detail) = requirements.misfit(suite.len()) {
            return Err(damaged(REQUIREMENTS, detail));
        }
        let neurons = folder.join(NEURONS);
        let neurons = (neurons.exists())
            .then(|| NeuronRanges::read(&neurons))
            .transpose()?;
        let table = folder.join(ADVERSARIAL).join(ADVERSARIAL_TABLE);
        let adversarial = (table.exists())
            .then(|| AdversarialTable::read(&table))
            .transpose()?;
        let nearest = folder
            .join(NEAREST_ADVERSARIAL)
            .join(NEAREST_ADVERSARIAL_TABLE);
        let nearest_adversarial = (nearest.exists())
            .then(|| NearestAdversarialTable::read(&nearest, elements))
            .transpose()?;
        Ok(Self {
            folder: folder.to_owned(),
            // A folder can be shown without the journal; what it alone knows is then left out.
            steps: RunFolder::steps(folder).unwrap_or_default(),
            summary,
            settings,
            shape,
            domain,
            suite,
            requirements,
            neurons: neurons.unwrap_or_default(),
            adversarial: adversarial.unwrap_or_default(),
            nearest_adversarial,
        })
    }

    /// How many values an input has.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// A test.
    pub fn input(&self, test: usize) -> &[f32] {
        let each = self.elements();
        &self.suite.x[test * each..(test + 1) * each]
    }

    /// The row of the seed that a test was made from.
    pub fn seed_of(&self, test: usize) -> Option<usize> {
        self.seed(self.suite.provenance.root[test])
    }

    /// The row of the seed of a number in the data. Seeds come first; a run that ended early may lack some.
    pub fn seed(&self, root: i64) -> Option<usize> {
        let seeds = &self.suite.provenance.root[..self.suite.seeds()];
        seeds.iter().position(|&seed| seed == root)
    }
}

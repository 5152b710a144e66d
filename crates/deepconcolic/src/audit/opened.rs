//! The folder of a run, opened: what it says, and what is needed to do it all again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deepconcolic_campaign::{Limits, Seeds};
use deepconcolic_check::{Digest, PairJudge, Until, Witnesses};
use deepconcolic_criteria::{Decision, Family, Means};
use deepconcolic_formats::LoadUntil;
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::Network;
use deepconcolic_record::{ArchiveError, RequirementTable, SuiteTable, Summary};
use serde_json::Value;

use super::left_out::Halt;
use crate::error::Error;
use crate::folder::kept;
use crate::model::decision;
use crate::settings::Settings;
use crate::{folder, model, plan};

/// The folder of a run.
pub struct Opened {
    pub dir: PathBuf,
    /// `run.json`, as it is and as it is read.
    pub claimed: Value,
    pub summary: Summary,
    pub settings: Settings,
    /// The model at hand.
    pub digest: Digest,
    pub sha256: String,
    pub network: Network,
    pub suite: SuiteTable,
    pub table: RequirementTable,
    pub space: SearchSpace,
    pub family: Box<dyn Family>,
    pub means: Means,
    pub decision: Decision,
    /// Seeds with the numbers that the settings give them and the values that the suite has.
    pub seeds: Seeds,
    /// When checking must end.
    pub deadline: Option<Instant>,
}

impl Opened {
    /// Opens a folder, for the model that it names or the file given instead, to be checked by then.
    pub fn new(dir: &Path, model: Option<&Path>, deadline: Option<Instant>) -> Result<Self, Error> {
        let path = dir.join(folder::SUMMARY);
        let summary = Summary::read(&path)?;
        let claimed = std::fs::read(&path).map_err(Error::unreadable(&path))?;
        let claimed: Value = serde_json::from_slice(&claimed).map_err(Error::json)?;
        let damaged = |file: &str, detail: String| {
            let path = dir.join(file);
            Error::from(ArchiveError::Damaged { path, detail })
        };
        let settings =
            Settings::read(&summary.settings).map_err(|e| damaged(folder::SUMMARY, e))?;
        let settings = kept::fetched(settings, dir);
        let until = LoadUntil {
            deadline,
            ..LoadUntil::default()
        };
        let loaded = model::load_until(&settings.model.or_file(model), until)?;
        let digest = model::digest(&loaded);
        let (network, sha256) = (loaded.network, loaded.sha256);
        let elements = network.input_elements();
        let suite = SuiteTable::read(&dir.join(folder::SUITE), elements)?;
        let table = RequirementTable::read(&dir.join(folder::REQUIREMENTS))?;
        let count = settings.seeds.len();
        let values = suite.all_seeds(count, elements).filter(|_| count > 0);
        let values = values.ok_or_else(|| damaged(folder::SUITE, suite.lack_of_seeds(count)))?;
        let space = plan::saved_space(dir, &settings, &network)?;
        let seeds = Seeds::new(settings.seeds.clone(), values, elements);
        let decision = decision(settings.decision, &network)?;
        let rows: Vec<Vec<f32>> = seeds.iter().map(<[f32]>::to_vec).collect();
        Ok(Self {
            dir: dir.to_owned(),
            claimed,
            summary,
            family: plan::saved_family(dir, &settings, &network, &decision, &rows, &space)?,
            means: plan::means(&settings, &network)?,
            decision,
            settings,
            digest,
            sha256,
            network,
            suite,
            table,
            space,
            seeds,
            deadline,
        })
    }

    /// What runs tests again.
    pub fn witnesses(&self) -> Witnesses<'_> {
        Witnesses {
            network: &self.network,
            family: self.family.as_ref(),
            guide: plan::guide(self.family.as_ref()),
            space: &self.space,
            seeds: self.seeds.values(),
            means: &self.means,
            decision: &self.decision,
            until: self.until(),
        }
    }

    /// What runs two tests again.
    pub fn pairs(&self) -> PairJudge<'_> {
        PairJudge {
            network: &self.network,
            family: self.family.as_ref(),
            space: &self.space,
            seeds: self.seeds.values(),
            means: &self.means,
            until: self.until(),
        }
    }

    /// When judging must end.
    pub fn until(&self) -> Until<'static> {
        Until {
            deadline: self.deadline,
            ..Until::NEVER
        }
    }

    /// What ends measuring.
    pub fn limits(&self) -> Limits<'static> {
        Limits {
            deadline: self.deadline,
            ..Limits::default()
        }
    }

    /// Ends the check once time is up: what was cut short says nothing.
    pub fn in_time(&self) -> Result<(), Halt> {
        if self.until().is_over() {
            Err(Halt::Late)
        } else {
            Ok(())
        }
    }

    /// A test.
    pub fn input(&self, test: usize) -> &[f32] {
        let each = self.network.input_elements();
        &self.suite.x[test * each..(test + 1) * each]
    }

    /// What a person calls a requirement.
    pub fn label(&self, row: usize) -> String {
        match self.table.slot(self.family.as_ref(), row) {
            Some(slot) => self.family.label(slot.group as usize, slot.slot as usize),
            None => format!("row {row}"),
        }
    }
}

//! The last stage of a run: what is still open is tried for infeasibility over the whole search region,
//! with certificates that `check` accepts. Witnesses found on the way enter the suite like any other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use deepconcolic_check::{Digest, Region, Slot};
use deepconcolic_concolic::{Campaign, Limits, Round, Seeds};
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_network::Network;
use deepconcolic_proofs::{BatchLimits, Finding, prove_neurons, regions};
use deepconcolic_spec::criteria::{BitSet, Family};
use deepconcolic_spec::{Formula, Inputs, Requirement, SearchSpace};
use std::io::Write;

use crate::exit::Failure;

/// The folder of certificates in that of a run.
pub const CERTIFICATES: &str = "certificates";
/// Requirements that share a certificate.
const BATCH: usize = 256;
/// More balls than this are proven over as one box that holds them all.
const BALLS: usize = 4;

/// What proofs came to.
#[derive(Default)]
pub struct Proven {
    /// Certificates by requirement.
    pub infeasible: HashMap<Slot, i64>,
    /// Upper bounds on the values of requirements that stay open.
    pub bounds: HashMap<Slot, f32>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Proven {
    /// The infeasible requirements of a group.
    pub fn of_group(&self, group: usize, slots: usize) -> BitSet {
        let mut set = BitSet::new(slots);
        for slot in self.infeasible.keys() {
            if slot.group as usize == group {
                set.insert(slot.slot as usize);
            }
        }
        set
    }
}

/// The boxes that proofs are about: one for each ball, or one that holds them all when they are many.
pub fn scope(space: &SearchSpace, seeds: &[Vec<f32>]) -> Vec<(Region, Vec<f32>)> {
    let mut all = regions(space, seeds);
    if all.len() <= BALLS {
        return all;
    }
    let (mut hull, seed) = all.swap_remove(0);
    for (region, _) in &all {
        for (low, other) in hull.lower.iter_mut().zip(&region.lower) {
            *low = low.min(*other);
        }
        for (high, other) in hull.upper.iter_mut().zip(&region.upper) {
            *high = high.max(*other);
        }
    }
    vec![(hull, seed)]
}

/// Whether proofs handle a requirement: one comparison of one neuron.
fn is_plain(requirement: &Requirement) -> bool {
    requirement.inputs == Inputs::One
        && matches!(&requirement.goal(), Formula::Compare(c) if c.linear.terms.len() == 1)
}

/// What proofs work on.
pub struct Stage<'a> {
    pub network: &'a Network,
    pub family: &'a dyn Family,
    pub space: &'a SearchSpace,
    pub seeds: &'a Seeds,
    pub model: Digest,
    pub folder: PathBuf,
}

impl Stage<'_> {
    /// Tries everything that is open, batch by batch, until time is up. Rounds that add witnesses are
    /// handed to `record`.
    pub fn run(
        &self,
        campaign: &mut Campaign<'_>,
        limits: &Limits<'_>,
        record: &mut dyn FnMut(&Campaign<'_>, &Round) -> Result<(), Failure>,
    ) -> Result<Proven, Failure> {
        let mut proven = Proven::default();
        let rows: Vec<Vec<f32>> = self.seeds.iter().map(<[f32]>::to_vec).collect();
        let scope = scope(self.space, &rows);
        let mut number = 0;
        let mut beyond = 0;
        if self.family.pairs().is_some() {
            proven
                .notes
                .push("proofs are not tried for pairs of neurons".into());
            return Ok(proven);
        }
        for group in 0..self.family.groups().len() {
            let open: Vec<usize> = campaign.ledger().uncovered()[group].iter().collect();
            let asked = self.plain(group, &open);
            beyond += open.len() - asked.len();
            for batch in asked.chunks(BATCH) {
                if limits.is_late() || limits.is_interrupted() {
                    return Ok(proven);
                }
                let requirements: Vec<Requirement> = batch
                    .iter()
                    .map(|(_, requirement)| requirement.clone())
                    .collect();
                let limits = BatchLimits::default();
                let found = match prove_neurons(
                    self.network,
                    &self.model,
                    &requirements,
                    &scope,
                    &limits,
                ) {
                    Ok(found) => found,
                    Err(why) => {
                        proven.notes.push(format!("no proofs: {why}"));
                        return Ok(proven);
                    }
                };
                let mut any = false;
                for ((slot, _), finding) in batch.iter().zip(&found.findings) {
                    match finding {
                        Finding::Infeasible(_) => {
                            proven.infeasible.insert(*slot, number);
                            any = true;
                        }
                        Finding::Open { bound } => {
                            proven.bounds.insert(*slot, *bound as f32);
                        }
                        Finding::Witness(_) => {}
                    }
                }
                if any {
                    self.write(number, &found.certificate.to_bytes())?;
                    number += 1;
                }
                if let Some(round) = campaign.admit(self.proposals(found.witnesses)) {
                    record(campaign, &round)?;
                }
            }
        }
        if beyond > 0 {
            proven.notes.push(format!(
                "{beyond} open requirements are not one comparison of one neuron; proofs were not \
                 tried for them"
            ));
        }
        Ok(proven)
    }

    /// The requirements that proofs handle. Those of a layer are all of one kind, so that the first
    /// tells; those of a file are looked at one by one.
    fn plain(&self, group: usize, open: &[usize]) -> Vec<(Slot, Requirement)> {
        let requirement = |slot: usize| {
            let requirement = self.family.requirement(group, slot).ok()?;
            let (group, slot) = (group as u32, slot as u32);
            is_plain(&requirement).then_some((Slot { group, slot }, requirement))
        };
        let alike = self.family.groups()[group].layer.is_some();
        match open.first() {
            Some(&first) if alike && requirement(first).is_none() => Vec::new(),
            _ => open.iter().filter_map(|&slot| requirement(slot)).collect(),
        }
    }

    /// Witnesses with the seed each lies nearest to.
    fn proposals(&self, witnesses: Vec<Vec<f32>>) -> Vec<(Vec<f32>, usize)> {
        let root = |input: &[f32]| {
            let distances =
                (0..self.seeds.len()).map(|s| (self.space.distance(input, self.seeds.input(s)), s));
            let nearest = distances.min_by(|a, b| a.0.total_cmp(&b.0));
            nearest.map_or(0, |(_, s)| s)
        };
        witnesses
            .into_iter()
            .map(|input| {
                let root = root(&input);
                (input, root)
            })
            .collect()
    }

    fn write(&self, number: i64, bytes: &[u8]) -> Result<(), Failure> {
        let path = file(&self.folder, number);
        std::fs::create_dir_all(&self.folder).map_err(|e| {
            Failure::Usage(format!("{} cannot be made: {e}", self.folder.display()))
        })?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(bytes)
            .map_err(|e| Failure::Usage(format!("{} cannot be written: {e}", path.display())))?;
        Ok(file.commit()?)
    }
}

/// The file of a certificate.
pub fn file(folder: &Path, number: i64) -> PathBuf {
    folder.join(format!("{number:05}.certificate"))
}

//! What a saved run worked on, read anew from what its settings name: model, data, seeds, region.

use std::path::Path;
use std::sync::Arc;

use deepconcolic_campaign::{Limits, Seeds, first_seeds, given_seeds};
use deepconcolic_dataset::Samples;
use deepconcolic_formats::LoadUntil;

use crate::error::Error;
use crate::event::Event;
use crate::folder::{PROFILE, profile_file};
use crate::prepare::{Prepared, decision_notes, not_finite};
use crate::session::Listener;
use crate::settings::{SeedChoice, Settings, hash_samples, hash_values};
use crate::{model, plan, samples, two_inputs};

impl Prepared {
    /// From settings, and the folder of a run that has the rest, unless reading the model must end before. Everything must
    /// be as the run had it.
    pub fn of_saved(
        settings: Settings,
        dir: &Path,
        file: Option<&Path>,
        until: LoadUntil,
        tell: &mut Listener<'_>,
    ) -> Result<Self, Error> {
        let loaded = model::load_until(&settings.model.or_file(file), until)?;
        loaded
            .notes
            .iter()
            .cloned()
            .map(Event::Note)
            .for_each(&mut *tell);
        let digest = model::digest(&loaded);
        let mut notes = loaded.scope;
        let network = loaded.network;
        same(&settings.sha256, &loaded.sha256, "the model", dir)?;
        let decision = model::decision(settings.decision, &network)?;
        let data = settings.data.open(&network)?;
        same(&settings.data_sha256, &hash_samples(&data), "the data", dir)?;
        let reference = match &settings.reference {
            Some(path) => Some(settings.data.open_as(path, &network)?),
            None => None,
        };
        if let (Some(samples), Some(hash)) = (&reference, &settings.reference_sha256) {
            same(hash, &hash_samples(samples), "the reference data", dir)?;
        }
        let seeds = seeds(&settings, &data);
        let hash = hash_values(seeds.iter().flatten());
        same(&settings.seed_values, &hash, "the seeds", dir)?;
        let inputs = samples::inputs(&data, &decision)?;
        let limits = Limits::default();
        let choice = match settings.seed_choice {
            SeedChoice::First(count) => first_seeds(&network, &inputs, &decision, count, &limits),
            SeedChoice::Given => {
                given_seeds(&network, &inputs, &decision, &settings.seeds, &limits)
            }
        };
        let (_, sampled) = deepconcolic_campaign::means(&network, &inputs);
        let space = plan::saved_space(dir, &settings, &network)?;
        let profile = if plan::needs_profile(&settings)? {
            profile_file::load(&dir.join(PROFILE), &network)?
        } else {
            None
        };
        let rows: Vec<Vec<f32>> = seeds.iter().map(<[f32]>::to_vec).collect();
        let family = plan::family(
            &settings,
            &network,
            &decision,
            &rows,
            &space,
            profile.as_ref(),
        )?;
        notes.extend(decision_notes(&decision));
        notes.extend(not_finite(&choice));
        notes.extend(settings.filter_note());
        notes.extend(family.notes());
        notes.extend(two_inputs::of_run(family.as_ref(), &space));
        Ok(Self {
            digest,
            network: Arc::new(network),
            decision: Arc::new(decision),
            data,
            reference,
            settings,
            space: Arc::new(space),
            family: family.into(),
            profile,
            seeds: Arc::new(seeds),
            misclassified: choice.misclassified,
            runs: choice.runs + sampled,
            notes,
        })
    }
}

/// The seeds that the settings name; what is not in the data is left out, and its values are missed later.
fn seeds(settings: &Settings, data: &Samples) -> Seeds {
    let known: Vec<usize> = (settings.seeds.iter().copied())
        .filter(|&index| index < data.len())
        .collect();
    let values = known.iter().flat_map(|&index| data.sample(index)).collect();
    Seeds::new(known, values, data.features())
}

fn same(claimed: &str, found: &str, what: &str, dir: &Path) -> Result<(), Error> {
    if claimed == found {
        return Ok(());
    }
    Err(Error::Request(format!(
        "{what} at hand: not as {} had it (SHA-256 {found}, not {claimed})",
        dir.display()
    )))
}

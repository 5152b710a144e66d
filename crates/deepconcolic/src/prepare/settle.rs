//! Fewer seeds than were chosen, where there is no time to measure them all. A search begins once every seed was
//! measured, and where requirements are millions, to look up what a seed meets takes far longer than to run it.

use std::time::Instant;

use deepconcolic_campaign::{Campaign, Limits, Seeds};

use super::{Prepared, numbers};
use crate::error::Error;
use crate::job::{Job, SeedRequest};
use crate::plan;
use crate::settings::hash_values;

/// Seeds that are measured to find out what one takes.
const FEW: usize = 8;

impl Prepared {
    /// Keeps as many seeds as can be measured within limits, and one in any case.
    pub(super) fn settle(&mut self, job: &Job, limits: &Limits<'_>) -> Result<(), Error> {
        let chosen = self.seeds.len();
        let Some(deadline) = limits.deadline.filter(|_| chosen > FEW) else {
            return Ok(());
        };
        let few = Limits {
            executions: Some(FEW),
            ..*limits
        };
        let strategy = plan::strategy(&self.settings.strategy)?;
        let rng_seed = self.settings.rng_seed;
        let campaign =
            Campaign::new(self.subject()?, strategy, rng_seed, 0, &few).map_err(Error::Request)?;
        let measured = campaign.suite().len();
        self.runs += measured;
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left.as_secs_f64() / campaign.measuring().as_secs_f64();
        let fit = (share * measured as f64) as usize;
        if fit < chosen {
            self.keep_seeds(fit.max(1), job)?;
        }
        Ok(())
    }

    /// Starts from the first so many seeds only.
    fn keep_seeds(&mut self, count: usize, job: &Job) -> Result<(), Error> {
        let indices: Vec<usize> = (0..count).map(|seed| self.seeds.index(seed)).collect();
        let inputs = self.seeds.iter().take(count).flatten().copied().collect();
        let seeds = Seeds::new(indices, inputs, self.network.input_elements());
        let last = seeds.index(count - 1);
        self.misclassified.retain(|sample| match &job.seeds {
            SeedRequest::Given(_) => (0..count).any(|seed| seeds.index(seed) == *sample),
            SeedRequest::First(_) => *sample < last,
        });
        let settings = &mut self.settings;
        settings.seeds_asked = Some(job.seeds.count());
        settings.seed_choice = job.seed_choice(Some(count));
        settings.seeds = numbers(&seeds);
        settings.seed_values = hash_values(seeds.iter().flatten());
        let subject = (&*self.network, &*self.decision);
        let profile = self.profile.as_ref();
        let family = job.family(&self.settings, subject, &seeds, &self.space, profile)?;
        self.family = family.into();
        self.seeds = seeds.into();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::settings::SeedChoice;

    fn job(criterion: &str) -> Job {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let mut job = Job::new(root.join("mlp.onnx"), root.join("data_mlp.npz"), criterion);
        job.seeds = SeedRequest::First(20);
        job
    }

    fn within(seconds: u64) -> Limits<'static> {
        Limits {
            deadline: Some(Instant::now() + Duration::from_secs(seconds)),
            ..Limits::default()
        }
    }

    #[test]
    fn where_there_is_no_time_one_seed_is_kept_and_everything_is_about_it_alone() {
        let job = job("safety");
        let mut prepared = Prepared::of(&job, &mut |_| {}).unwrap();
        let first = prepared.seeds.input(0).to_vec();
        assert_eq!(prepared.family.groups()[0].slots(), 20);
        prepared.settle(&job, &within(0)).unwrap();
        assert_eq!(prepared.seeds.len(), 1);
        assert_eq!(prepared.seeds.input(0), first);
        assert_eq!(prepared.family.groups()[0].slots(), 1);
        assert_eq!(prepared.settings.seeds.len(), 1);
        assert_eq!(prepared.settings.seeds_asked, Some(20));
        assert_eq!(prepared.settings.seed_choice, SeedChoice::First(1));
        assert_eq!(prepared.settings.seed_values, hash_values(first.iter()));
        assert!(
            prepared
                .misclassified
                .iter()
                .all(|&s| s < prepared.seeds.index(0))
        );
        let note = job.seeds_note(&prepared.settings).unwrap();
        assert_eq!(note, "1 of 20 seeds are used: there was time for no more");
    }

    #[test]
    fn where_there_is_time_or_no_clock_all_are_kept() {
        let job = job("nc");
        let mut prepared = Prepared::of(&job, &mut |_| {}).unwrap();
        for limits in [within(3600), Limits::default()] {
            prepared.settle(&job, &limits).unwrap();
            assert_eq!(prepared.seeds.len(), 20);
            assert_eq!(prepared.settings.seeds_asked, None);
        }
    }
}

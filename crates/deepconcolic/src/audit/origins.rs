//! Where a run comes from: model, data, reference data, requirements, boxes, settings and seeds are those
//! that the folder names, as far as they are still there.

use deepconcolic_campaign::{Choice, first_seeds, given_seeds};
use deepconcolic_dataset::Samples;

use super::RunFindings;
use super::left_out::Halt;
use super::opened::Opened;
use crate::error::Error;
use crate::folder::{self, fingerprints, region_file};
use crate::samples;
use crate::settings::{
    DataNames, DomainSettings, SeedChoice, Settings, Shapes, hash_samples, hash_text, hash_values,
};

/// Data of the run that were found again, and what follows from them.
pub struct Origins {
    pub data: Option<Samples>,
    pub references: Option<Samples>,
    /// The seeds that the data give.
    pub choice: Option<Choice>,
}

/// Judges all of it.
pub fn judge(opened: &Opened, report: &mut RunFindings) -> Result<Origins, Halt> {
    identities(opened, report)?;
    let data = data(opened, report);
    let references = references(opened, data.as_ref(), report);
    let choice = match &data {
        Some(data) => Some(choice(opened, data)?),
        None => None,
    };
    opened.in_time()?;
    if let (Some(data), Some(choice)) = (&data, &choice) {
        from_data(opened, data, choice, report)?;
    }
    Ok(Origins {
        data,
        references,
        choice,
    })
}

const RUN: &str = folder::SUMMARY;

/// Fingerprints of what is in the folder, and of the model.
fn identities(opened: &Opened, report: &mut RunFindings) -> Result<(), Error> {
    let Opened {
        settings, seeds, ..
    } = opened;
    report.compare(RUN, "model.sha256", &settings.sha256, &opened.sha256);
    if settings.shapes != Some(Shapes::of(&opened.network)) {
        report.differs(RUN, "settings.shapes", "other shapes", "those of the model");
    }
    if let Some(file) = &settings.requirements {
        let found = hash_text(&file.text);
        report.compare(RUN, "settings.requirements.sha256", &file.sha256, &found);
    }
    if let Some(claimed) = &settings.region {
        let saved = region_file::NAMES.map(|name| opened.dir.join(name));
        if let Some(path) = saved.iter().find(|path| path.exists()) {
            let found = fingerprints::of_file(path)?;
            report.compare(RUN, "settings.region", claimed, &found);
        }
    }
    let found = hash_values(seeds.iter().flatten());
    report.compare(RUN, "settings.seed_values", &settings.seed_values, &found);
    if let Some(text) = &settings.domain.given {
        let (domain, words) = samples::parse_domain(text, opened.network.inputs())?;
        let found = DomainSettings::new(&domain, settings.domain.given.clone(), words);
        if settings.domain != found {
            report.differs(RUN, "settings.domain", "other ends", text);
        }
    }
    Ok(())
}

/// The data, if they are there and the run's.
fn data(opened: &Opened, report: &mut RunFindings) -> Option<Samples> {
    let settings = &opened.settings;
    let name = settings.data.data.display().to_string();
    let found = settings.data.open(&opened.network);
    let same = same(found, &name, Some(&settings.data_sha256), report);
    if same.is_none() {
        let about = "the seeds are the data rows named and the first that the network gets right \
             (settings.seeds, tests.misclassified); accuracy; baseline.data_coverage and baseline.layers; names of classes and features; samples, data_sha256 \
             and means of the settings";
        report.unverified.push(format!("without the data: {about}"));
        if settings.domain.given.is_none() {
            let about = "that the domain is the default of the data (settings.domain)";
            report.unverified.push(format!("without the data: {about}"));
        }
    }
    same
}

/// What the oracle judges by, if it is there and the run's.
fn references(
    opened: &Opened,
    data: Option<&Samples>,
    report: &mut RunFindings,
) -> Option<Samples> {
    let settings = &opened.settings;
    let same = match &settings.reference {
        None => data.cloned(),
        Some(path) => {
            let found = settings.data.open_as(path, &opened.network);
            let claimed = settings.reference_sha256.as_ref();
            same(found, &path.display().to_string(), claimed, report)
        }
    };
    if same.is_none() {
        let about = "that `reference`, `reference_distance` and `reference_label` of suite.npz are of the nearest \
             reference; verdicts were judged by what these say";
        let line = format!("without the reference data: {about}");
        report.unverified.push(line);
    }
    same
}

/// Data with the fingerprint claimed.
fn same(
    found: Result<Samples, Error>,
    name: &str,
    claimed: Option<&String>,
    report: &mut RunFindings,
) -> Option<Samples> {
    let samples = found.ok()?;
    let hash = hash_samples(&samples);
    if claimed == Some(&hash) {
        return Some(samples);
    }
    let claimed = claimed.map_or("nothing", String::as_str);
    report.differs(name, "SHA-256 of the samples as used", claimed, hash);
    None
}

fn choice(opened: &Opened, data: &Samples) -> Result<Choice, Error> {
    let Opened {
        network, decision, ..
    } = opened;
    let Settings {
        seed_choice, seeds, ..
    } = &opened.settings;
    let inputs = samples::inputs(data, decision)?;
    Ok(match seed_choice {
        SeedChoice::First(count) => {
            first_seeds(network, &inputs, decision, *count, &opened.limits())
        }
        SeedChoice::Given => {
            let known: Vec<usize> = seeds.iter().copied().filter(|&s| s < data.len()).collect();
            given_seeds(network, &inputs, decision, &known, &opened.limits())
        }
    })
}

/// What the settings say of the data.
fn from_data(
    opened: &Opened,
    data: &Samples,
    choice: &Choice,
    report: &mut RunFindings,
) -> Result<(), Error> {
    let Opened {
        settings, seeds, ..
    } = opened;
    report.compare(RUN, "settings.samples", settings.samples, data.len());
    if settings.names != DataNames::of(data) {
        report.differs(RUN, "settings.names", "other names", "those of the data");
    }
    let found: Vec<usize> = (0..choice.seeds.len())
        .map(|s| choice.seeds.index(s))
        .collect();
    if settings.seeds != found {
        let show = |list: &[usize]| format!("{list:?}");
        report.differs(RUN, "settings.seeds", show(&settings.seeds), show(&found));
    }
    for (number, &index) in settings.seeds.iter().enumerate() {
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let same = index < data.len() && bits(&data.sample(index)) == bits(seeds.input(number));
        if !same {
            let field = format!("x[{number}]");
            let claimed = format!("sample {index} of the data");
            report.differs(folder::SUITE, field, claimed, "other values");
        }
    }
    let (domain, words) = samples::domain(settings.domain.given.as_deref(), data, &opened.network)?;
    let found = DomainSettings::new(&domain, settings.domain.given.clone(), words);
    if settings.domain != found {
        let show = |d: &DomainSettings| serde_json::to_string(d).unwrap_or_default();
        report.differs(RUN, "settings.domain", show(&settings.domain), show(&found));
    }
    let inputs = samples::inputs(data, &opened.decision)?;
    let (means, _) = deepconcolic_campaign::means(&opened.network, &inputs);
    // Machines with other instructions round otherwise.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * a.abs().max(b.abs());
    let all = settings.means.len() == means.layers().len()
        && settings.means.iter().zip(means.layers()).all(near);
    if !all {
        let show = |list: &[f64]| format!("{list:?}");
        report.differs(
            RUN,
            "settings.means",
            show(&settings.means),
            show(means.layers()),
        );
    }
    Ok(())
}

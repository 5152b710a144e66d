//! `coverage`: what data cover, by any number of criteria in one pass.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use deepconcolic_campaign::{Accuracy, Measurement, Noise, answer, measure, sanity};
use deepconcolic_criteria::{Criterion, Decision, Family, Group, Profile, Rule, Setting};
use deepconcolic_dataset::Samples;
use deepconcolic_dataset::write::AtomicFile;
use deepconcolic_geometry::{Domain, InputSpace};
use deepconcolic_language::{Inputs, RequirementSet};
use deepconcolic_network::{BitSet, Network};
use serde::Serialize;

use crate::arguments::{DataArguments, DecisionArguments, ModelArguments, ThreadArguments};
use crate::criteria::{self, CriterionArguments};
use crate::exit::{Failure, Status};
use crate::samples::{self, LabelledInputs};
use crate::{Outcome, exit, model, paths, profile_file, requirements, two_inputs};

/// Measure what data cover of a model, by several criteria in one pass
#[derive(Args)]
#[command(after_long_help = criteria::help())]
pub struct Coverage {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    decision: DecisionArguments,
    /// A criterion by name; may be given several times (see --help for all of them)
    #[arg(long, value_name = "C", required_unless_present = "requirements")]
    criterion: Vec<String>,
    /// Requirements of your own: a .dr file, or a .vnnlib file (also .gz)
    #[arg(long, value_name = "FILE")]
    requirements: Option<PathBuf>,
    /// Show up to N open requirements of each criterion
    #[arg(long, value_name = "N", default_value_t = 0)]
    open: usize,
    /// Also print the first N requirements of each criterion as formulas
    #[arg(long, value_name = "N", default_value_t = 0)]
    print: usize,
    /// Bounds for nbc, snac, kmnc come from these data, or from a saved profile (default: the first
    /// tenth of the data)
    #[arg(long, value_name = "DATA")]
    profile: Option<PathBuf>,
    /// Save the profile for the next time
    #[arg(long, value_name = "FILE.npz")]
    save_profile: Option<PathBuf>,
    /// The domain of every input element (default: 0..1 for images, else the observed ranges)
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    domain: Option<String>,
    /// Do not measure as many noise inputs for comparison
    #[arg(long)]
    no_noise: bool,
    /// Seed of the noise
    #[arg(long, value_name = "S", default_value_t = 0)]
    rng_seed: u64,
    /// Write the figures as JSON (`-` for standard output)
    #[arg(long, value_name = "F")]
    json: Option<PathBuf>,
    #[command(flatten)]
    knobs: CriterionArguments,
    #[command(flatten)]
    threads: ThreadArguments,
}

#[derive(Serialize)]
struct Report {
    samples: usize,
    layout: String,
    domain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// How outputs are read; none where nobody has said.
    decision: Option<Rule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// Samples by the class the network gives them; empty where its answer is no class.
    classes: Vec<usize>,
    /// What the user should know about the data.
    notes: Vec<String>,
    criteria: Vec<CriterionReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirements: Option<RequirementReport>,
}

#[derive(Serialize)]
struct CriterionReport {
    name: &'static str,
    definition: &'static str,
    total: usize,
    covered: usize,
    coverage: f64,
    /// Share that as many inputs of uniform noise cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<f64>,
    layers: Vec<LayerReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    formulas: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize)]
struct LayerReport {
    name: String,
    total: usize,
    covered: usize,
}

#[derive(Serialize)]
struct RequirementReport {
    #[serde(serialize_with = "paths::serialize")]
    file: PathBuf,
    total: usize,
    covered: usize,
    coverage: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<String>,
}

fn share(covered: usize, total: usize) -> f64 {
    if total == 0 {
        1.0
    } else {
        covered as f64 / total as f64
    }
}

impl Coverage {
    /// Measures and reports.
    pub fn run(&self) -> Outcome {
        self.threads.run(|| self.work())?
    }

    fn work(&self) -> Outcome {
        let chosen: Vec<&'static dyn Criterion> = self
            .criterion
            .iter()
            .map(|name| criteria::find(name))
            .collect::<Result<_, _>>()?;
        let network = model::load(&self.model)?.network;
        let requirements = self.requirements(&network)?;
        let decision = self.decision.of(&network)?;
        let data = self.data.open(&network)?;
        let inputs = samples::inputs(&data, &decision)?;
        let (domain, domain_words) = samples::domain(self.domain.as_deref(), &data)?;
        let space = domain.space(samples::pixels(&network));
        let (profile, profile_words) = self.profile(&network, &data, &chosen)?;
        let families = self.families(
            &network,
            &decision,
            &data,
            &chosen,
            profile.as_ref(),
            &space,
        )?;
        let refs: Vec<&dyn Family> = families.iter().map(AsRef::as_ref).collect();
        let measured = measure(&network, &inputs, &refs, &decision);
        if let Some(why) = sanity::refusal(&measured.answers) {
            return Err(Failure::Usage(why));
        }
        let notes = samples::notes(&data, &measured.answers, &domain, &domain_words);
        let noise = self.noise(&network, domain, data.len(), &refs, &decision);
        let report = Report {
            samples: data.len(),
            layout: data.layout().to_owned(),
            domain: domain_words,
            profile: profile_words,
            decision: decision.rule(),
            accuracy: measured.answers.accuracy().map(Accuracy::share),
            classes: measured.answers.classes.clone(),
            notes,
            criteria: chosen
                .iter()
                .enumerate()
                .map(|(i, criterion)| {
                    let noise = noise.as_ref().map(|n| n.covered[i].as_slice());
                    let family = families[i].as_ref();
                    self.criterion(&network, *criterion, family, &measured.covered[i], noise)
                })
                .collect(),
            requirements: match requirements {
                Some(set) => Some(self.answers(&network, &inputs, &set, &space)?),
                None => None,
            },
        };
        self.write(&report)
    }

    fn requirements(&self, network: &Network) -> Result<Option<RequirementSet>, Failure> {
        let Some(path) = &self.requirements else {
            return Ok(None);
        };
        Ok(Some(requirements::load(path, network)?))
    }

    /// The profile to compare with, if a criterion needs one, and where it is from.
    fn profile(
        &self,
        network: &Network,
        data: &Samples,
        chosen: &[&dyn Criterion],
    ) -> Result<(Option<Profile>, Option<String>), Failure> {
        let needed = self.save_profile.is_some() || chosen.iter().any(|c| c.needs_profile());
        if !needed {
            return Ok((None, None));
        }
        let (found, words) = profile_file::find(
            self.profile.as_deref(),
            &self.data.settings(),
            data,
            network,
        )?;
        if let Some(path) = &self.save_profile {
            profile_file::save(path, network, &found)?;
        }
        Ok((Some(found), Some(words)))
    }

    fn families(
        &self,
        network: &Network,
        decision: &Decision,
        data: &Samples,
        chosen: &[&dyn Criterion],
        profile: Option<&Profile>,
        space: &InputSpace,
    ) -> Result<Vec<Box<dyn Family>>, Failure> {
        let parameters = self.knobs.parameters()?;
        let selection = self.knobs.selection(network)?;
        // Regions are balls round the data themselves.
        let seeds: Vec<Vec<f32>> = match parameters.radius {
            Some(_) => (0..data.len()).map(|s| data.sample(s)).collect(),
            None => Vec::new(),
        };
        let setting = Setting {
            network,
            selection: &selection,
            parameters: &parameters,
            decision,
            seeds: &seeds,
            space,
            profile,
        };
        chosen
            .iter()
            .map(|criterion| {
                let refuse = |why| Failure::Usage(format!("{}: {why}", criterion.name()));
                criterion.family(&setting).map_err(refuse)
            })
            .collect()
    }

    fn noise(
        &self,
        network: &Network,
        domain: Domain,
        count: usize,
        families: &[&dyn Family],
        decision: &Decision,
    ) -> Option<Measurement> {
        if self.no_noise || families.is_empty() {
            return None;
        }
        let noise = Noise::new(domain, count, self.rng_seed);
        Some(measure(network, &noise, families, decision))
    }

    fn criterion(
        &self,
        network: &Network,
        criterion: &'static dyn Criterion,
        family: &dyn Family,
        covered: &[BitSet],
        noise: Option<&[BitSet]>,
    ) -> CriterionReport {
        let groups = family.groups();
        let count = |covered: &[BitSet]| -> usize {
            let groups = groups.iter().zip(covered);
            groups
                .map(|(group, covered)| covered.count_without(&group.void))
                .sum()
        };
        let total = groups.iter().map(Group::total).sum();
        let done = count(covered);
        let slots = groups.iter().enumerate().flat_map(|(g, group)| {
            let required = (0..group.slots()).filter(|&s| !group.void.contains(s));
            required.map(move |s| (g, s))
        });
        let open = slots.clone().filter(|&(g, s)| !covered[g].contains(s));
        CriterionReport {
            name: criterion.name(),
            definition: criterion.definition(),
            total,
            covered: done,
            coverage: share(done, total),
            noise: noise.map(|n| share(count(n), total)),
            layers: layers(network, family, covered),
            open: open
                .take(self.open)
                .map(|(g, s)| family.label(g, s))
                .collect(),
            formulas: slots
                .take(self.print)
                .map(|(g, s)| match family.requirement(g, s) {
                    Ok(requirement) => requirement.to_string(),
                    Err(why) => format!("# {} cannot be a formula: {why}", family.label(g, s)),
                })
                .collect(),
            notes: {
                let mut notes = family.notes();
                if two_inputs::has_some(family) {
                    notes.push(two_inputs::OVER_DATA.into());
                }
                notes
            },
        }
    }

    fn answers(
        &self,
        network: &Network,
        data: &LabelledInputs<'_>,
        set: &RequirementSet,
        space: &InputSpace,
    ) -> Result<RequirementReport, Failure> {
        let path = self.requirements.clone().unwrap_or_default();
        let in_file = |e: deepconcolic_language::Error| e.in_file(&path.display().to_string());
        let answers = answer(network, data, set, space).map_err(in_file)?;
        let covered = answers.iter().filter(|a| a.is_met()).count();
        let open = (0..answers.len())
            .filter(|&i| !answers[i].is_met())
            .take(self.open);
        let mut pairs = false;
        for requirement in set.iter() {
            pairs |= requirement.map_err(in_file)?.inputs == Inputs::Two;
        }
        Ok(RequirementReport {
            notes: pairs
                .then(|| two_inputs::OVER_DATA.into())
                .into_iter()
                .collect(),
            total: answers.len(),
            covered,
            coverage: share(covered, answers.len()),
            open: open
                .map(|i| set.get(i).map(|requirement| requirement.to_string()))
                .collect::<Result<_, _>>()
                .map_err(in_file)?,
            file: path,
        })
    }

    fn write(&self, report: &Report) -> Outcome {
        let files = [&self.json, &self.save_profile];
        let mut out = exit::output_beside(files.into_iter().flatten().map(PathBuf::as_path));
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => {
                serde_json::to_writer_pretty(&mut out, report).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            json => {
                // The file first: whoever reads the output may not read all of it.
                if let Some(path) = json {
                    let mut file = AtomicFile::create(path)?;
                    let refuse = |e| Failure::Usage(format!("{}: {e}", path.display()));
                    serde_json::to_writer_pretty(&mut file, report)
                        .map_err(io::Error::from)
                        .and_then(|()| writeln!(file))
                        .map_err(refuse)?;
                    file.commit()?;
                }
                report.print(&mut out)?;
            }
        }
        Ok(Status::Done)
    }
}

/// Figures by layer; several groups of one layer (pairs) are one row.
fn layers(network: &Network, family: &dyn Family, covered: &[BitSet]) -> Vec<LayerReport> {
    let mut rows: Vec<LayerReport> = Vec::new();
    for (group, covered) in family.groups().iter().zip(covered) {
        let name = match group.layer {
            Some(layer) => network.layers()[layer].name(),
            None => "output",
        };
        let done = covered.count_without(&group.void);
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => {
                row.total += group.total();
                row.covered += done;
            }
            None => rows.push(LayerReport {
                name: name.to_owned(),
                total: group.total(),
                covered: done,
            }),
        }
    }
    rows
}

impl Report {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{} samples ({}), domain {}",
            self.samples, self.layout, self.domain
        )?;
        if let Some(profile) = &self.profile {
            writeln!(out, "profile: {profile}")?;
        }
        if let Some(rule) = self.decision {
            writeln!(out, "decision: {}", rule.words())?;
        }
        if let Some(accuracy) = self.accuracy {
            writeln!(out, "accuracy {:.2} %", accuracy * 100.0)?;
        }
        if !self.classes.is_empty() {
            let classes: Vec<String> = self.classes.iter().map(ToString::to_string).collect();
            writeln!(out, "samples by predicted class: {}", classes.join(" "))?;
        }
        for note in &self.notes {
            writeln!(out, "warning: {note}")?;
        }
        for criterion in &self.criteria {
            criterion.print(out)?;
        }
        if let Some(requirements) = &self.requirements {
            writeln!(
                out,
                "\n{}: {} of {} requirements met ({:.2} %)",
                requirements.file.display(),
                requirements.covered,
                requirements.total,
                requirements.coverage * 100.0
            )?;
            for note in &requirements.notes {
                writeln!(out, "  note: {note}")?;
            }
            for open in &requirements.open {
                writeln!(out, "  open: {open}")?;
            }
        }
        Ok(())
    }
}

impl CriterionReport {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{}: {}", self.name, self.definition)?;
        let noise = match self.noise {
            Some(noise) => format!("; as many noise inputs: {:.2} %", noise * 100.0),
            None => String::new(),
        };
        writeln!(
            out,
            "  {} of {} covered: {:.2} %{noise}",
            self.covered,
            self.total,
            self.coverage * 100.0
        )?;
        let width = self.layers.iter().map(|l| l.name.len()).max().unwrap_or(0);
        for layer in &self.layers {
            writeln!(
                out,
                "  {:width$}  {:>10} of {:>10}  {:>6.2} %",
                layer.name,
                layer.covered,
                layer.total,
                share(layer.covered, layer.total) * 100.0
            )?;
        }
        for note in &self.notes {
            writeln!(out, "  note: {note}")?;
        }
        for formula in &self.formulas {
            writeln!(out, "  {formula}")?;
        }
        for open in &self.open {
            writeln!(out, "  open: {open}")?;
        }
        Ok(())
    }
}

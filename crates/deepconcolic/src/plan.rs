//! From settings to what a campaign works on: the same for a new run and for a saved one.

use std::path::Path;

use deepconcolic_campaign::Strategy;
use deepconcolic_criteria::{
    Criterion, Decision, Family, Guide, Joined, Means, Profile, Setting, Written,
};
use deepconcolic_geometry::{Domain, Extent, ImageShape, Norm, SearchSpace, Unsupported, Validity};
use deepconcolic_network::Network;

use crate::error::Error;
use crate::folder::{PROFILE, profile_file, region_file};
use crate::job::STRATEGIES;
use crate::settings::Settings;
use crate::{criterion, requirements, samples};

/// The radius when none is given.
pub fn default_radius(norm: Norm) -> f64 {
    norm.default_radius()
}

/// Refuses a radius that a norm has no ball of.
pub fn check_radius(option: &str, norm: Norm, radius: f64) -> Result<(), Error> {
    let refused = |unsupported: Unsupported| {
        Error::Request(format!(
            "{option} {radius} does not fit --norm {norm}: {}",
            unsupported.why
        ))
    };
    norm.check_radius(radius).map_err(refused)
}

/// The strategy of a name.
pub fn strategy(name: &str) -> Result<Strategy, Error> {
    let found = STRATEGIES.iter().find(|(known, _)| *known == name);
    found.map(|(_, strategy)| *strategy).ok_or_else(|| {
        let names = STRATEGIES.map(|(name, _)| name);
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        Error::Request(format!(
            "there is no strategy `{name}`; there are {} and {last}",
            others.join(", ")
        ))
    })
}

/// Where tests may lie.
pub fn search_space(
    settings: &Settings,
    network: &Network,
    domain: Domain,
    boxes: Option<Vec<region_file::Box>>,
) -> Result<SearchSpace, Error> {
    let norm = settings.parameters.norm;
    if let Some(radius) = settings.radius {
        check_radius("--radius", norm, radius)?;
    }
    let extent = match (boxes, settings.radius) {
        (Some(boxes), _) => Extent::Boxes(boxes),
        (None, Some(radius)) => Extent::Balls(radius),
        (None, None) => Extent::Domain,
    };
    let mut space = SearchSpace::of(domain, samples::pixels(network), norm, extent);
    space.grid = settings.quantise;
    settings.features.restrict(&mut space);
    if let Some(least) = settings.validity {
        let shape = ImageShape::of(network.input_shape().without_batch()).ok_or_else(|| {
            Error::Request(format!(
                "--validity ssim compares images of at least 7 x 7 pixels; the model's input is {}",
                network.input_shape()
            ))
        })?;
        space.validity = Some(Validity { least, shape });
    }
    Ok(space)
}

/// Where tests of a saved run may lie: the folder has the domain as numbers, and the boxes.
pub fn saved_space(
    dir: &Path,
    settings: &Settings,
    network: &Network,
) -> Result<SearchSpace, Error> {
    let elements = network.input_elements();
    let domain = settings.domain.domain(elements).map_err(Error::Request)?;
    let boxes = if settings.region.is_some() {
        let names = region_file::NAMES.map(|name| dir.join(name));
        let path = names.iter().find(|path| path.exists()).ok_or_else(|| {
            Error::Request(format!(
                "{}: the boxes of the run are missing",
                names[0].display()
            ))
        })?;
        Some(region_file::load(path, &domain)?.boxes)
    } else {
        None
    };
    search_space(settings, network, domain, boxes)
}

/// What a saved run required.
pub fn saved_family(
    dir: &Path,
    settings: &Settings,
    network: &Network,
    decision: &Decision,
    seeds: &[Vec<f32>],
    space: &SearchSpace,
) -> Result<Box<dyn Family>, Error> {
    let profile = if needs_profile(settings)? {
        profile_file::load(&dir.join(PROFILE), network)?
    } else {
        None
    };
    family(settings, network, decision, seeds, space, profile.as_ref())
}

/// The criterion, if one was chosen by name.
pub fn criteria(settings: &Settings) -> Result<Vec<&'static dyn Criterion>, Error> {
    let names = settings.criterion.as_deref();
    names.map_or(Ok(Vec::new()), criterion::find_all)
}

/// Whether the ranges of neurons must be known.
pub fn needs_profile(settings: &Settings) -> Result<bool, Error> {
    Ok(criteria(settings)?.iter().any(|c| c.needs_profile()))
}

/// What is required: all that the criterion or the file asks for, or a part of it.
pub fn family(
    settings: &Settings,
    network: &Network,
    decision: &Decision,
    seeds: &[Vec<f32>],
    space: &SearchSpace,
    profile: Option<&Profile>,
) -> Result<Box<dyn Family>, Error> {
    let family = whole_family(settings, network, decision, seeds, space, profile)?;
    Ok(match settings.partition {
        Some(partition) => partition.restrict(family),
        None => family,
    })
}

fn whole_family(
    settings: &Settings,
    network: &Network,
    decision: &Decision,
    seeds: &[Vec<f32>],
    space: &SearchSpace,
    profile: Option<&Profile>,
) -> Result<Box<dyn Family>, Error> {
    if let Some(written) = &settings.requirements {
        let set = requirements::resolve(&written.text, &written.name, network)?;
        let family =
            Written::new(network, &set, &space.units).map_err(|e| e.in_file(&written.name))?;
        return Ok(Box::new(family));
    }
    let criteria = criteria(settings)?;
    let mut parameters = settings.parameters.parameters(settings.radius)?;
    if let Extent::Boxes(boxes) = &space.extent {
        parameters.boxes.clone_from(boxes);
    }
    let selection = settings.parameters.selection(network)?;
    let setting = Setting {
        network,
        selection: &selection,
        parameters: &parameters,
        decision,
        seeds,
        space: &space.units,
        profile,
    };
    let mut families = Vec::new();
    for criterion in criteria {
        families.push((criterion.name(), searchable(criterion, &setting)?));
    }
    match families.len() {
        0 => Err(Error::Request("give --criterion or --requirements".into())),
        1 => Ok(families.swap_remove(0).1),
        _ => Ok(Box::new(Joined::new(families))),
    }
}

/// The requirements of a criterion, if they can be searched for.
fn searchable(
    criterion: &'static dyn Criterion,
    setting: &Setting<'_>,
) -> Result<Box<dyn Family>, Error> {
    let refuse = |why: String| Error::Request(format!("{}: {why}", criterion.name()));
    let family = criterion.family(setting).map_err(refuse)?;
    let norm = setting.parameters.norm;
    if family.ratios().is_some() && norm.convex().is_err() {
        return Err(refuse(format!(
            "slopes are searched in balls of {}, not of --norm {norm}",
            Norm::names(|norm| norm.convex().is_ok())
        )));
    }
    if let (Err(why), false) = (family.guide(), family.asks_only_for_two()) {
        return Err(refuse(format!("{why}; `coverage` measures it on data")));
    }
    Ok(family)
}

/// The scale of each layer, as it was measured.
pub fn means(settings: &Settings, network: &Network) -> Result<Means, Error> {
    if settings.means.len() == Means::points(network).len() {
        Ok(Means::from_layers(settings.means.clone()))
    } else {
        Err(Error::Request(format!(
            "the run is of a network with {} layers of neurons, and this one has {}",
            settings.means.len().saturating_sub(2),
            network.layers().len()
        )))
    }
}

/// What steers a search towards requirements on one input; none for pairs of neurons.
pub fn guide(family: &dyn Family) -> Option<&dyn Guide> {
    family.guide().ok()
}

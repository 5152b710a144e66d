//! How steep the network is between the pairs of tests that a run names: then and now.

use deepconcolic_check::certain_ratio;
use deepconcolic_criteria::Family;
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::Network;
use deepconcolic_record::{SlopeSummary, Spread};

/// Computes every slope again. With the run's own model each must be what it was.
pub fn compare(
    then: &[SlopeSummary],
    (network, same_model): (&Network, bool),
    (family, space): (&dyn Family, &SearchSpace),
    tests: &[Vec<f32>],
    out: &mut Vec<String>,
    findings: &mut Vec<String>,
) {
    let Some((group, ratios)) = family.ratios() else {
        return;
    };
    let slots: Vec<usize> = family.groups()[group]
        .not_required
        .complement()
        .iter()
        .collect();
    if slots.len() != then.len() {
        let (claimed, is) = (then.len(), slots.len());
        findings.push(format!("{claimed} regions are claimed, and there are {is}"));
        return;
    }
    let test = |number: i64| tests.get(usize::try_from(number).ok()?).map(Vec::as_slice);
    let now: Vec<Option<f64>> = slots
        .iter()
        .zip(then)
        .map(|(&slot, region)| {
            let inputs = [test(region.test)?, test(region.test2)?];
            certain_ratio(network, &ratios.ratio(slot), inputs, &space.units)
        })
        .collect();
    let median = |ratios: Vec<f64>| {
        let median = Spread::of(ratios).median;
        median.map_or_else(|| "none".into(), |median| format!("{median:.4}"))
    };
    out.push(format!(
        "steepest pairs of {} regions: {} in the median then, {} now",
        then.len(),
        median(then.iter().filter_map(|region| region.found).collect()),
        median(now.iter().flatten().copied().collect())
    ));
    if !same_model {
        return;
    }
    for (region, now) in then.iter().zip(now) {
        if region.found != now {
            let words = |ratio: Option<f64>| ratio.map_or("nothing".into(), |r| r.to_string());
            let (claimed, is) = (words(region.found), words(now));
            findings.push(format!(
                "{}: a slope of {claimed} was claimed, and it is {is}",
                region.region
            ));
        }
    }
}

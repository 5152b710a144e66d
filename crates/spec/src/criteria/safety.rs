//! Safety: no input near a seed has another label than the seed. The requirement is its refutation.

use deepconcolic_network::{Point, Seed, Trace, label};
use rayon::prelude::*;

use super::bit_set::BitSet;
use super::criterion::{Criterion, Family, Group, Setting, Tally};
use super::guide::{Clearance, Confinement, Guide, Look};
use super::region::{Ball, Region};
use crate::{Formula, Input, InputSpace, Inputs, Linear, Quantifier, Relation, Requirement, Var};

/// The criterion.
pub struct Safety;

impl Criterion for Safety {
    fn name(&self) -> &'static str {
        "safety"
    }

    fn definition(&self) -> &'static str {
        "per seed: some test within the radius of the seed has another label than the seed"
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let Some(radius) = setting.parameters.radius else {
            return Err("it asks about the neighbourhood of seeds; give --radius".into());
        };
        let mut family = Neighbourhoods {
            groups: vec![Group::full(None, setting.seeds.len())],
            space: setting.space.clone(),
            logits: setting.network.layers().len() + 2,
            classes: setting.network.elements(Point::Logits),
            regions: Vec::new(),
        };
        for centre in setting.seeds {
            let label = label(&setting.network.logits(centre));
            let ball = Ball {
                centre: centre.clone(),
                radius,
                norm: setting.parameters.norm,
            };
            family.regions.push((Region::Ball(ball), label));
        }
        Ok(Box::new(family))
    }
}

struct Neighbourhoods {
    regions: Vec<(Region, usize)>,
    groups: Vec<Group>,
    space: InputSpace,
    /// Number of the last layer, and its size.
    logits: usize,
    classes: usize,
}

impl Neighbourhoods {
    /// By how much another logit leads that of the seed's label, and which.
    fn lead(&self, slot: usize, logits: &[f32]) -> (f32, usize) {
        let own = self.regions[slot].1;
        let others = (0..logits.len()).filter(|&other| other != own);
        let lead = |other: usize| (logits[other] - logits[own], other);
        // The first of equals.
        others
            .map(lead)
            .fold((f32::NEG_INFINITY, own), |best, next| {
                if next.0 > best.0 { next } else { best }
            })
    }
}

impl Guide for Neighbourhoods {
    fn met(
        &self,
        look: Look<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    ) {
        let (input, logits) = (look.at(Point::Input), look.at(Point::Logits));
        let found = label(logits);
        let margin = look.means.margin(self.logits) as f32;
        for slot in among[0].iter() {
            let (region, own) = &self.regions[slot];
            let firm = || self.lead(slot, logits).0 >= 2.0 * margin;
            if found != *own
                && (clearance == Clearance::Exact || firm())
                && region.contains(input, &self.space)
            {
                into(0, slot);
            }
        }
    }

    fn values(&self, look: Look<'_>, _: usize, slots: &[u32], out: &mut Vec<f32>) {
        let (input, logits) = (look.at(Point::Input), look.at(Point::Logits));
        let scale = 2.0 * look.means.scale(self.logits) as f32;
        out.extend(slots.iter().map(|&slot| {
            if self.regions[slot as usize].0.contains(input, &self.space) {
                self.lead(slot as usize, logits).0 / scale
            } else {
                f32::NEG_INFINITY
            }
        }));
    }

    fn pull(
        &self,
        look: Look<'_>,
        _: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64 {
        let logits = look.at(Point::Logits);
        let weight = 0.5 / look.means.scale(self.logits) as f32;
        let seed = |element, weight| Seed {
            point: Point::Logits,
            element,
            weight,
        };
        let mut total = 0.0;
        for &slot in slots {
            let (lead, other) = self.lead(slot as usize, logits);
            total += f64::from((lead * weight).min(enough));
            if lead * weight < enough {
                let own = self.regions[slot as usize].1;
                seeds.extend([seed(other, weight), seed(own, -weight)]);
            }
        }
        total
    }

    fn confinement(&self, _: usize, slot: usize, _: usize) -> Option<Confinement> {
        Some(Confinement::Seed(slot))
    }
}

impl Family for Neighbourhoods {
    fn guide(&self) -> Result<&dyn Guide, String> {
        Ok(self)
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn label(&self, _: usize, slot: usize) -> String {
        format!("seed {slot} (label {})", self.regions[slot].1)
    }

    fn requirement(&self, _: usize, slot: usize) -> Result<Requirement, String> {
        let (region, label) = &self.regions[slot];
        let beats = |other: usize| {
            let mut lead = Linear::variable(Var::v(Input::First, self.logits, other));
            lead.add(
                -1.0,
                &Linear::variable(Var::v(Input::First, self.logits, *label)),
            );
            // The first of equals is the label.
            let relation = if other < *label {
                Relation::Ge
            } else {
                Relation::Gt
            };
            Formula::compare(lead, relation)
        };
        let others = (0..self.classes).filter(|other| other != label);
        Ok(Requirement {
            name: None,
            quantifier: Quantifier::Exists,
            inputs: Inputs::One,
            formula: Formula::And(vec![
                region.formula(Input::First, &self.space)?,
                Formula::Or(others.map(beats).collect()),
            ]),
        })
    }

    fn points(&self) -> Vec<Point> {
        vec![Point::Input, Point::Logits]
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        Box::new(SafetyTally {
            family: self,
            covered: vec![BitSet::new(self.regions.len())],
        })
    }
}

struct SafetyTally<'a> {
    family: &'a Neighbourhoods,
    covered: Vec<BitSet>,
}

impl Tally for SafetyTally<'_> {
    fn observe(&mut self, trace: &Trace<f32>) {
        let tests: Vec<(&[f32], usize)> = (0..trace.samples())
            .map(|s| {
                (
                    trace.sample(Point::Input, s),
                    label(trace.sample(Point::Logits, s)),
                )
            })
            .collect();
        let family = self.family;
        let met: Vec<usize> = (0..family.regions.len())
            .into_par_iter()
            .filter(|&slot| {
                let (region, label) = &family.regions[slot];
                tests
                    .iter()
                    .any(|(x, found)| found != label && region.contains(x, &family.space))
            })
            .collect();
        for slot in met {
            self.covered[0].insert(slot);
        }
    }

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }
}

//! Safety: no input near a seed has another answer than the seed, as the decision reads it: another class,
//! or an output that is too far off. The requirement is its refutation.

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{Formula, Input, Inputs, Quantifier, Requirement};
use deepconcolic_network::{BitSet, Point, Seed, Trace};
use rayon::prelude::*;

use super::criterion::{Criterion, Family, Group, Setting, Tally};
use super::guide::{Clearance, Confinement, Guide, SampleView};
use super::polarity::Polarity;
use super::region::{Ball, Region};
use crate::{Departure, Prediction};

/// The criterion.
pub struct Safety;

impl Criterion for Safety {
    fn name(&self) -> &'static str {
        "safety"
    }

    fn definition(&self) -> &'static str {
        "per seed: some test within the radius of the seed has another answer than the network gives the seed \
         (--decision: another class, or an output further off)"
    }

    fn polarity(&self) -> Polarity {
        Polarity::Property
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let Some(radius) = setting.parameters.radius else {
            return Err("it asks about the neighbourhood of seeds; give --radius".into());
        };
        let mut family = Neighbourhoods {
            groups: vec![Group::full(None, setting.seeds.len())],
            space: setting.space.clone(),
            logits: setting.network.layers().len() + 2,
            regions: Vec::new(),
        };
        for centre in setting.seeds {
            let logits = setting.network.logits(centre);
            let ball = Ball {
                centre: centre.clone(),
                radius,
                norm: setting.parameters.norm,
            };
            family.regions.push(Neighbourhood {
                region: Region::Ball(ball),
                own: setting.decision.predict(&logits),
                departure: setting.decision.departure(&logits)?,
            });
        }
        Ok(Box::new(family))
    }
}

/// What is asked round one seed.
struct Neighbourhood {
    region: Region,
    /// The seed's answer, and when another input has another.
    own: Prediction,
    departure: Departure,
}

struct Neighbourhoods {
    regions: Vec<Neighbourhood>,
    groups: Vec<Group>,
    space: InputSpace,
    /// Number of the last layer.
    logits: usize,
}

impl Neighbourhoods {
    /// How near the logits are to another answer than the seed's, in units of one logit; below every
    /// number where there is none.
    fn lead(&self, slot: usize, logits: &[f32]) -> f32 {
        let nearest = self.regions[slot].departure.nearest(logits);
        nearest.map_or(f32::NEG_INFINITY, |(lead, _)| lead as f32)
    }

    fn is_met(&self, slot: usize, input: &[f32], logits: &[f32]) -> bool {
        let Neighbourhood {
            region, departure, ..
        } = &self.regions[slot];
        departure.holds(logits) && region.contains(input, &self.space)
    }
}

impl Guide for Neighbourhoods {
    fn met(
        &self,
        look: SampleView<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    ) {
        let (input, logits) = (look.at(Point::Input), look.at(Point::Logits));
        let margin = look.means.margin(self.logits) as f32;
        for slot in among[0].iter() {
            let firm = || self.lead(slot, logits) >= margin;
            if self.is_met(slot, input, logits) && (clearance == Clearance::Exact || firm()) {
                into(0, slot);
            }
        }
    }

    fn values(&self, look: SampleView<'_>, _: usize, slots: &[u32], out: &mut Vec<f32>) {
        let (input, logits) = (look.at(Point::Input), look.at(Point::Logits));
        let scale = look.means.scale(self.logits) as f32;
        out.extend(slots.iter().map(|&slot| {
            let region = &self.regions[slot as usize].region;
            if region.contains(input, &self.space) {
                self.lead(slot as usize, logits) / scale
            } else {
                f32::NEG_INFINITY
            }
        }));
    }

    fn pull(
        &self,
        look: SampleView<'_>,
        _: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64 {
        let logits = look.at(Point::Logits);
        let scale = look.means.scale(self.logits) as f32;
        let mut total = 0.0;
        for &slot in slots {
            let departure = &self.regions[slot as usize].departure;
            let Some((lead, moved)) = departure.nearest(logits) else {
                continue;
            };
            let value = lead as f32 / scale;
            total += f64::from(value.min(enough));
            if value < enough {
                seeds.extend(moved.into_iter().map(|(element, factor)| Seed {
                    point: Point::Logits,
                    element,
                    weight: factor / scale,
                }));
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
        match &self.regions[slot].own {
            Prediction::Values(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("seed {slot} (output {})", values.join(", "))
            }
            own => format!("seed {slot} (label {})", own.label()),
        }
    }

    fn requirement(&self, _: usize, slot: usize) -> Result<Requirement, String> {
        let Neighbourhood {
            region, departure, ..
        } = &self.regions[slot];
        Ok(Requirement {
            name: None,
            quantifier: Quantifier::Exists,
            inputs: Inputs::One,
            formula: Formula::And(vec![
                region.formula(Input::First, &self.space)?,
                departure.formula(Input::First, self.logits),
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
        let tests: Vec<(&[f32], &[f32])> = (0..trace.samples())
            .map(|s| {
                (
                    trace.sample(Point::Input, s),
                    trace.sample(Point::Logits, s),
                )
            })
            .collect();
        let family = self.family;
        let met: Vec<usize> = (0..family.regions.len())
            .into_par_iter()
            .filter(|&slot| {
                let mut tests = tests.iter();
                tests.any(|(input, logits)| family.is_met(slot, input, logits))
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

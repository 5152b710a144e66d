//! Pairs of neurons, many at a time and from many seeds: a test made for one pair serves others.

use std::collections::BTreeMap;

use deepconcolic_criteria::{Objective, PairRequirement};

use crate::budget::{Budget, Effort, StopReason};
use crate::cover::{Covered, Part};
use crate::engine::Engine;
use crate::goal::{Goal, Reason};
use crate::pairs::{PairSearch, PairsFound};
use crate::region::Region;
use crate::report::{Found, Report, Witness};

/// The engine.
pub struct Pairs;

impl Engine for Pairs {
    fn name(&self) -> &'static str {
        "pairs"
    }

    fn description(&self) -> &'static str {
        "tests for many pairs of neurons of the same two layers: steps over single hyperplanes from the same \
         seed, and inputs on either side of where two hyperplanes meet"
    }

    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason> {
        let asked = Asked::of(goal)?;
        for (layer, neurons) in asked.neurons() {
            let layers = goal.network.layers();
            let has = |neuron: &usize| layers.get(layer).is_some_and(|l| *neuron < l.neurons());
            if !neurons.iter().all(has) {
                return Err(Reason::Unsupported {
                    part: format!("layer {}", layer + 2),
                    why: "the network has no such neuron",
                });
            }
        }
        match goal.origins.first() {
            Some(origin) => Region::without_ball(goal.space, origin.root).map(|_| ()),
            None => Err(Reason::Unsupported {
                part: "goal".into(),
                why: "it names no input to start from",
            }),
        }
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report {
        let searched = self
            .supports(goal)
            .and_then(|()| Asked::of(goal)?.search(goal, budget));
        searched.unwrap_or_else(Report::refused)
    }
}

/// The pairs that a goal asks for, all of the same two layers.
struct Asked<'a> {
    layers: (usize, usize),
    parts: Vec<Part<'a>>,
    /// The number of each pair among all objectives.
    numbers: BTreeMap<(usize, usize), usize>,
}

impl<'a> Asked<'a> {
    fn of(goal: &Goal<'a>) -> Result<Self, Reason> {
        let mut layers = None;
        let mut parts = Vec::new();
        let mut numbers = BTreeMap::new();
        let mut number = 0;
        for &objectives in goal.objectives {
            let mut part = Part::new();
            for objective in objectives {
                let pair = pair_of(objective)?;
                let these = (pair.condition.layer, pair.decision.layer);
                if *layers.get_or_insert(these) != these {
                    return Err(Reason::Unsupported {
                        part: objective.to_string(),
                        why: "pairs that are searched for together are of the same two layers",
                    });
                }
                let neurons = (pair.condition.neuron, pair.decision.neuron);
                part.insert(neurons, pair);
                numbers.entry(neurons).or_insert(number);
                number += 1;
            }
            parts.push(part);
        }
        let layers = layers.ok_or(Reason::Unsupported {
            part: "goal".into(),
            why: "it asks for nothing",
        })?;
        Ok(Self {
            layers,
            parts,
            numbers,
        })
    }

    /// The neurons that change, by layer.
    fn neurons(&self) -> [(usize, Vec<usize>); 2] {
        let pairs = || self.numbers.keys();
        [
            (self.layers.0, pairs().map(|pair| pair.0).collect()),
            (self.layers.1, pairs().map(|pair| pair.1).collect()),
        ]
    }

    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Result<Report, Reason> {
        let mut report = Report::default();
        if let Some(stop) = budget.stop(report.effort) {
            report.stop = stop;
        } else {
            self.cover(goal, budget, &mut report)?;
        }
        if report.found.is_empty() {
            report.reason.get_or_insert(Reason::NotFound {
                cells: 0,
                infeasible: 0,
            });
        }
        Ok(report)
    }

    fn cover(
        &self,
        goal: &Goal<'_>,
        budget: &Budget<'_>,
        report: &mut Report,
    ) -> Result<(), Reason> {
        let mut effort = Effort::default();
        let mut search = PairSearch {
            goal: *goal,
            before: self.layers.0,
            layer: self.layers.1,
            budget: *budget,
        };
        let nearness = search.nearness(&self.parts, &mut effort);
        let left = budget
            .passes
            .map(|maximum| maximum.saturating_sub(effort.passes()));
        let each = Budget {
            passes: left.map(|left| left / self.parts.len()),
            ..*budget
        };
        search.budget = each.for_attempt(Effort::default());
        let mut attempts = 0;
        for Covered { harvests, stop } in search.cover(&self.parts, &nearness, &each)? {
            report.stop = match stop {
                StopReason::Complete => report.stop,
                other => other,
            };
            for (origin, harvest) in harvests {
                attempts += 1;
                effort += harvest.effort;
                report.found.extend(self.found(goal, origin, harvest));
            }
        }
        report.effort = effort;
        report.reason = report.found.is_empty().then_some(Reason::NotFound {
            cells: attempts,
            infeasible: 0,
        });
        Ok(())
    }

    /// A harvest with its pairs numbered as objectives, unless it is empty.
    fn found(&self, goal: &Goal<'_>, origin: usize, harvest: PairsFound) -> Option<Found> {
        let root = goal.origins[origin].root;
        let tests = harvest.tests.iter();
        let distances: Vec<f64> = tests.map(|test| goal.space.distance(test, root)).collect();
        let witness = |pair: &crate::pairs::FoundPair| Witness {
            objective: self.numbers[&(pair.condition, pair.decision)],
            tests: vec![pair.first, pair.second],
            distance: distances[pair.first].max(distances[pair.second]),
            bound: None,
        };
        let witnesses: Vec<Witness> = harvest.pairs.iter().map(witness).collect();
        (!witnesses.is_empty()).then_some(Found {
            origin,
            tests: harvest.tests,
            witnesses,
        })
    }
}

fn pair_of(objective: &Objective) -> Result<&PairRequirement, Reason> {
    match objective {
        Objective::PairOfChanges(pair) => Ok(pair),
        Objective::Formula { .. } | Objective::Ratio(_) => Err(Reason::Objective {
            asked: objective.kind(),
            takes: "pairs of neurons",
        }),
    }
}

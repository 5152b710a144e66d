//! Requirements that a user wrote, as a family like those of the criteria.
//!
//! A `forall` is searched for through its negation, so a slot is met when its goal is: the witness of
//! an `exists`, the counterexample of a `forall`.

use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Assignment, Comparison, Error, Evaluator, Formula, Input, InputBox, Inputs, Observations,
    Quantifier, Relation, Requirement, RequirementSet, Var,
};
use deepconcolic_network::{BitSet, Network, Point, Seed, Trace};
use rayon::prelude::*;

use super::criterion::{Family, Group, Tally};
use super::guide::{Clearance, Confinement, Guide, Means, SampleView};

/// The requirements of a file on a network.
pub struct Written {
    requirements: Vec<Requirement>,
    /// What each is searched for by, in normal form.
    goals: Vec<Formula>,
    groups: Vec<Group>,
    points: Vec<Point>,
    hidden: usize,
    elements: usize,
    space: InputSpace,
}

impl Written {
    /// All requirements of a set.
    pub fn new(network: &Network, set: &RequirementSet, space: &InputSpace) -> Result<Self, Error> {
        let requirements: Vec<Requirement> = set.iter().collect::<Result<_, _>>()?;
        let hidden = network.layers().len();
        let mut points = vec![Point::Input];
        for requirement in &requirements {
            requirement.formula.each_variable(&mut |var: Var| {
                let point = var.point(hidden);
                if !points.contains(&point) {
                    points.push(point);
                }
            });
        }
        Ok(Self {
            goals: requirements.iter().map(|r| r.goal().nnf()).collect(),
            groups: vec![Group::full(None, requirements.len())],
            requirements,
            points,
            hidden,
            elements: network.input_elements(),
            space: space.clone(),
        })
    }

    fn is_searchable(&self, slot: usize) -> bool {
        self.requirements[slot].inputs == Inputs::One
    }

    fn sight<'a>(&'a self, trace: &'a Trace<f32>, sample: usize) -> Sight<'a> {
        Sight {
            trace,
            sample,
            hidden: self.hidden,
        }
    }
}

impl Family for Written {
    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn label(&self, _: usize, slot: usize) -> String {
        let requirement = &self.requirements[slot];
        match &requirement.name {
            Some(name) => name.clone(),
            None => requirement.to_string(),
        }
    }

    fn requirement(&self, _: usize, slot: usize) -> Result<Requirement, String> {
        Ok(self.requirements[slot].clone())
    }

    fn quantifier(&self, _: usize, slot: usize) -> Quantifier {
        self.requirements[slot].quantifier
    }

    fn inputs(&self, _: usize, slot: usize) -> Inputs {
        self.requirements[slot].inputs
    }

    fn points(&self) -> Vec<Point> {
        self.points.clone()
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        Box::new(WrittenTally {
            family: self,
            covered: vec![BitSet::new(self.requirements.len())],
        })
    }

    fn guide(&self) -> Result<&dyn Guide, String> {
        Ok(self)
    }

    fn notes(&self) -> Vec<String> {
        let count = |wanted: &dyn Fn(&Requirement) -> bool| {
            self.requirements.iter().filter(|r| wanted(r)).count()
        };
        let mut notes = Vec::new();
        let foralls = count(&|r| r.quantifier == Quantifier::Forall);
        if foralls > 0 {
            notes.push(format!(
                "{foralls} of the requirements say forall: they are properties, which a test refutes and a certificate proves"
            ));
        }
        let pairs = count(&|r| r.inputs == Inputs::Two);
        if pairs > 0 {
            notes.push(format!(
                "{pairs} of the requirements speak of two inputs; only the symbolic engines and proofs look \
                 for those"
            ));
        }
        notes
    }
}

struct WrittenTally<'a> {
    family: &'a Written,
    covered: Vec<BitSet>,
}

impl Tally for WrittenTally<'_> {
    fn observe(&mut self, trace: &Trace<f32>) {
        let family = self.family;
        let open: Vec<usize> = (0..family.goals.len())
            .filter(|&slot| family.is_searchable(slot) && !self.covered[0].contains(slot))
            .collect();
        let met: Vec<usize> = open
            .into_par_iter()
            .filter(|&slot| {
                (0..trace.samples()).any(|sample| {
                    let sight = family.sight(trace, sample);
                    let evaluator = Evaluator::new(&sight, &family.space);
                    evaluator.satisfies(&family.goals[slot], Assignment::One(0))
                })
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

/// One sample, as the evaluator sees it.
struct Sight<'a> {
    trace: &'a Trace<f32>,
    sample: usize,
    hidden: usize,
}

impl Sight<'_> {
    fn value(&self, var: Var) -> f32 {
        self.trace.sample(var.point(self.hidden), self.sample)[var.neuron]
    }
}

impl Observations for Sight<'_> {
    fn tests(&self) -> usize {
        1
    }

    fn u(&self, _: usize, layer: usize, neuron: usize) -> f32 {
        self.value(Var::u(Input::First, layer, neuron))
    }

    fn v(&self, _: usize, layer: usize, neuron: usize) -> f32 {
        self.value(Var::v(Input::First, layer, neuron))
    }

    fn input(&self, _: usize) -> &[f32] {
        self.trace.sample(Point::Input, self.sample)
    }
}

/// A formula in normal form, seen at one sample.
struct Steering<'a> {
    evaluator: Evaluator<'a, Sight<'a>>,
    means: &'a Means,
    hidden: usize,
}

impl Steering<'_> {
    fn value(&self, formula: &Formula) -> f64 {
        self.evaluator
            .value(formula, Assignment::One(0), self.means.layers())
    }

    /// Whether every comparison that makes the formula true does so by its margin.
    fn is_firm(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Compare(comparison) => {
                // An equation is never more than just met.
                let terms = comparison.linear.terms.iter();
                let margin = self.means.margin_of(terms.map(|(c, var)| (*c, var.layer)));
                let left = self
                    .evaluator
                    .linear(&comparison.linear, Assignment::One(0));
                match comparison.relation {
                    Relation::Ge | Relation::Gt => left >= margin,
                    Relation::Le | Relation::Lt => -left >= margin,
                    Relation::Eq | Relation::Ne => false,
                }
            }
            Formula::And(of) => of.iter().all(|part| self.is_firm(part)),
            Formula::Or(of) => of.iter().any(|part| self.is_firm(part)),
            Formula::Count { of, count, .. } => {
                of.iter().filter(|part| self.is_firm(part)).count() >= *count
            }
            region => self.evaluator.satisfies(region, Assignment::One(0)),
        }
    }

    /// The gradient towards truth: of every part of a conjunction that is not yet true enough, of
    /// the likeliest parts of a disjunction or cardinality.
    fn pull(&self, formula: &Formula, enough: f64, seeds: &mut Vec<Seed<f32>>) {
        match formula {
            Formula::Compare(comparison) => self.pull_atom(comparison, enough, seeds),
            Formula::And(of) => {
                for part in of {
                    self.pull(part, enough, seeds);
                }
            }
            Formula::Or(of) => self.pull_likeliest(of, 1, enough, seeds),
            Formula::Count { of, count, .. } => self.pull_likeliest(of, *count, enough, seeds),
            // Regions are kept to by the search itself.
            _ => {}
        }
    }

    fn pull_likeliest(
        &self,
        of: &[Formula],
        count: usize,
        enough: f64,
        seeds: &mut Vec<Seed<f32>>,
    ) {
        let mut ranked: Vec<(f64, usize)> =
            (0..of.len()).map(|i| (self.value(&of[i]), i)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, part) in ranked.into_iter().take(count) {
            self.pull(&of[part], enough, seeds);
        }
    }

    fn pull_atom(&self, comparison: &Comparison, enough: f64, seeds: &mut Vec<Seed<f32>>) {
        let left = self
            .evaluator
            .linear(&comparison.linear, Assignment::One(0));
        let direction = match comparison.relation {
            Relation::Ge | Relation::Gt => 1.0,
            Relation::Le | Relation::Lt => -1.0,
            Relation::Eq | Relation::Ne => -left.signum(),
        };
        let terms = comparison.linear.terms.iter();
        let scale: f64 = terms
            .clone()
            .map(|(c, var)| c.abs() * self.means.scale(var.layer))
            .sum();
        if scale <= 0.0 || direction * left / scale >= enough {
            return;
        }
        seeds.extend(terms.map(|(c, var)| Seed {
            point: var.point(self.hidden),
            element: var.neuron,
            weight: (direction * c / scale) as f32,
        }));
    }
}

impl Guide for Written {
    fn met(
        &self,
        look: SampleView<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    ) {
        let sight = self.sight(look.trace, look.sample);
        let steering = self.steering(&sight, look.means);
        for slot in among[0].iter().filter(|&slot| self.is_searchable(slot)) {
            let goal = &self.goals[slot];
            let truth = steering.evaluator.satisfies(goal, Assignment::One(0));
            if truth && (clearance == Clearance::Exact || steering.is_firm(goal)) {
                into(0, slot);
            }
        }
    }

    fn values(&self, look: SampleView<'_>, _: usize, slots: &[u32], out: &mut Vec<f32>) {
        let sight = self.sight(look.trace, look.sample);
        let steering = self.steering(&sight, look.means);
        out.extend(slots.iter().map(|&slot| {
            if self.is_searchable(slot as usize) {
                steering.value(&self.goals[slot as usize]) as f32
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
        let sight = self.sight(look.trace, look.sample);
        let steering = self.steering(&sight, look.means);
        let mut total = 0.0;
        for &slot in slots {
            let goal = &self.goals[slot as usize];
            if self.is_searchable(slot as usize) {
                total += steering.value(goal).clamp(-1e9, f64::from(enough));
                steering.pull(goal, f64::from(enough), seeds);
            }
        }
        total
    }

    fn confinement(&self, _: usize, slot: usize, turn: usize) -> Option<Confinement> {
        let goal = &self.goals[slot];
        let branch = match goal {
            Formula::Or(branches) if !branches.is_empty() => &branches[turn % branches.len()],
            whole => whole,
        };
        let boxes = boxes(branch);
        if boxes.is_empty() {
            return None;
        }
        let ends = (0..self.elements).map(|e| {
            let low = boxes.iter().map(|b| b.lower.at(e)).fold(f64::MIN, f64::max);
            let high = boxes.iter().map(|b| b.upper.at(e)).fold(f64::MAX, f64::min);
            (inward(low, f32::next_up, |x, low| x >= low), {
                inward(high, f32::next_down, |x, high| x <= high)
            })
        });
        let (low, high) = ends.unzip();
        Some(Confinement::Box(low, high))
    }

    fn refusal(&self, _: usize, slot: usize) -> Option<String> {
        (!self.is_searchable(slot)).then(|| {
            "it speaks of two inputs, which only the symbolic engines and proofs look for".into()
        })
    }
}

impl Written {
    fn steering<'a>(&self, sight: &'a Sight<'a>, means: &'a Means) -> Steering<'a>
    where
        Self: 'a,
    {
        // The evaluator measures distances of pairs only; one input needs no space.
        static UNITS: InputSpace = InputSpace {
            widths: Vec::new(),
            pixels: deepconcolic_geometry::Pixels::Single,
        };
        Steering {
            evaluator: Evaluator::new(sight, &UNITS),
            means,
            hidden: self.hidden,
        }
    }
}

/// The number of single precision next to a bound on its inner side.
fn inward(bound: f64, step: fn(f32) -> f32, inside: fn(f64, f64) -> bool) -> f32 {
    let nearest = bound as f32;
    if inside(f64::from(nearest), bound) {
        nearest
    } else {
        step(nearest)
    }
}

/// The boxes that a conjunction demands.
fn boxes(formula: &Formula) -> Vec<&InputBox> {
    match formula {
        Formula::Within { region, .. } => vec![region],
        Formula::And(of) => of.iter().flat_map(boxes).collect(),
        _ => Vec::new(),
    }
}

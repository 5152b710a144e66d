//! Which requirements follow from conditions that no input of a region meets, part of the region by part.
//!
//! The rules are those of logic and order, on the values that neurons have at one input or at two. Whether
//! these are values in real arithmetic or of executions, the rules do not ask: the facts decide.

use std::collections::{BTreeSet, HashMap, HashSet};

use deepconcolic_criteria::{Change, Contrast, Pairs};
use deepconcolic_language::{Comparison, Formula, Input, Relation, Requirement, Var};
use deepconcolic_network::{BitSet, Point};

use crate::answer::Answer;
use crate::inference::joint::{self, Conjunction};
use crate::question::{Atom, Reader, Term};
use crate::until::Until;

/// The terms of a condition in a fixed order, weights as bits.
pub(crate) type Terms = Vec<(Point, usize, u64)>;

/// How hard a condition with some terms is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub constant: f64,
    pub strict: bool,
}

impl Limit {
    /// Whether a condition with the same terms is at least as hard to meet.
    #[expect(clippy::float_cmp, reason = "constants are stored numbers")]
    pub fn covers(self, constant: f64, strict: bool) -> bool {
        constant < self.constant || (constant == self.constant && (strict || !self.strict))
    }

    /// Whether a condition on a sum and one on its negation cannot both hold.
    pub fn excludes(self, of_negation: Self) -> bool {
        let (a, b) = (self.constant, -of_negation.constant);
        // The sum is at least -a and at most -b.
        a < b || (a <= b && (self.strict || of_negation.strict))
    }
}

/// What is impossible over one part of the region.
#[derive(Debug, Clone, Default)]
struct RegionFacts {
    /// The easiest condition with some terms.
    conditions: HashMap<Terms, Limit>,
    /// Conditions together, and which of these speak of an element.
    conjunctions: Vec<Conjunction>,
    about: HashMap<(Point, usize), Vec<usize>>,
    /// Requirements that are no single condition.
    whole: HashSet<String>,
}

pub(crate) fn key(terms: &[Term]) -> Terms {
    let key = terms
        .iter()
        .map(|t| (t.point, t.element, t.weight.to_bits()));
    sorted(key.collect())
}

fn rank(point: Point) -> (usize, usize) {
    match point {
        Point::Input => (0, 0),
        Point::Pre(layer) => (1, layer),
        Point::Post(layer) => (2, layer),
        Point::Logits => (3, 0),
        Point::Answer => (4, 0),
        Point::Output(output) => (5, output),
    }
}

pub(crate) fn sorted(mut terms: Terms) -> Terms {
    terms.sort_unstable_by_key(|&(point, element, weight)| (rank(point), element, weight));
    terms
}

impl RegionFacts {
    fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.conjunctions.is_empty() && self.whole.is_empty()
    }

    fn add_together(&mut self, atoms: &[Atom]) {
        let number = self.conjunctions.len();
        let conditions = atoms.iter().map(|atom| {
            let limit = Limit {
                constant: atom.constant,
                strict: atom.strict,
            };
            (key(&atom.terms), limit)
        });
        let conditions: Vec<(Terms, Limit)> = conditions.collect();
        for &(point, element, _) in conditions.iter().flat_map(|(terms, _)| terms) {
            let about = self.about.entry((point, element)).or_default();
            if about.last() != Some(&number) {
                about.push(number);
            }
        }
        self.conjunctions.push(Conjunction { conditions });
    }

    /// The conjunctions that speak of an element.
    fn about(&self, element: (Point, usize)) -> impl Iterator<Item = usize> + '_ {
        self.about.get(&element).into_iter().flatten().copied()
    }

    fn add(&mut self, atom: &Atom) {
        let new = Limit {
            constant: atom.constant,
            strict: atom.strict,
        };
        let known = self.conditions.entry(key(&atom.terms)).or_insert(new);
        if !known.covers(new.constant, new.strict) {
            *known = new;
        }
    }
}

/// What is known to be impossible in a region that is a union of boxes, and what follows.
#[derive(Debug, Clone)]
pub struct Deduction {
    reader: Reader,
    answer: Option<Answer>,
    /// What holds in every box, and what holds in each.
    everywhere: RegionFacts,
    local: Vec<RegionFacts>,
}

/// A fact about one input: none meets these conditions together, or this requirement.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    /// Conditions, all of them together; none if they are not all there is to the requirement.
    pub atoms: Vec<Atom>,
    /// The requirement's text, where it is no single condition.
    pub whole: Option<String>,
}

impl Deduction {
    /// Nothing is known yet of so many boxes, for a network of so many layers. Conditions on an answer are
    /// replaced by conditions on the logits if it is given, and else refuted by nothing.
    pub(crate) fn new(depth: usize, boxes: usize, answer: Option<Answer>) -> Self {
        Self {
            reader: Reader { depth },
            answer,
            everywhere: RegionFacts::default(),
            local: vec![RegionFacts::default(); boxes],
        }
    }

    /// Takes over a fact about some boxes, by number.
    pub(crate) fn add(&mut self, fact: &Fact, about: &[usize]) {
        let add = |facts: &mut RegionFacts| {
            match &fact.atoms[..] {
                [] => {}
                [atom] => facts.add(atom),
                atoms => facts.add_together(atoms),
            }
            facts.whole.extend(fact.whole.clone());
        };
        if about.len() == self.local.len() {
            add(&mut self.everywhere);
        } else {
            for &number in about {
                add(&mut self.local[number]);
            }
        }
    }

    /// Whether no input of the region (no two inputs of one box, if it is about two) meets a
    /// requirement.
    pub fn refute(&self, requirement: &Requirement) -> bool {
        // Boxes of which nothing is known for themselves are all alike.
        let plain = self.local.iter().position(RegionFacts::is_empty);
        let is_needed = |b: &usize| !self.local[*b].is_empty() || Some(*b) == plain;
        let mut needed = (0..self.local.len()).filter(is_needed);
        !self.local.is_empty() && needed.all(|b| self.refute_in(b, requirement))
    }

    /// The same of one box.
    pub fn refute_in(&self, number: usize, requirement: &Requirement) -> bool {
        let places = [&self.everywhere, &self.local[number]];
        let known = |facts: &&RegionFacts| {
            !facts.whole.is_empty() && facts.whole.contains(&requirement.to_string())
        };
        if places.iter().any(known) {
            return true;
        }
        let goal = requirement.goal().nnf();
        let goal = match &self.answer {
            Some(answer) => answer.replace(&goal).0,
            None => goal,
        };
        self.refutes(&places, &goal) || self.refutes_jointly(&places, &goal)
    }

    /// Of some pairs of neurons, those that are seen in time not to be met in the region: in every box the
    /// condition or the decision cannot change as it would have to.
    pub fn refuted_pairs(
        &self,
        pairs: &dyn Pairs,
        group: usize,
        sizes: (usize, usize),
        among: &BitSet,
        until: Until<'_>,
    ) -> BitSet {
        let mut left = if self.local.is_empty() {
            BitSet::new(among.len())
        } else {
            among.clone()
        };
        // Boxes of which nothing is known for themselves are all alike.
        let plain = self.local.iter().position(RegionFacts::is_empty);
        for number in 0..self.local.len() {
            if !self.local[number].is_empty() || Some(number) == plain {
                left = self.refuted_pairs_in(number, pairs, group, sizes, &left, until);
            }
        }
        left
    }

    /// The same of one box.
    pub fn refuted_pairs_in(
        &self,
        number: usize,
        pairs: &dyn Pairs,
        group: usize,
        sizes: (usize, usize),
        among: &BitSet,
        until: Until<'_>,
    ) -> BitSet {
        let places = [&self.everywhere, &self.local[number]];
        let cannot_change = |change: Change, layer: usize, neurons: usize| -> Vec<bool> {
            let cannot_change = |neuron| cannot_change_sign(&places, change, layer, neuron);
            (0..neurons).map(cannot_change).collect()
        };
        let (before, layer) = pairs.layers(group);
        let (condition, decision) = pairs.changes();
        let conditions = cannot_change(condition, before, sizes.0);
        let decisions = cannot_change(decision, layer, sizes.1);
        let mut refuted = BitSet::new(among.len());
        // Most neurons, and in most proofs all, are part of no conjunction.
        let together = |layer: usize, neurons: usize| -> Vec<bool> {
            let is_part = |n| {
                places
                    .iter()
                    .any(|facts| facts.about((Point::Pre(layer), n)).next().is_some())
            };
            (0..neurons).map(is_part).collect()
        };
        let (conditions_together, decisions_together) =
            (together(before, sizes.0), together(layer, sizes.1));
        pairs.each_pair(group, among, &mut |slot, (i, j)| {
            let is_refuted = conditions[i]
                || decisions[j]
                || ((conditions_together[i] || decisions_together[j])
                    && !until.is_over()
                    && self.is_contradictory(&places, pairs, group, slot));
            if is_refuted {
                refuted.insert(slot);
            }
        });
        refuted
    }

    /// Whether a pair is impossible because its demands on the two inputs cannot all be met: the
    /// condition changes, the decision changes, and the other signs stay.
    fn is_contradictory(
        &self,
        places: &[&RegionFacts; 2],
        pairs: &dyn Pairs,
        group: usize,
        slot: usize,
    ) -> bool {
        let pair = pairs.requirement(group, slot);
        let (i, j) = (pair.condition.neuron, pair.decision.neuron);
        let [before, layer] = [pair.condition, pair.decision].map(|of| Point::Pre(of.layer));
        let of_condition: Vec<&Conjunction> = conjunctions(places, |facts| {
            let within = |&number: &usize| {
                let points = facts.conjunctions[number].elements();
                let mut others = points.filter(|&(point, _)| point != before);
                others.all(|element| element == (layer, j))
            };
            facts.about((before, i)).filter(within).collect()
        });
        // Those of other conditions of the decision are many and of little use.
        let all = || conjunctions(places, |facts| facts.about((layer, j)).collect());
        let refutes = |conjunctions: &[&Conjunction]| {
            let named = conjunctions.iter().flat_map(|c| c.elements());
            let named = named.filter(|&(point, _)| point == before);
            let named: BTreeSet<usize> = named.map(|(_, neuron)| neuron).collect();
            let kept: Vec<usize> = named.into_iter().collect();
            let goal = pair.formula_about(&kept).nnf();
            self.closes(places, conjunctions, &goal)
        };
        refutes(&of_condition) || refutes(&all())
    }

    /// Whether a formula in normal form is impossible by conditions that no input meets together.
    fn refutes_jointly(&self, places: &[&RegionFacts; 2], goal: &Formula) -> bool {
        if places.iter().all(|facts| facts.conjunctions.is_empty()) {
            return false;
        }
        let hidden = self.reader.depth.saturating_sub(2);
        let mut neurons = Vec::new();
        goal.each_variable(&mut |var: Var| neurons.push((var.point(hidden), var.neuron)));
        neurons.sort_unstable_by_key(|&(point, neuron)| (rank(point), neuron));
        neurons.dedup();
        let conjunctions = conjunctions(places, |facts| {
            let about = neurons.iter().flat_map(|&neuron| facts.about(neuron));
            about.collect()
        });
        self.closes(places, &conjunctions, goal)
    }

    fn closes(
        &self,
        places: &[&RegionFacts; 2],
        together: &[&Conjunction],
        goal: &Formula,
    ) -> bool {
        let limit = |terms: &Terms| {
            let mut limits = places
                .iter()
                .filter_map(|facts| facts.conditions.get(terms));
            let first = *limits.next()?;
            let easier = |a: Limit, b: &Limit| {
                if b.covers(a.constant, a.strict) {
                    *b
                } else {
                    a
                }
            };
            Some(limits.fold(first, easier))
        };
        !together.is_empty() && joint::refutes(&self.reader, &limit, together, goal)
    }

    /// Whether a formula in normal form is impossible. A condition on the second input alone is one
    /// on any input of the box.
    fn refutes(&self, places: &[&RegionFacts; 2], formula: &Formula) -> bool {
        let part = |part: &Formula| self.refutes(places, part);
        match formula {
            Formula::Compare(comparison) => self.refutes_comparison(places, comparison),
            Formula::And(of) => of.iter().any(part),
            Formula::Or(of) => of.iter().all(part),
            Formula::Count {
                of,
                relation: Relation::Ge,
                count,
            } => of.iter().filter(|f| !part(f)).count() < *count,
            Formula::Count { .. }
            | Formula::Within { .. }
            | Formula::Distance { .. }
            | Formula::Not(_)
            | Formula::Iff(..)
            | Formula::Xor(..) => false,
        }
    }
}

impl Deduction {
    fn refutes_comparison(&self, places: &[&RegionFacts; 2], comparison: &Comparison) -> bool {
        // An equation is two conditions; `!=` is none.
        let atoms = self.reader.atoms(comparison);
        let terms = &comparison.linear.terms;
        let is_first = |(_, var): &(f64, Var)| var.input == Input::First;
        // Where nothing is left of `u = u` or `u < u`, no input changes what it says.
        if terms.is_empty() {
            return !comparison.relation.holds(&comparison.linear.constant, &0.0);
        }
        if terms.iter().all(is_first) || !terms.iter().any(is_first) {
            return atoms.iter().any(|atom| has(places, atom));
        }
        // The inputs are chosen apart, so the sum is at most what its two parts are.
        let firsts: Vec<bool> = terms.iter().map(is_first).collect();
        let mut refuted = atoms.iter().map(|atom| {
            let part = |first: bool| {
                let mine = atom.terms.iter().zip(&firsts);
                let mine = mine.filter(|(_, of_first)| **of_first == first);
                maximum(places, &mine.map(|(term, _)| *term).collect::<Vec<Term>>())
            };
            let sum = (part(true) + part(false)).next_up();
            (sum + atom.constant).next_up() < 0.0
        });
        refuted.any(|refuted| refuted)
    }
}

/// What a sum is known not to exceed.
fn maximum(places: &[&RegionFacts; 2], terms: &[Term]) -> f64 {
    let key = key(terms);
    let limits = places.iter().filter_map(|facts| facts.conditions.get(&key));
    limits
        .map(|limit| -limit.constant)
        .fold(f64::INFINITY, f64::min)
}

fn has(places: &[&RegionFacts; 2], atom: &Atom) -> bool {
    let key = key(&atom.terms);
    let limits = places.iter().filter_map(|facts| facts.conditions.get(&key));
    limits
        .into_iter()
        .any(|limit| limit.covers(atom.constant, atom.strict))
}

/// Whether a neuron cannot change as a pair asks.
fn cannot_change_sign(
    places: &[&RegionFacts; 2],
    change: Change,
    layer: usize,
    neuron: usize,
) -> bool {
    let mut contrasts = change.contrasts();
    contrasts.any(|contrast| is_never_shown(places, contrast, layer, neuron))
}

/// Whether no two inputs show what is asked of a single neuron.
fn is_never_shown(
    places: &[&RegionFacts; 2],
    contrast: Contrast,
    layer: usize,
    neuron: usize,
) -> bool {
    let u = |weight: f64, strict: bool| Atom {
        terms: vec![Term {
            point: Point::Pre(layer),
            element: neuron,
            weight,
        }],
        constant: 0.0,
        strict,
    };
    match contrast {
        Contrast::SignChanges => has(places, &u(1.0, false)) || has(places, &u(-1.0, true)),
        // Any input together with itself shows it.
        Contrast::SignStays => false,
        // From l to h, |u| grows by less than the factor.
        Contrast::Grows(sigma) => {
            let end = |weight: f64| maximum(places, &u(weight, false).terms);
            // u is at most `high`, and -u at most `low`.
            let (high, low) = (end(1.0), end(-1.0));
            let grows_less = |least: f64, maximum: f64| {
                least > 0.0 && maximum < (sigma * least).next_down() && maximum.is_finite()
            };
            grows_less(-low, high) || grows_less(-high, low)
        }
    }
}

/// Some conjunctions of each place.
fn conjunctions<'f>(
    places: &[&'f RegionFacts; 2],
    some: impl Fn(&RegionFacts) -> BTreeSet<usize>,
) -> Vec<&'f Conjunction> {
    let of = |facts: &&'f RegionFacts| {
        let facts: &'f RegionFacts = facts;
        let numbers = some(facts).into_iter();
        numbers.map(|number| &facts.conjunctions[number])
    };
    places.iter().flat_map(of).collect()
}

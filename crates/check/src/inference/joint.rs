//! Two inputs at once. A formula on two inputs hangs together by its alternatives: that a sign stays
//! means that it is positive on both inputs or negative on both. So alternatives are taken one by one,
//! and each must lead to conditions that no input of the region meets together.
//!
//! What no input meets together is known from certificates; this file only counts cases.

use std::collections::HashMap;

use deepconcolic_language::{Comparison, Formula, Input, Var};
use deepconcolic_network::Point;

use crate::inference::deduction::{Limit, Terms, key, sorted};
use crate::question::{Atom, Reader, Term};

/// Most alternatives taken for one formula.
const MAX: usize = 1 << 12;

/// Weights closer to 0 are not compared.
const LEAST: f64 = 1e-250;

/// Conditions that no input meets together.
#[derive(Debug, Clone)]
pub(crate) struct Conjunction {
    pub conditions: Vec<(Terms, Limit)>,
}

impl Conjunction {
    /// The elements that it speaks of.
    pub fn elements(&self) -> impl Iterator<Item = (Point, usize)> + '_ {
        let terms = self.conditions.iter().flat_map(|(terms, _)| terms);
        terms.map(|&(point, element, _)| (point, element))
    }

    /// What it says where a formula has all its conditions, or all but one.
    fn known(&self, numbers: &HashMap<Terms, usize>) -> Option<Known> {
        let mut conditions = Vec::new();
        let mut bound = None;
        for (terms, limit) in &self.conditions {
            match numbers.get(terms) {
                Some(&number) => conditions.push((number, *limit)),
                None if bound.is_none() => bound = Some((terms.clone(), -limit.constant)),
                None => return None,
            }
        }
        Some(Known { conditions, bound })
    }
}

/// A condition of the formula: number of its sum, and how hard it is.
type Condition = (usize, Limit);

/// A condition on both inputs: the sum of a part on each and the constant is at least 0.
struct Mixed {
    parts: [Terms; 2],
    constant: f64,
}

/// A formula in normal form with its conditions numbered.
enum Part {
    /// A condition on one input.
    Condition(usize, Condition),
    Mixed(Mixed),
    And(Vec<Part>),
    Or(Vec<Part>),
    /// What no use is made of: it may hold.
    Anything,
}

/// Conditions that no input meets together, as far as the formula has them.
struct Known {
    conditions: Vec<Condition>,
    /// A further one that the formula does not have: where all the others hold, the sum stays below this.
    bound: Option<(Terms, f64)>,
}

/// Whether no two inputs meet a formula in normal form, by conditions that no input meets: some alone,
/// as `limit` says, and some together.
pub(crate) fn refutes(
    reader: &Reader,
    limit: &dyn Fn(&Terms) -> Option<Limit>,
    conjunctions: &[&Conjunction],
    formula: &Formula,
) -> bool {
    let mut numbering = Numbering {
        reader,
        numbers: HashMap::new(),
        parts: Vec::new(),
    };
    let root = numbering.part(formula);
    let Numbering { numbers, parts, .. } = numbering;
    let mut sums = vec![Terms::new(); numbers.len()];
    for (terms, &number) in &numbers {
        sums[number].clone_from(terms);
    }
    let mut known: Vec<Known> = Vec::new();
    for (number, terms) in sums.iter().enumerate() {
        known.extend(limit(terms).map(|limit| Known {
            conditions: vec![(number, limit)],
            bound: None,
        }));
    }
    for terms in &parts {
        let bound = limit(terms).map(|limit| (terms.clone(), -limit.constant));
        known.extend(bound.map(|bound| Known {
            conditions: Vec::new(),
            bound: Some(bound),
        }));
    }
    known.extend(conjunctions.iter().filter_map(|c| c.known(&numbers)));
    let path = Path {
        held: [vec![None; numbers.len()], vec![None; numbers.len()]],
        mixed: Vec::new(),
        open: Vec::new(),
    };
    let opposite = |terms: &Terms| {
        let negated = terms
            .iter()
            .map(|&(p, e, w)| (p, e, (-f64::from_bits(w)).to_bits()));
        numbers.get(&sorted(negated.collect())).copied()
    };
    let mut opposites: Vec<[usize; 2]> = numbers
        .iter()
        .filter_map(|(terms, &number)| Some([number, opposite(terms)?]))
        .filter(|[a, b]| a < b)
        .collect();
    opposites.sort_unstable();
    let mut search = Search {
        known,
        sums,
        opposites,
        taken: 0,
    };
    search.closes(path, &root)
}

struct Numbering<'a> {
    reader: &'a Reader,
    numbers: HashMap<Terms, usize>,
    /// Sums that are part of a condition on both inputs.
    parts: Vec<Terms>,
}

impl Numbering<'_> {
    fn number(&mut self, terms: &[Term]) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(key(terms)).or_insert(next)
    }

    fn part(&mut self, formula: &Formula) -> Part {
        match formula {
            Formula::Compare(comparison) => self.comparison(comparison),
            Formula::And(of) => Part::And(of.iter().map(|part| self.part(part)).collect()),
            Formula::Or(of) => Part::Or(of.iter().map(|part| self.part(part)).collect()),
            Formula::Count { of, count, .. } if *count == of.len() => {
                Part::And(of.iter().map(|part| self.part(part)).collect())
            }
            Formula::Count { of, count: 1, .. } => {
                Part::Or(of.iter().map(|part| self.part(part)).collect())
            }
            Formula::Count { .. }
            | Formula::Within { .. }
            | Formula::Distance { .. }
            | Formula::Not(_)
            | Formula::Iff(..)
            | Formula::Xor(..) => Part::Anything,
        }
    }

    fn comparison(&mut self, comparison: &Comparison) -> Part {
        let atoms = self.reader.atoms(comparison);
        let inputs = comparison.linear.terms.iter();
        let seconds: Vec<bool> = inputs
            .map(|(_, var): &(f64, Var)| var.input == Input::Second)
            .collect();
        let parts = atoms.into_iter().map(|atom| self.atom(&atom, &seconds));
        Part::And(parts.collect())
    }

    fn atom(&mut self, atom: &Atom, seconds: &[bool]) -> Part {
        let of = |second: bool| -> Vec<Term> {
            let terms = atom.terms.iter().zip(seconds);
            let mine = terms.filter(|(_, is_second)| **is_second == second);
            mine.map(|(term, _)| *term).collect()
        };
        let terms = [of(false), of(true)];
        let limit = Limit {
            constant: atom.constant,
            strict: atom.strict,
        };
        match [terms[0].is_empty(), terms[1].is_empty()] {
            [true, true] => Part::Anything,
            [false, true] => Part::Condition(0, (self.number(&terms[0]), limit)),
            [true, false] => Part::Condition(1, (self.number(&terms[1]), limit)),
            [false, false] => {
                let parts = terms.each_ref().map(|terms| key(terms));
                self.parts.extend(parts.clone());
                Part::Mixed(Mixed {
                    parts,
                    constant: atom.constant,
                })
            }
        }
    }
}

/// What holds of the two inputs after some alternatives were taken.
#[derive(Clone)]
struct Path<'p> {
    /// For each input, the hardest condition with some terms.
    held: [Vec<Option<Limit>>; 2],
    mixed: Vec<&'p Mixed>,
    /// Alternatives not taken yet.
    open: Vec<&'p [Part]>,
}

impl Path<'_> {
    fn has(&self, input: usize, (number, limit): Condition) -> bool {
        let held = self.held[input][number];
        held.is_some_and(|held| limit.covers(held.constant, held.strict))
    }
}

struct Search {
    known: Vec<Known>,
    /// The sums by number.
    sums: Vec<Terms>,
    /// Sums that are each other's negation.
    opposites: Vec<[usize; 2]>,
    taken: usize,
}

impl Search {
    /// Whether nothing is left of a path on which a further part holds.
    fn closes<'p>(&mut self, mut path: Path<'p>, part: &'p Part) -> bool {
        self.taken += 1;
        enter(&mut path, part);
        if self.is_closed(&path) {
            return true;
        }
        let Some(next) = self.next(&path) else {
            return false;
        };
        let alternatives = path.open.swap_remove(next);
        alternatives
            .iter()
            .all(|alternative| self.taken < MAX && self.closes(path.clone(), alternative))
    }

    /// Whether one of the inputs meets conditions that no input meets together, or both are too small
    /// for conditions on both.
    fn is_closed(&self, path: &Path<'_>) -> bool {
        let complete = |known: &Known| {
            let on = |input: usize| known.conditions.iter().all(|&c| path.has(input, c));
            known.bound.is_none() && (on(0) || on(1))
        };
        let clash = |&[a, b]: &[usize; 2]| {
            let of = |input: usize| match (path.held[input][a], path.held[input][b]) {
                (Some(a), Some(b)) => a.excludes(b),
                _ => false,
            };
            of(0) || of(1)
        };
        self.opposites.iter().any(clash)
            || self.known.iter().any(complete)
            || self.falls_short(path)
    }

    /// Whether bounds of the two inputs rule out a sum of multiples of the conditions on both.
    fn falls_short(&self, path: &Path<'_>) -> bool {
        if path.mixed.is_empty() {
            return false;
        }
        let [firsts, seconds] = [0, 1].map(|input| {
            let known = self.known.iter();
            let bounds = known.filter_map(|known| self.bound(path, input, known));
            let weighed =
                bounds.filter_map(|(terms, end)| Some((weights(terms, &path.mixed, input)?, end)));
            weighed.collect::<Vec<(Vec<f64>, f64)>>()
        });
        firsts.iter().any(|(weights, first)| {
            let same = seconds.iter().filter(|(other, _)| other == weights);
            let second = same.map(|(_, end)| *end).fold(f64::INFINITY, f64::min);
            let mut sum = (first + second).next_up();
            for (weight, mixed) in weights.iter().zip(&path.mixed) {
                sum = (sum + (weight * mixed.constant).next_up()).next_up();
            }
            sum < 0.0
        })
    }

    /// A sum and what it stays below on one of the inputs, if all but one of a conjunction's conditions
    /// hold there.
    fn bound<'k>(
        &'k self,
        path: &Path<'_>,
        input: usize,
        known: &'k Known,
    ) -> Option<(&'k Terms, f64)> {
        let mut missing = known.conditions.iter().filter(|c| !path.has(input, **c));
        match (&known.bound, missing.next(), missing.next()) {
            (Some((terms, end)), None, _) => Some((terms, *end)),
            (None, Some(&(number, limit)), None) => Some((&self.sums[number], -limit.constant)),
            _ => None,
        }
    }

    /// The alternatives to take next: those with a condition that most conjunctions still lack. That is
    /// how a search that split the formula went about it. If none is of use, those that conditions on both
    /// inputs hide in.
    fn next(&self, path: &Path<'_>) -> Option<usize> {
        let mut at = [vec![None; self.sums.len()], vec![None; self.sums.len()]];
        for (number, alternatives) in path.open.iter().enumerate() {
            each_condition(alternatives, &mut |input, sum| {
                at[input][sum] = Some(number);
            });
        }
        let mut lacks = vec![0; path.open.len()];
        let mut within = Vec::new();
        for known in &self.known {
            for (input, at) in at.iter().enumerate() {
                // One may stay missing: then its sum is bounded.
                let mut spare = usize::from(known.bound.is_none() && !path.mixed.is_empty());
                within.clear();
                let missing = known.conditions.iter().filter(|c| !path.has(input, **c));
                let possible = missing.map(|c| at[c.0]).all(|place| match place {
                    Some(place) => {
                        within.push(place);
                        true
                    }
                    None => std::mem::take(&mut spare) > 0,
                });
                if possible {
                    for &place in &within {
                        lacks[place] += 1;
                    }
                }
            }
        }
        let maximum = (0..lacks.len()).rev().max_by_key(|&place| lacks[place]);
        let maximum = maximum.filter(|&place| lacks[place] > 0);
        maximum.or_else(|| path.open.iter().position(|parts| has_mixed(parts)))
    }
}

/// The factors, one for each condition on both inputs, that make a sum of their parts on one input; only
/// exact ones.
fn weights(terms: &Terms, mixed: &[&Mixed], input: usize) -> Option<Vec<f64>> {
    let weight = |place: (Point, usize)| {
        let same = terms.iter().find(|&&(p, e, _)| (p, e) == place);
        same.map(|&(_, _, bits)| f64::from_bits(bits))
    };
    let mut matched = 0;
    let mut weights = Vec::with_capacity(mixed.len());
    for mixed in mixed {
        let part = &mixed.parts[input];
        let &(point, element, bits) = part.first()?;
        let Some(first) = weight((point, element)) else {
            weights.push(0.0);
            continue;
        };
        let factor = first / f64::from_bits(bits);
        let exact = part.iter().all(|&(point, element, bits)| {
            let found = weight((point, element));
            // Below this the remainder itself could underflow.
            let exact = |found: f64| factor.mul_add(f64::from_bits(bits), -found) == 0.0;
            found.is_some_and(|found| found.abs() > LEAST && exact(found))
        });
        if !(exact && factor > 0.0 && factor.is_finite()) {
            return None;
        }
        matched += part.len();
        weights.push(factor);
    }
    // A term that two conditions have cannot be told apart.
    (matched == terms.len()).then_some(weights)
}

/// Notes what a part says.
fn enter<'p>(path: &mut Path<'p>, part: &'p Part) {
    match part {
        Part::Condition(input, (number, limit)) => {
            let held = &mut path.held[*input][*number];
            if held.is_none_or(|held| held.covers(limit.constant, limit.strict)) {
                *held = Some(*limit);
            }
        }
        Part::Mixed(mixed) => path.mixed.push(mixed),
        Part::And(of) => of.iter().for_each(|part| enter(path, part)),
        Part::Or(of) => path.open.push(of),
        Part::Anything => {}
    }
}

/// Hands on input and sum of every condition.
fn each_condition(parts: &[Part], visit: &mut impl FnMut(usize, usize)) {
    for part in parts {
        match part {
            Part::Condition(input, (sum, _)) => visit(*input, *sum),
            Part::And(of) | Part::Or(of) => each_condition(of, visit),
            Part::Mixed(_) | Part::Anything => {}
        }
    }
}

fn has_mixed(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::Mixed(_) => true,
        Part::And(of) | Part::Or(of) => has_mixed(of),
        Part::Condition(..) | Part::Anything => false,
    })
}

#[cfg(test)]
mod tests {
    use deepconcolic_language::{Linear, Relation};
    use deepconcolic_testing::Random;

    use super::*;

    const NEURONS: usize = 3;

    fn pick(random: &mut Random, count: usize) -> usize {
        (random.list(1, 0.0, count as f64)[0] as usize).min(count - 1)
    }

    fn literal(input: Input, neuron: usize, positive: bool) -> Comparison {
        Comparison {
            linear: Linear::variable(Var::u(input, 2, neuron)),
            relation: if positive { Relation::Ge } else { Relation::Lt },
        }
    }

    fn input(random: &mut Random) -> Input {
        [Input::First, Input::Second][pick(random, 2)]
    }

    fn formula(random: &mut Random, depth: usize) -> Formula {
        let kind = pick(random, if depth == 0 { 1 } else { 4 });
        let of = |random: &mut Random| (0..2).map(|_| formula(random, depth - 1)).collect();
        match kind {
            0 => {
                let input = input(random);
                let neuron = pick(random, NEURONS);
                Formula::Compare(literal(input, neuron, pick(random, 2) == 0))
            }
            1 => Formula::And(of(random)),
            2 => Formula::Or(of(random)),
            _ => {
                let neuron = pick(random, NEURONS);
                let side = |input| Box::new(Formula::active(input, 2, neuron));
                Formula::Iff(side(Input::First), side(Input::Second))
            }
        }
    }

    fn reader() -> Reader {
        Reader { depth: 4 }
    }

    fn conjunction(conditions: &[Comparison]) -> Conjunction {
        let reader = reader();
        let atoms = conditions.iter().flat_map(|c| reader.atoms(c));
        let condition = |atom: Atom| {
            let limit = Limit {
                constant: atom.constant,
                strict: atom.strict,
            };
            (key(&atom.terms), limit)
        };
        Conjunction {
            conditions: atoms.map(condition).collect(),
        }
    }

    /// Whether signs, three bits for each input, meet a formula in normal form.
    fn holds(formula: &Formula, signs: [usize; 2]) -> bool {
        match formula {
            Formula::Compare(comparison) => {
                let (_, var) = comparison.linear.terms[0];
                let signs = signs[usize::from(var.input == Input::Second)];
                (signs >> var.neuron & 1 == 1) == (comparison.relation == Relation::Ge)
            }
            Formula::And(of) => of.iter().all(|part| holds(part, signs)),
            Formula::Or(of) => of.iter().any(|part| holds(part, signs)),
            _ => unreachable!("not in normal form"),
        }
    }

    #[test]
    fn signs_are_refuted_exactly_when_no_assignment_is_left() {
        let mut random = Random::new(3);
        let mut refuted = 0;
        for _ in 0..3000 {
            let parts = (0..4).map(|_| formula(&mut random, 2)).collect();
            let goal = Formula::And(parts).nnf();
            let impossible: Vec<Vec<(usize, bool)>> = (0..5)
                .map(|_| {
                    let literal =
                        |random: &mut Random| (pick(random, NEURONS), pick(random, 2) == 0);
                    (0..2).map(|_| literal(&mut random)).collect()
                })
                .collect();
            let conjunctions: Vec<Conjunction> = impossible
                .iter()
                .map(|of| {
                    let of = of
                        .iter()
                        .map(|&(n, positive)| literal(Input::First, n, positive));
                    conjunction(&of.collect::<Vec<Comparison>>())
                })
                .collect();
            let conjunctions: Vec<&Conjunction> = conjunctions.iter().collect();
            let possible = |signs: usize| {
                let has = |&(n, positive): &(usize, bool)| (signs >> n & 1 == 1) == positive;
                !impossible.iter().any(|of| of.iter().all(has))
            };
            let all = (0..1 << NEURONS).filter(|&signs| possible(signs));
            let all: Vec<usize> = all.collect();
            let met = all
                .iter()
                .any(|&a| all.iter().any(|&b| holds(&goal, [a, b])));
            let found = refutes(&reader(), &|_| None, &conjunctions, &goal);
            assert!(!(met && found), "{goal}");
            // Conjunctions that contradict themselves or the formula's other sums are of no use to it.
            refuted += usize::from(found);
        }
        assert!(refuted > 300, "{refuted}");
    }

    /// Inputs are points (u0, u1); all bounds told are true of them.
    #[test]
    fn conditions_on_both_inputs_are_refuted_by_true_bounds_only() {
        let mut random = Random::new(4);
        let mut counts = [0, 0];
        for _ in 0..2000 {
            let points: Vec<Vec<f64>> = (0..6).map(|_| random.list(2, 0.0, 1.0)).collect();
            // u(x2) is at least so many times u(x1), for both neurons, and the sign of a third sum parts
            // the points in two.
            let grown = |neuron: usize, factor: f64, more: f64| {
                let mut linear = Linear::variable(Var::u(Input::Second, 2, neuron));
                linear.add(-factor, &Linear::variable(Var::u(Input::First, 2, neuron)));
                linear.constant = -more;
                let relation = Relation::Ge;
                Comparison { linear, relation }
            };
            let mores = random.list(2, 0.0, 0.6);
            let mixed = [grown(0, 2.0, mores[0]), grown(1, 4.0, mores[1])];
            let goal = Formula::And(mixed.iter().cloned().map(Formula::Compare).collect());
            let share = (pick(&mut random, 7) + 1) as f64 / 8.0;
            let factors = [1.0 - share, share];
            let part = |weights: [f64; 2]| {
                let mut linear = Linear::default();
                for (neuron, weight) in weights.into_iter().enumerate() {
                    linear.add(weight, &Linear::variable(Var::u(Input::First, 2, neuron)));
                }
                let sum = |p: &Vec<f64>| weights[0] * p[0] + weights[1] * p[1];
                let maximum = points.iter().map(sum).fold(f64::NEG_INFINITY, f64::max);
                linear.constant = -(maximum + 1e-9);
                let relation = Relation::Ge;
                conjunction(&[Comparison { linear, relation }])
            };
            let known = [
                part([-2.0 * factors[0], -4.0 * factors[1]]),
                part([factors[0], factors[1]]),
            ];
            let known: Vec<&Conjunction> = known.iter().collect();
            let value = |c: &Comparison, a: &[f64], b: &[f64]| {
                let terms = c.linear.terms.iter().map(|(weight, var)| {
                    let point = if var.input == Input::First { a } else { b };
                    weight * point[var.neuron]
                });
                terms.sum::<f64>() + c.linear.constant
            };
            let met = points.iter().any(|a| {
                let both = |b: &Vec<f64>| mixed.iter().all(|c| value(c, a, b) >= 0.0);
                points.iter().any(both)
            });
            let found = refutes(&reader(), &|_| None, &known, &goal);
            assert!(!(met && found));
            counts[usize::from(found)] += 1;
        }
        assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
    }
}

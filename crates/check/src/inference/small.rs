//! Inference on small cases, all of them: an input is the values that two neurons take there, a region any set
//! of such inputs. Whatever is inferred from conditions that no input of the region meets must be true of it,
//! by trying all inputs and all pairs of inputs.

use deepconcolic_criteria::{Change, Changing, Kept, PairRequirement, Pairs};
use deepconcolic_language::{
    Comparison, Formula, Input, Inputs, Linear, Quantifier, Relation, Requirement, Var,
};
use deepconcolic_network::BitSet;
use deepconcolic_testing::Random;

use crate::inference::deduction::{Deduction, Fact};
use crate::question::Reader;
use crate::until::Until;

const DEPTH: usize = 4;
const RELATIONS: [Relation; 6] = [
    Relation::Ge,
    Relation::Gt,
    Relation::Le,
    Relation::Lt,
    Relation::Eq,
    Relation::Ne,
];

/// The values of the neurons at an input; neurons 0 and 1 are in the first hidden layer, 2 in the second.
type Values = [f64; 3];

fn neuron(input: Input, neuron: usize) -> Linear {
    let (layer, place) = [(2, 0), (2, 1), (3, 0)][neuron];
    Linear::variable(Var::u(input, layer, place))
}

fn value_of(var: Var, inputs: [&Values; 2]) -> f64 {
    let values = inputs[usize::from(var.input == Input::Second)];
    values[if var.layer == 3 { 2 } else { var.neuron }]
}

fn holds(formula: &Formula, inputs: [&Values; 2]) -> bool {
    let part = |part: &Formula| holds(part, inputs);
    match formula {
        Formula::Compare(Comparison { linear, relation }) => {
            let terms = linear
                .terms
                .iter()
                .map(|&(w, var)| w * value_of(var, inputs));
            relation.holds(&(terms.sum::<f64>() + linear.constant), &0.0)
        }
        Formula::And(of) => of.iter().all(part),
        Formula::Or(of) => of.iter().any(part),
        Formula::Not(of) => !part(of),
        Formula::Iff(a, b) => part(a) == part(b),
        Formula::Xor(a, b) => part(a) != part(b),
        Formula::Count {
            of,
            relation,
            count,
        } => relation.holds(&of.iter().filter(|f| part(f)).count(), count),
        Formula::Within { .. } | Formula::Distance { .. } => unreachable!("not made here"),
    }
}

fn is_met(formula: &Formula, region: &[Values]) -> bool {
    let both = |a| region.iter().any(|b| holds(formula, [a, b]));
    region.iter().any(both)
}

fn compare(linear: &Linear, at: f64, relation: Relation) -> Formula {
    let mut linear = linear.clone();
    linear.constant = 0.0 - at;
    Formula::compare(linear, relation)
}

fn requirement(formula: Formula) -> Requirement {
    let mut inputs = Inputs::One;
    formula.each_variable(&mut |var| {
        if var.input == Input::Second {
            inputs = Inputs::Two;
        }
    });
    Requirement {
        name: None,
        quantifier: Quantifier::Exists,
        inputs,
        formula,
    }
}

/// Conditions on one input: each as a formula, and as the check reads it.
fn conditions(neurons: usize) -> Vec<Formula> {
    let mut sums: Vec<Linear> = (0..neurons).map(|n| neuron(Input::First, n)).collect();
    let mut both = neuron(Input::First, 0);
    both.add(1.0, &neuron(Input::First, 1));
    let mut grown = Linear::default();
    grown.add(-2.0, &neuron(Input::First, 0));
    sums.extend([both, grown]);
    let mut all = Vec::new();
    for linear in &sums {
        for at in [-1.0, 0.0, 2.0] {
            for relation in &RELATIONS[..4] {
                all.push(compare(linear, at, *relation));
            }
        }
    }
    all
}

fn fact(conditions: &[&Formula]) -> Fact {
    let reader = Reader { depth: DEPTH };
    let atoms = conditions.iter().flat_map(|formula| match formula {
        Formula::Compare(comparison) => reader.atoms(comparison),
        _ => unreachable!("a condition is a comparison"),
    });
    let atoms = atoms.collect();
    Fact { atoms, whole: None }
}

/// Everything that is true of a region among single conditions and some conditions two by two.
fn true_facts(pool: &[Formula], region: &[Values]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (number, a) in pool.iter().enumerate() {
        if !is_met(a, region) {
            facts.push(fact(&[a]));
            continue;
        }
        for b in pool.iter().skip(number + 1) {
            let both = Formula::And(vec![a.clone(), b.clone()]);
            if is_met(b, region) && !is_met(&both, region) {
                facts.push(fact(&[a, b]));
            }
        }
    }
    facts
}

/// Small formulas of every form on one input and on two.
fn formulas() -> Vec<Formula> {
    let (first, second) = (Input::First, Input::Second);
    let mut grown = neuron(second, 0);
    grown.add(-2.0, &neuron(first, 0));
    let mut sum = neuron(second, 1);
    sum.add(1.0, &neuron(first, 0));
    let atoms = vec![
        compare(&neuron(first, 0), 0.0, Relation::Ge),
        compare(&neuron(first, 0), 0.0, Relation::Lt),
        compare(&neuron(first, 0), 1.0, Relation::Gt),
        compare(&neuron(first, 0), 2.0, Relation::Eq),
        compare(&neuron(first, 1), 0.0, Relation::Le),
        compare(&neuron(first, 1), -1.0, Relation::Ne),
        compare(&neuron(second, 0), 2.0, Relation::Ge),
        compare(&neuron(second, 1), 0.0, Relation::Gt),
        compare(&neuron(second, 1), -0.5, Relation::Lt),
        compare(&grown, 0.0, Relation::Ge),
        compare(&grown, 2.0, Relation::Gt),
        compare(&sum, 1.0, Relation::Ge),
        compare(&sum, -1.0, Relation::Le),
    ];
    let mut all = atoms.clone();
    for (number, a) in atoms.iter().enumerate() {
        all.push(Formula::Not(Box::new(a.clone())));
        for b in &atoms[number + 1..] {
            let (a, b) = (|| Box::new(a.clone()), || Box::new(b.clone()));
            all.push(Formula::And(vec![*a(), *b()]));
            all.push(Formula::Or(vec![*a(), *b()]));
            all.push(Formula::Iff(a(), b()));
            all.push(Formula::Xor(a(), b()));
        }
    }
    for number in 0..atoms.len() {
        let of = [0, 2, 5].map(|step| atoms[(number + step) % atoms.len()].clone());
        for relation in RELATIONS {
            for count in 0..=4 {
                all.push(Formula::Count {
                    of: of.to_vec(),
                    relation,
                    count,
                });
            }
        }
    }
    let stays = |n: usize| {
        let sides = [first, second].map(|input| Box::new(Formula::active(input, 2, n)));
        let [a, b] = sides;
        (Formula::Iff(a.clone(), b.clone()), Formula::Xor(a, b))
    };
    for (a, b) in [(0, 1), (1, 0)] {
        all.push(Formula::And(vec![stays(a).0, stays(b).1]));
        for atom in &atoms {
            let parts = vec![stays(a).0, atom.clone(), stays(b).1];
            all.push(Formula::And(parts.clone()));
            all.push(Formula::Or(parts));
        }
    }
    all
}

fn regions() -> Vec<Vec<Values>> {
    let points: Vec<Values> = [-1.0, 0.0, 2.0]
        .into_iter()
        .flat_map(|a| [-1.0, 1.0].map(|b| [a, b, 0.0]))
        .collect();
    let subset = |mask: usize| {
        let mine = points
            .iter()
            .enumerate()
            .filter(|(p, _)| mask >> p & 1 == 1);
        mine.map(|(_, values)| *values).collect()
    };
    (1..1 << points.len()).map(subset).collect()
}

#[test]
fn comparisons_that_no_network_changes_are_decided_by_their_numbers() {
    let nothing = Deduction::new(DEPTH, 1, None);
    for relation in RELATIONS {
        for number in [-1.0, 0.0, 2.0] {
            let formula = Formula::compare(Linear::constant(number), relation);
            let asked = requirement(formula.clone());
            assert_eq!(
                nothing.refute(&asked),
                !holds(&formula, [&[0.0; 3]; 2]),
                "{asked}"
            );
        }
    }
}

#[test]
fn nothing_is_inferred_that_some_inputs_meet() {
    let (pool, formulas) = (conditions(2), formulas());
    let asked: Vec<Requirement> = formulas.iter().cloned().map(requirement).collect();
    let mut random = Random::new(1);
    let (mut inferred, mut impossible, mut from_some) = (0, 0, 0);
    for region in regions() {
        let facts = true_facts(&pool, &region);
        let met: Vec<bool> = formulas.iter().map(|f| is_met(f, &region)).collect();
        for round in 0..4 {
            let mut known = Deduction::new(DEPTH, 1, None);
            for fact in &facts {
                // All of them, then some.
                if round == 0 || random.below(1 << round) == 0 {
                    known.add(fact, &[0]);
                }
            }
            for (asked, met) in asked.iter().zip(&met) {
                let refuted = known.refute(asked);
                assert!(!(refuted && *met), "{asked}");
                from_some += usize::from(round > 0 && refuted);
                if round == 0 {
                    inferred += usize::from(refuted);
                    impossible += usize::from(!met);
                }
            }
        }
    }
    println!("{inferred} of {impossible} inferred; {from_some} from some of the facts");
    assert!(inferred * 10 > impossible * 6, "{inferred} of {impossible}");
    assert!(from_some > inferred / 4, "{from_some}");
}

#[test]
fn what_one_box_says_holds_in_that_box() {
    let (pool, formulas) = (conditions(2), formulas());
    let asked: Vec<Requirement> = formulas.iter().cloned().map(requirement).collect();
    let regions = regions();
    let (mut inferred, mut split) = (0, 0);
    for number in (0..regions.len()).step_by(3) {
        let both = [&regions[number], &regions[(number * 7 + 5) % regions.len()]];
        let mut known = Deduction::new(DEPTH, 2, None);
        for (place, region) in both.iter().enumerate() {
            for fact in true_facts(&pool, region) {
                known.add(&fact, &[place]);
            }
        }
        for (asked, formula) in asked.iter().zip(&formulas) {
            let met = both.map(|region| is_met(formula, region));
            for (place, met) in met.iter().enumerate() {
                assert!(!(known.refute_in(place, asked) && *met), "{asked}");
            }
            let refuted = known.refute(asked);
            assert!(!(refuted && (met[0] || met[1])), "{asked}");
            inferred += usize::from(refuted);
            split += usize::from(!refuted && known.refute_in(0, asked));
        }
    }
    assert!(inferred > 500 && split > 500, "{inferred} {split}");
    let nothing = Deduction::new(DEPTH, 0, None);
    assert!(asked.iter().all(|asked| !nothing.refute(asked)));
}

#[test]
fn a_condition_follows_exactly_when_no_input_meets_it() {
    let pool = conditions(2);
    for region in regions() {
        let mut known = Deduction::new(DEPTH, 1, None);
        for fact in true_facts(&pool, &region) {
            known.add(&fact, &[0]);
        }
        for condition in &pool {
            let asked = requirement(condition.clone());
            assert_eq!(known.refute(&asked), !is_met(condition, &region), "{asked}");
            let Formula::Compare(comparison) = condition else {
                continue;
            };
            // The same of the other input.
            let mut second = comparison.clone();
            for (_, var) in &mut second.linear.terms {
                var.input = Input::Second;
            }
            let asked = requirement(Formula::Compare(second));
            assert_eq!(known.refute(&asked), !is_met(condition, &region), "{asked}");
        }
    }
}

/// Two conditions and one decision.
struct Trio(Change);

impl Pairs for Trio {
    fn changes(&self) -> (Change, Change) {
        (self.0, self.0)
    }
    fn layers(&self, _: usize) -> (usize, usize) {
        (0, 1)
    }
    fn neurons(&self, _: usize, slot: usize) -> (usize, usize) {
        (slot, 0)
    }
    fn requirement(&self, _: usize, slot: usize) -> PairRequirement {
        let changing = |layer: usize, neuron: usize| Changing {
            layer,
            neuron,
            change: self.0,
        };
        PairRequirement {
            condition: changing(0, slot),
            decision: changing(1, 0),
            kept: Kept::Layer(2),
        }
    }
    fn alike(&self, _: usize, _: usize) -> Vec<usize> {
        vec![0]
    }
    fn slots(&self, _: usize, _: usize) -> std::ops::Range<usize> {
        0..2
    }
    fn slot(&self, _: usize, condition: usize, _: usize) -> Option<usize> {
        Some(condition)
    }
}

fn refuted(known: &Deduction, pairs: &Trio) -> BitSet {
    let mut both = BitSet::new(2);
    both.insert(0);
    both.insert(1);
    known.refuted_pairs(pairs, 0, (2, 1), &both, Until::NEVER)
}

#[test]
fn pairs_of_neurons_that_are_inferred_impossible_are() {
    let corner = |bits: usize| [0, 1, 2].map(|n| if bits >> n & 1 == 1 { 1.0 } else { -1.0 });
    let points: Vec<Values> = (0..8).map(corner).collect();
    let pool: Vec<Formula> = (0..3)
        .flat_map(|n| {
            [Relation::Ge, Relation::Lt].map(|r| compare(&neuron(Input::First, n), 0.0, r))
        })
        .collect();
    let trio = Trio(Change::Sign);
    let (mut inferred, mut impossible) = (0, 0);
    for mask in 1..1usize << points.len() {
        let mine = points
            .iter()
            .enumerate()
            .filter(|(p, _)| mask >> p & 1 == 1);
        let region: Vec<Values> = mine.map(|(_, values)| *values).collect();
        let mut known = Deduction::new(DEPTH, 1, None);
        for fact in true_facts(&pool, &region) {
            known.add(&fact, &[0]);
        }
        let found = refuted(&known, &trio);
        for slot in 0..2 {
            let met = is_met(&trio.requirement(0, slot).formula(), &region);
            assert!(!(met && found.contains(slot)), "{region:?}");
            impossible += usize::from(!met);
            inferred += usize::from(found.contains(slot));
        }
    }
    assert!(inferred * 2 > impossible, "{inferred} of {impossible}");
}

#[test]
fn values_that_grow_enough_are_not_inferred_to_stay() {
    let grid = [-4.0, -2.0, -1.0, 1.0, 1.5, 2.0, 4.0];
    let mut counts = [0, 0];
    for mask in 1..1usize << grid.len() {
        let mine = grid.iter().enumerate().filter(|(p, _)| mask >> p & 1 == 1);
        let values: Vec<f64> = mine.map(|(_, v)| *v).collect();
        let (low, high) = (values[0], values[values.len() - 1]);
        for sigma in [1.5, 2.0] {
            let mut known = Deduction::new(DEPTH, 1, None);
            let u = neuron(Input::First, 0);
            known.add(&fact(&[&compare(&u, high, Relation::Gt)]), &[0]);
            known.add(&fact(&[&compare(&u, low, Relation::Lt)]), &[0]);
            let found = refuted(&known, &Trio(Change::Value(sigma)));
            let grows = |a: &f64| values.iter().any(|b| b.abs() >= sigma * a.abs());
            let met = values.iter().any(grows);
            assert!(!(met && found.contains(0)), "{values:?} {sigma}");
            assert!(!found.contains(1), "nothing is known of the other");
            counts[usize::from(found.contains(0))] += 1;
        }
    }
    assert!(counts[1] > 5, "{counts:?}");
}

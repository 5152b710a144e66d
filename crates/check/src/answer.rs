//! What a condition on the answer of a network says of its logits.
//!
//! A final Softmax, `LogSoftmax` or Sigmoid is smooth, and bounds here are bounds of sums and kinked curves. So
//! a condition on the answer is replaced by conditions on the logits that follow from it: by the same
//! condition where the function keeps order (one output against another; one output of a Sigmoid against a
//! number), by weaker ones elsewhere. What no input meets when the conditions are weaker, no input meets.
//! Numbers are rounded to the side where conditions are easier to meet.

use deepconcolic_language::{
    Comparison, Formula, Input, Linear, Relation, Requirement, Signature, Var,
};
use deepconcolic_network::{Head, Network};

/// Most conditions that one condition on the answer becomes.
const MAX: usize = 1 << 12;
/// More than the relative error of a logarithm in double precision.
const LOGARITHM: f64 = 1e-14;

/// How conditions on the answer were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replaced {
    /// By conditions on the logits that say the same.
    pub same: usize,
    /// By weaker conditions on the logits.
    pub weaker: usize,
    /// By nothing: they play no part in a proof.
    pub dropped: usize,
    /// By truth or falsehood: every answer meets them, or none does.
    pub decided: usize,
}

impl Replaced {
    /// Conditions on the answer that there were.
    pub fn total(self) -> usize {
        self.same + self.weaker + self.dropped + self.decided
    }
}

/// The goal of a requirement in normal form, with conditions on the logits in place of those on the answer
/// of a Softmax or Sigmoid. Whatever meets the requirement's goal meets this one.
pub fn on_logits(requirement: &Requirement, network: &Network) -> (Formula, Replaced) {
    let goal = requirement.goal().nnf();
    Answer::of(network).map_or((goal.clone(), Replaced::default()), |answer| {
        answer.replace(&goal)
    })
}

/// The answer of a network that ends in a Softmax, `LogSoftmax` or Sigmoid of its logits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    head: Head,
    /// Numbers of the two layers.
    logits: usize,
    layer: usize,
    outputs: usize,
}

/// A sum of outputs and a constant, of one input: it must be at least 0, or more.
struct Sum {
    input: Input,
    terms: Vec<(usize, f64)>,
    constant: f64,
    strict: bool,
}

/// What a condition became.
enum Found {
    Same(Formula),
    Weaker(Formula),
    Nothing,
}

impl Answer {
    /// None if the answer is the logits.
    pub fn of(network: &Network) -> Option<Self> {
        let signature = Signature::of(network);
        signature.output.as_ref().map(|output| Self {
            head: network.head(),
            logits: signature.depth(),
            layer: output.number,
            outputs: output.neurons,
        })
    }

    /// A formula in normal form that follows from another and does not speak of the answer.
    pub fn replace(&self, formula: &Formula) -> (Formula, Replaced) {
        let mut replaced = Replaced::default();
        let formula = self.formula(formula, &mut replaced);
        (formula, replaced)
    }

    fn formula(&self, formula: &Formula, replaced: &mut Replaced) -> Formula {
        let mut all = |of: &[Formula]| of.iter().map(|part| self.formula(part, replaced)).collect();
        match formula {
            Formula::Compare(comparison) if self.is_about(formula) => {
                match self.comparison(comparison) {
                    Found::Same(formula) => {
                        match &formula {
                            Formula::And(of) | Formula::Or(of) if of.is_empty() => {
                                replaced.decided += 1;
                            }
                            _ => replaced.same += 1,
                        }
                        formula
                    }
                    Found::Weaker(formula) => {
                        replaced.weaker += 1;
                        formula
                    }
                    Found::Nothing => {
                        replaced.dropped += 1;
                        Formula::constant(true)
                    }
                }
            }
            Formula::And(of) => Formula::And(all(of)),
            Formula::Or(of) => Formula::Or(all(of)),
            Formula::Count {
                of,
                relation: Relation::Ge,
                count,
            } => Formula::Count {
                of: all(of),
                relation: Relation::Ge,
                count: *count,
            },
            // Only where more truth below is more truth above may a part be weakened.
            other if self.is_about(other) => {
                replaced.dropped += 1;
                Formula::constant(true)
            }
            other => other.clone(),
        }
    }

    fn is_about(&self, formula: &Formula) -> bool {
        let mut about = false;
        formula.each_variable(&mut |var| about |= var.layer == self.layer);
        about
    }

    fn comparison(&self, comparison: &Comparison) -> Found {
        match comparison.relation {
            Relation::Ge => self.condition(comparison, 1.0, false),
            Relation::Gt => self.condition(comparison, 1.0, true),
            Relation::Le => self.condition(comparison, -1.0, false),
            Relation::Lt => self.condition(comparison, -1.0, true),
            Relation::Ne => Found::Nothing,
            Relation::Eq => {
                let sides = [1.0, -1.0].map(|sign| self.condition(comparison, sign, false));
                match sides {
                    [Found::Same(a), Found::Same(b)] => Found::Same(Formula::And(vec![a, b])),
                    [Found::Nothing, Found::Nothing] => Found::Nothing,
                    sides => Found::Weaker(Formula::And(
                        sides.into_iter().filter_map(Found::formula).collect(),
                    )),
                }
            }
        }
    }

    fn condition(&self, comparison: &Comparison, sign: f64, strict: bool) -> Found {
        let Linear { terms, constant } = &comparison.linear;
        let Some(&(_, Var { input, .. })) = terms.first() else {
            return Found::Nothing;
        };
        let mut sum = Sum {
            input,
            terms: Vec::with_capacity(terms.len()),
            constant: sign * constant,
            strict,
        };
        for &(weight, var) in terms {
            let again = sum.terms.iter().any(|&(output, _)| output == var.neuron);
            if var.layer != self.layer || var.input != input || again {
                return Found::Nothing;
            }
            sum.terms.push((var.neuron, sign * weight));
        }
        match self.head {
            Head::Identity => Found::Nothing,
            Head::Softmax => self.softmax(&sum),
            Head::LogSoftmax => self.log_softmax(&sum),
            Head::Sigmoid => self.sigmoid(&sum),
        }
    }

    /// Outputs of a Softmax add up to 1, so that a constant is a multiple of their sum: what remains is that
    /// a sum of `a_k exp(z_k)` is at least 0. The terms with positive factors are together at most as many
    /// times the largest of them; those with negative ones outweigh each of them, and as many times their
    /// geometric mean.
    fn softmax(&self, sum: &Sum) -> Found {
        let mut factors = vec![sum.constant; self.outputs];
        for &(output, weight) in &sum.terms {
            factors[output] = above(factors[output], weight);
        }
        if factors.iter().any(|a| !a.is_finite()) {
            return Found::Nothing;
        }
        let of = |sign: f64| -> Vec<(usize, f64)> {
            let signed = factors.iter().map(|a| sign * a).enumerate();
            signed.filter(|&(_, a)| a > 0.0).collect()
        };
        let (positive, negative) = (of(1.0), of(-1.0));
        if positive.is_empty() {
            // Where no output is exactly 0 or 1 there may be no way to meet this; executions round to 0 and 1.
            return if sum.strict || negative.len() == self.outputs {
                Found::Same(Formula::constant(false))
            } else {
                Found::Nothing
            };
        }
        if negative.is_empty() {
            return Found::Same(Formula::constant(true));
        }
        if positive.len() * (negative.len() + 1) > MAX {
            return Found::Nothing;
        }
        let count = positive.len() as f64;
        let alternative = |&(p, a): &(usize, f64)| {
            let outweighs = |&(n, b): &(usize, f64)| {
                let terms = vec![(p, 1.0), (n, -1.0)];
                self.at_least(sum, terms, logarithm(count, a, b))
            };
            let mut parts: Vec<Formula> = negative.iter().map(outweighs).collect();
            if negative.len() > 1 {
                let many = negative.len() as f64;
                let mut terms = vec![(p, many)];
                terms.extend(negative.iter().map(|&(n, _)| (n, -1.0)));
                let each = negative.iter().map(|&(_, b)| logarithm(count, a, b));
                let constant = each.fold(-many * many.ln() * (1.0 - LOGARITHM), above);
                parts.push(self.at_least(sum, terms, constant));
            }
            match parts.len() {
                1 => parts.swap_remove(0),
                _ => Formula::And(parts),
            }
        };
        let mut alternatives: Vec<Formula> = positive.iter().map(alternative).collect();
        match (positive.len(), negative.len()) {
            (1, 1) => Found::Same(alternatives.swap_remove(0)),
            (1, _) => Found::Weaker(alternatives.swap_remove(0)),
            _ => Found::Weaker(Formula::Or(alternatives)),
        }
    }

    /// Outputs are logits less the logarithm of the sum of all `exp(z_k)`, which is the same for all and lies
    /// between the largest logit and that plus ln n; and it is at least the mean logit plus ln n.
    fn log_softmax(&self, sum: &Sum) -> Found {
        let total = sum
            .terms
            .iter()
            .try_fold(0.0, |total, &(_, w)| exactly(total, w));
        let Some(total) = total.filter(|total: &f64| total.is_finite()) else {
            return Found::Nothing;
        };
        if total == 0.0 {
            return Found::Same(self.at_least(sum, sum.terms.clone(), sum.constant));
        }
        if self.outputs > MAX {
            return Found::Nothing;
        }
        let weight = |output: usize| {
            let mine = sum.terms.iter().find(|(o, _)| *o == output);
            mine.map_or(0.0, |&(_, weight)| weight)
        };
        let against = |output: usize| {
            let mut terms: Vec<(usize, f64)> = sum.terms.clone();
            terms.retain(|&(o, _)| o != output);
            terms.push((output, exactly(weight(output), -total)?));
            Some(terms)
        };
        let many = self.outputs as f64;
        let spread = many.ln();
        let each = (0..self.outputs).map(|output| {
            let constant = if total > 0.0 {
                sum.constant
            } else {
                above(sum.constant, -total * spread * (1.0 + LOGARITHM))
            };
            Some(self.at_least(sum, against(output)?, constant))
        });
        if total < 0.0 {
            let all: Option<Vec<Formula>> = each.collect();
            return all.map_or(Found::Nothing, |all| Found::Weaker(Formula::Or(all)));
        }
        let mut parts: Vec<Formula> = each.flatten().collect();
        let mean = (0..self.outputs).map(|output| {
            let scaled = many * weight(output);
            let exact = many.mul_add(weight(output), -scaled) == 0.0;
            Some((output, exactly(scaled, -total).filter(|_| exact)?))
        });
        if let Some(terms) = mean.collect::<Option<Vec<(usize, f64)>>>() {
            let less = many * total * spread * (1.0 - LOGARITHM);
            let constant = above((many * sum.constant).next_up(), -less);
            parts.push(self.at_least(sum, terms, constant));
        }
        if parts.is_empty() {
            Found::Nothing
        } else {
            Found::Weaker(Formula::And(parts))
        }
    }

    /// Outputs of a Sigmoid lie between 0 and 1, each on its own: each must be so far up or down that the
    /// others at their best can do the rest. Of two with opposite signs, their difference bounds that of the
    /// logits: the logarithm of a Sigmoid rises by at most as much as its logit.
    fn sigmoid(&self, sum: &Sum) -> Found {
        let best = |left_out: Option<usize>| {
            let others = sum.terms.iter().filter(|(o, _)| Some(*o) != left_out);
            others.fold(sum.constant, |best, &(_, w)| above(best, w.max(0.0)))
        };
        let maximum = best(None);
        if maximum < 0.0 || (sum.strict && maximum <= 0.0) {
            return Found::Same(Formula::constant(false));
        }
        let mut parts = Vec::new();
        for &(output, weight) in &sum.terms {
            let rest = best(Some(output));
            let threshold = -rest / weight;
            let exact = (weight.abs() - 1.0).abs() == 0.0;
            if weight > 0.0 {
                let least = if exact {
                    threshold
                } else {
                    threshold.next_down()
                };
                if least > 0.0 && least < 1.0 {
                    let constant = -logit(least, -1.0);
                    parts.push(self.at_least(sum, vec![(output, 1.0)], constant));
                }
            } else {
                let maximum = if exact {
                    threshold
                } else {
                    threshold.next_up()
                };
                if maximum > 0.0 && maximum < 1.0 {
                    let constant = logit(maximum, 1.0);
                    parts.push(self.at_least(sum, vec![(output, -1.0)], constant));
                }
            }
        }
        let mut same = sum.terms.len() == 1 && !parts.is_empty();
        if let [(i, a), (j, b)] = sum.terms[..] {
            let ((i, a), (j, b)) = if a > 0.0 {
                ((i, a), (j, b))
            } else {
                ((j, b), (i, a))
            };
            if a > 0.0 && b < 0.0 && -b >= a && sum.constant <= 0.0 {
                same = -b <= a && sum.constant >= 0.0;
                let terms = vec![(i, 1.0), (j, -1.0)];
                parts.push(self.at_least(sum, terms, logarithm(1.0, a, -b)));
            }
        }
        match (parts.len(), same) {
            (0, _) => Found::Nothing,
            (1, true) => Found::Same(parts.swap_remove(0)),
            _ => Found::Weaker(Formula::And(parts)),
        }
    }

    /// `terms + constant >= 0` on the logits, strictly where the sum is asked for strictly.
    fn at_least(&self, sum: &Sum, mut terms: Vec<(usize, f64)>, constant: f64) -> Formula {
        terms.retain(|&(_, weight)| weight != 0.0);
        if terms.is_empty() {
            return Formula::constant(constant > 0.0 || (constant >= 0.0 && !sum.strict));
        }
        let var = |output| Var::v(sum.input, self.logits, output);
        let relation = if sum.strict {
            Relation::Gt
        } else {
            Relation::Ge
        };
        let terms = terms
            .into_iter()
            .map(|(o, weight)| (weight, var(o)))
            .collect();
        Formula::compare(Linear { terms, constant }, relation)
    }
}

impl Found {
    fn formula(self) -> Option<Formula> {
        match self {
            Self::Same(formula) | Self::Weaker(formula) => Some(formula),
            Self::Nothing => None,
        }
    }
}

/// A sum, and what rounding left out.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rest = sum - a;
    (sum, (a - (sum - rest)) + (b - rest))
}

/// The least number that is known to be at least the sum.
fn above(a: f64, b: f64) -> f64 {
    match two_sum(a, b) {
        (sum, error) if error <= 0.0 => sum,
        (sum, _) => sum.next_up(),
    }
}

/// The sum, if nothing is rounded.
fn exactly(a: f64, b: f64) -> Option<f64> {
    let (sum, error) = two_sum(a, b);
    (error == 0.0).then_some(sum)
}

/// At least ln(count a / b).
#[expect(
    clippy::float_cmp,
    reason = "equal numbers have the logarithm 0 exactly"
)]
fn logarithm(count: f64, a: f64, b: f64) -> f64 {
    if count == 1.0 && a == b {
        return 0.0;
    }
    let (count, a, b) = (count.ln(), a.ln(), b.ln());
    count + a - b + LOGARITHM * (count.abs() + a.abs() + b.abs())
}

/// ln(t / (1 - t)), rounded by more than its error to the side of `sign`.
#[expect(clippy::float_cmp, reason = "one half has the logit 0 exactly")]
fn logit(t: f64, sign: f64) -> f64 {
    if t == 0.5 {
        return 0.0;
    }
    let (up, down) = (t.ln(), (-t).ln_1p());
    up - down + sign * LOGARITHM * (up.abs() + down.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: [Head; 3] = [Head::Softmax, Head::LogSoftmax, Head::Sigmoid];

    /// Numbers that are the same everywhere.
    struct Random(u64);

    impl Random {
        /// From -1 to 1.
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    fn answer(head: Head, outputs: usize) -> Answer {
        Answer {
            head,
            logits: 3,
            layer: 4,
            outputs,
        }
    }

    fn apply(head: Head, z: &[f64]) -> Vec<f64> {
        let maximum = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = z.iter().map(|z| (z - maximum).exp()).sum();
        let each = z.iter().map(|&z| match head {
            Head::Identity => z,
            Head::Softmax => (z - maximum).exp() / sum,
            Head::LogSoftmax => z - maximum - sum.ln(),
            Head::Sigmoid => 1.0 / (1.0 + (-z).exp()),
        });
        each.collect()
    }

    /// The left side of a comparison.
    fn left(comparison: &Comparison, z: &[f64], y: &[f64]) -> f64 {
        let terms = comparison.linear.terms.iter();
        terms.fold(comparison.linear.constant, |sum, (weight, var)| {
            let values = if var.layer == 4 { y } else { z };
            sum + weight * values[var.neuron]
        })
    }

    /// Whether a formula holds of logits, give or take `slack` in every condition.
    fn holds(formula: &Formula, z: &[f64], slack: f64) -> bool {
        match formula {
            Formula::Compare(comparison) => {
                assert!(
                    comparison
                        .linear
                        .terms
                        .iter()
                        .all(|(_, var)| var.layer == 3)
                );
                left(comparison, z, &[]) >= -slack
            }
            Formula::And(of) => of.iter().all(|part| holds(part, z, slack)),
            Formula::Or(of) => of.iter().any(|part| holds(part, z, slack)),
            other => panic!("{other}"),
        }
    }

    fn condition(terms: &[(usize, f64)], constant: f64) -> Comparison {
        let var = |output| Var::v(Input::First, 4, output);
        let terms = terms.iter().map(|&(output, weight)| (weight, var(output)));
        Comparison {
            linear: Linear {
                terms: terms.collect(),
                constant,
            },
            relation: Relation::Ge,
        }
    }

    /// Random conditions: a few outputs, weights that are often 1 or -1, a constant that is often 0.
    fn random_condition(random: &mut Random, outputs: usize) -> Comparison {
        let terms: Vec<(usize, f64)> = (0..outputs)
            .filter_map(|output| {
                let weight = random.next();
                let weight = if random.next() > 0.0 {
                    weight.signum()
                } else {
                    weight
                };
                (random.next() > 0.0).then_some((output, weight))
            })
            .collect();
        let constant = if random.next() > 0.3 {
            0.0
        } else {
            random.next()
        };
        condition(&terms, constant)
    }

    #[test]
    fn what_holds_of_the_answer_holds_of_the_logits_and_the_same_says_no_more() {
        let mut random = Random(7);
        let mut seen = Replaced::default();
        for head in HEADS {
            for outputs in 1..6 {
                for _ in 0..400 {
                    let comparison = random_condition(&mut random, outputs);
                    if comparison.linear.terms.is_empty() {
                        continue;
                    }
                    let (formula, replaced) =
                        answer(head, outputs).replace(&Formula::Compare(comparison.clone()));
                    seen.same += replaced.same;
                    seen.weaker += replaced.weaker;
                    seen.dropped += replaced.dropped;
                    for _ in 0..20 {
                        let z: Vec<f64> = (0..outputs).map(|_| 4.0 * random.next()).collect();
                        let value = left(&comparison, &z, &apply(head, &z));
                        if value >= 1e-12 {
                            assert!(
                                holds(&formula, &z, 1e-11),
                                "{head:?} {comparison:?}: {formula}"
                            );
                        }
                        if value < -1e-9 && replaced.same + replaced.decided == 1 {
                            assert!(
                                !holds(&formula, &z, 0.0),
                                "{head:?} {comparison:?}: {formula}"
                            );
                        }
                    }
                }
            }
        }
        assert!(
            seen.same > 100 && seen.weaker > 100 && seen.dropped > 10,
            "{seen:?}"
        );
    }

    #[test]
    fn one_output_against_another_is_one_logit_against_another() {
        for head in HEADS {
            let order = Formula::Compare(condition(&[(0, 1.0), (2, -1.0)], 0.0));
            let (formula, replaced) = answer(head, 3).replace(&order);
            assert_eq!(formula.to_string(), "v[x1][3,0] - v[x1][3,2] >= 0");
            assert_eq!(replaced.same, 1);
        }
    }

    #[test]
    fn a_threshold_of_a_sigmoid_is_its_logit_rounded_to_the_easier_side() {
        let at_least = Formula::Compare(condition(&[(0, 1.0)], -0.5));
        let (formula, _) = answer(Head::Sigmoid, 1).replace(&at_least);
        assert_eq!(formula.to_string(), "v[x1][3,0] >= 0");
        // logit(0.9) = 2.197224577336219382790490473845...
        let sides = [(1.0, -0.9), (-1.0, 0.9)];
        for (weight, constant) in sides {
            let threshold = Formula::Compare(condition(&[(0, weight)], constant));
            let (formula, replaced) = answer(Head::Sigmoid, 1).replace(&threshold);
            let Formula::Compare(found) = formula else {
                panic!("{formula}");
            };
            let edge = -found.linear.constant / found.linear.terms[0].0;
            let easier = weight * (2.197_224_577_336_219 - edge);
            assert!(easier > 0.0 && easier < 1e-12, "{easier:e}");
            assert_eq!(replaced.same, 1);
        }
    }

    #[test]
    fn a_softmax_output_is_bounded_through_the_other_logits() {
        // Y_0 >= 0.9 of three: z_0 - z_j >= ln 9 for both others, and for both at once.
        let high = Formula::Compare(condition(&[(0, 1.0)], -0.9));
        let (formula, replaced) = answer(Head::Softmax, 3).replace(&high);
        assert_eq!(replaced.weaker, 1);
        let nine = 9.0f64.ln();
        assert!(!holds(&formula, &[nine - 1e-6, 0.0, -50.0], 0.0));
        assert!(!holds(&formula, &[nine + 0.1, 0.0, 0.0], 0.0));
        assert!(holds(&formula, &[nine + 2.0f64.ln(), 0.0, 0.0], 1e-9));
        // Y_0 <= 0.1: some other logit is at least ln(9/2) higher.
        let low = Formula::Compare(condition(&[(0, -1.0)], 0.1));
        let (formula, _) = answer(Head::Softmax, 3).replace(&low);
        assert!(!holds(&formula, &[0.0, 1.5, 1.5], 0.0));
        assert!(holds(&formula, &[0.0, -5.0, 1.51], 0.0));
    }

    #[test]
    fn what_no_answer_meets_even_when_rounded_is_never_met_and_what_rounding_meets_is_left_open() {
        let never = [
            (Head::Softmax, condition(&[(0, 1.0)], -1.5)),
            (Head::Sigmoid, condition(&[(0, 1.0), (1, 1.0)], -2.5)),
        ];
        for (head, comparison) in never {
            let (formula, _) = answer(head, 2).replace(&Formula::Compare(comparison));
            assert_eq!(formula, Formula::constant(false));
        }
        // An execution can give 1 or 0 exactly, which no real logits do.
        for head in [Head::Softmax, Head::Sigmoid] {
            for (weight, constant) in [(1.0, -1.0), (-1.0, 0.0)] {
                let edge = Formula::Compare(condition(&[(0, weight)], constant));
                let (formula, replaced) = answer(head, 2).replace(&edge);
                assert_eq!((formula, replaced.dropped), (Formula::constant(true), 1));
            }
        }
    }

    #[test]
    fn nothing_of_the_answer_is_left_where_a_condition_is_no_sum_of_outputs_of_one_input() {
        let mut mixed = condition(&[(0, 1.0)], 0.0);
        mixed.linear.terms.push((1.0, Var::u(Input::First, 2, 0)));
        let mut two_inputs = condition(&[(0, 1.0)], 0.0);
        two_inputs
            .linear
            .terms
            .push((-1.0, Var::v(Input::Second, 4, 0)));
        for comparison in [mixed, two_inputs] {
            let (formula, replaced) =
                answer(Head::Softmax, 2).replace(&Formula::Compare(comparison));
            assert_eq!((formula, replaced.dropped), (Formula::constant(true), 1));
        }
    }
}

//! Conditions that differ in their constants only, such as the ends of the sections of one neuron's
//! range: the impossible ones are those beyond some threshold, which is searched for.

use std::collections::HashMap;

use deepconcolic_language::{Comparison, Input, Relation, Var};

use crate::batch::Finding;
use crate::region_prover::Decided;

/// Questions asked about one line at most.
const ROUNDS: usize = 8;

/// Conditions of the same terms, the easiest to meet first.
struct ThresholdSeries {
    conditions: Vec<Comparison>,
    /// How many of the first are not known to be impossible.
    open: usize,
    /// From here on all are.
    refuted: usize,
    /// Which to ask about next.
    next: usize,
    rounds: usize,
    /// Bounds on the values of conditions.
    bounds: Vec<Option<f64>>,
    /// Why it is beyond proofs.
    reason: Option<String>,
}

/// The sum that must not be below 0: its terms and constant.
fn oriented(condition: &Comparison) -> (Vec<(u64, Var)>, f64) {
    let sign = match condition.relation {
        Relation::Ge | Relation::Gt => 1.0,
        _ => -1.0,
    };
    let terms = condition.linear.terms.iter();
    let terms = terms.map(|&(weight, var)| ((sign * weight).to_bits(), var));
    (terms.collect(), sign * condition.linear.constant)
}

/// All lines of a number of requirements.
pub(crate) struct Thresholds {
    lines: Vec<ThresholdSeries>,
    places: HashMap<Vec<(u64, Var)>, usize>,
}

impl Thresholds {
    pub fn of<'a>(conditions: impl Iterator<Item = &'a Comparison>) -> Self {
        let mut all = Self {
            lines: Vec::new(),
            places: HashMap::new(),
        };
        for condition in conditions {
            let next = all.lines.len();
            let place = *all.places.entry(oriented(condition).0).or_insert(next);
            if place == next {
                all.lines.push(ThresholdSeries {
                    conditions: Vec::new(),
                    open: 0,
                    refuted: 0,
                    next: 0,
                    rounds: 0,
                    bounds: Vec::new(),
                    reason: None,
                });
            }
            all.lines[place].conditions.push(condition.clone());
        }
        for line in &mut all.lines {
            let rank = |c: &Comparison| (oriented(c).1, !is_strict(c));
            line.conditions.sort_by(|a, b| {
                let (a, b) = (rank(a), rank(b));
                b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
            });
            line.conditions.dedup();
            line.refuted = line.conditions.len();
            line.bounds = vec![None; line.refuted];
        }
        all
    }

    /// The lines to ask about, layer by layer.
    pub fn next(&self) -> Vec<usize> {
        let mut lines: Vec<usize> = (0..self.lines.len())
            .filter(|&l| {
                let line = &self.lines[l];
                line.open < line.refuted && line.rounds < ROUNDS
            })
            .collect();
        lines.sort_by_key(|&l| (self.condition(l).linear.terms[0].1.layer, l));
        lines
    }

    /// What to ask about a line.
    pub fn condition(&self, line: usize) -> &Comparison {
        let line = &self.lines[line];
        &line.conditions[line.next]
    }

    /// Takes an answer.
    pub fn note(&mut self, line: usize, finding: &Finding) {
        let line = &mut self.lines[line];
        let asked = line.next;
        line.rounds += 1;
        let mut hint = None;
        match *finding {
            Finding::Infeasible(_) => line.refuted = line.refuted.min(asked),
            Finding::Witness(_) => line.open = line.open.max(asked + 1),
            Finding::Open { bound } => {
                line.bounds[asked] = Some(bound);
                line.open = line.open.max(asked + 1);
                // The bound says of harder conditions that they are impossible.
                let least = oriented(&line.conditions[asked]).1 - bound;
                let beyond = |c: &Comparison| oriented(c).1 >= least;
                hint = Some(line.conditions.partition_point(beyond));
            }
        }
        let (open, refuted) = (line.open, line.refuted);
        line.next = hint
            .filter(|hint| (open..refuted).contains(hint))
            .unwrap_or(usize::midpoint(open, refuted));
        line.next = line.next.min(line.conditions.len() - 1);
    }

    /// No more questions about a line.
    pub fn give_up(&mut self, line: usize, reason: String) {
        self.lines[line].rounds = ROUNDS;
        self.lines[line].reason = Some(reason);
    }

    /// Says what is known of requirements, by the conditions that they depend on: a bound if that is one,
    /// and what is in the way. What was not refuted was asked about in vain.
    pub fn report(
        &self,
        wanted: &[(usize, Vec<Comparison>)],
        decided: &mut Decided,
        vain: &mut FailedAttempts,
    ) {
        for (r, wanted) in wanted {
            for condition in wanted {
                let (terms, constant) = oriented(condition);
                let Some(&line) = self.places.get(&terms) else {
                    continue;
                };
                let line = &self.lines[line];
                let before = |c: &Comparison| oriented(c).1 > constant;
                let at = line.conditions.partition_point(before);
                if wanted.len() == 1 {
                    decided.bounds[*r] = line.bounds.get(at).copied().flatten();
                }
                if line.reason.is_some() {
                    decided.reasons[*r].clone_from(&line.reason);
                }
            }
        }
        for line in &self.lines {
            if let Some(hardest) = line.conditions[..line.refuted].last() {
                let (terms, constant) = oriented(hardest);
                let known = vain.0.entry(terms).or_insert(f64::INFINITY);
                *known = known.min(constant);
            }
        }
    }
}

/// Conditions that were asked about and not refuted: for some terms, those with this constant and all
/// that are easier to meet.
#[derive(Default)]
pub(crate) struct FailedAttempts(HashMap<Vec<(u64, Var)>, f64>);

impl FailedAttempts {
    /// Whether there is no point in asking about a condition.
    pub fn has(&self, condition: &Comparison) -> bool {
        let (mut terms, constant) = oriented(condition);
        for (_, var) in &mut terms {
            var.input = Input::First;
        }
        self.0.get(&terms).is_some_and(|least| constant >= *least)
    }
}

fn is_strict(condition: &Comparison) -> bool {
    matches!(condition.relation, Relation::Gt | Relation::Lt)
}

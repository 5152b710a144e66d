//! A path through the alternatives of a formula on two inputs: what holds of each of them.

use deepconcolic_language::{Comparison, Formula, Input, Relation};

use super::pool::Seen;

/// What holds of the two inputs after some alternatives were taken.
#[derive(Clone)]
pub(super) struct Path<'f> {
    /// Conditions on each input, all written as if on the first.
    pub held: [Vec<Comparison>; 2],
    /// Conditions on both.
    pub mixed: Vec<&'f Comparison>,
    /// Alternatives not taken yet.
    pub open: Vec<&'f Formula>,
    /// An input for each of the two, and others that came up on the way.
    pub seen: [Option<Seen>; 2],
    pub shown: [Vec<Seen>; 2],
}

impl<'f> Path<'f> {
    /// Where a formula in normal form holds, with an input to begin with.
    pub fn new(goal: &'f Formula, seen: Option<&Seen>) -> Self {
        let mut path = Self {
            held: [Vec::new(), Vec::new()],
            mixed: Vec::new(),
            open: Vec::new(),
            seen: [seen.cloned(), seen.cloned()],
            shown: [Vec::new(), Vec::new()],
        };
        path.enter(goal);
        path
    }

    /// Takes an input for one of the two.
    pub fn show(&mut self, input: usize, seen: Seen) {
        self.shown[input].extend(self.seen[input].replace(seen));
    }

    /// Whether the conditions on one of the two contradict each other.
    pub fn is_torn(&self, input: usize) -> bool {
        is_contradiction(&self.held[input])
    }

    /// A further part holds.
    pub fn enter(&mut self, formula: &'f Formula) {
        match formula {
            Formula::Compare(comparison) => self.compare(comparison),
            Formula::And(of) => of.iter().for_each(|part| self.enter(part)),
            Formula::Or(_) => self.open.push(formula),
            // Not made use of, which makes the formula easier to meet.
            _ => {}
        }
    }

    fn compare(&mut self, comparison: &'f Comparison) {
        let terms = &comparison.linear.terms;
        let seconds = terms.iter().filter(|(_, var)| var.input == Input::Second);
        let input = match seconds.count() {
            // A sum of nothing: left to the evaluation of the whole.
            0 if terms.is_empty() => return,
            0 => 0,
            count if count == terms.len() => 1,
            _ => {
                self.mixed.push(comparison);
                return;
            }
        };
        let condition = on_first(comparison);
        if !self.held[input].contains(&condition) {
            self.held[input].push(condition);
        }
    }
}

/// The same condition as one on the first input, written so that the first weight is positive: equal
/// ones look equal.
pub(super) fn on_first(comparison: &Comparison) -> Comparison {
    let Comparison { linear, relation } = comparison;
    let turned = linear
        .terms
        .first()
        .is_some_and(|(weight, _)| *weight < 0.0);
    let mut linear = linear.clone().scaled(if turned { -1.0 } else { 1.0 });
    // No -0.
    linear.constant += 0.0;
    for (_, var) in &mut linear.terms {
        var.input = Input::First;
    }
    let relation = match relation {
        Relation::Lt if turned => Relation::Gt,
        Relation::Le if turned => Relation::Ge,
        Relation::Ge if turned => Relation::Le,
        Relation::Gt if turned => Relation::Lt,
        relation => *relation,
    };
    Comparison { linear, relation }
}

/// Whether two conditions on the same sum exclude each other.
fn is_contradiction(conditions: &[Comparison]) -> bool {
    let below = |r: Relation| matches!(r, Relation::Lt | Relation::Le);
    let above = |r: Relation| matches!(r, Relation::Gt | Relation::Ge);
    let strict = |r: Relation| matches!(r, Relation::Lt | Relation::Gt);
    conditions.iter().any(|a| {
        conditions.iter().any(|b| {
            let opposed = below(a.relation) && above(b.relation);
            let apart = strict(a.relation) || strict(b.relation);
            opposed && apart && a.linear == b.linear
        })
    })
}

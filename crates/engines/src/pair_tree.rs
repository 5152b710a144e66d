//! The trees of pair criteria, made without spelling out their formulas.

use deepconcolic_criteria::{Change, Scope};
use deepconcolic_network::Point;

use crate::atom::{Scales, Term};
use crate::goal::Reason;
use crate::pairs::PairSearch;
use crate::same_signs::SameSigns;
use crate::tree::Tree;

impl PairSearch<'_> {
    /// What a pair of tests for these neurons must meet.
    pub(crate) fn pair_tree(&self, condition: usize, decision: usize) -> Result<Tree, Reason> {
        let scales = self.scales();
        let (here, there) = (Point::Pre(self.before), Point::Pre(self.layer));
        let kept: Vec<usize> = match self.scope {
            Scope::Layer => (0..self.conditions()).collect(),
            Scope::Field => self.network.conditions(self.before, self.layer, decision),
        };
        let change = |change, point, neuron| match change {
            Change::Sign => sign_change(point, neuron, &scales),
            Change::Value(sigma) => value_change(point, neuron, sigma, &scales),
        };
        let flips = self.condition == Change::Sign;
        let kept = kept.into_iter().filter(|&n| !flips || n != condition);
        let mut parts = vec![
            change(self.condition, here, condition),
            change(self.decision, there, decision),
            Tree::Same(SameSigns::new(self.before, kept.collect(), &scales)?),
        ];
        if self.decision != Change::Sign {
            parts.push(Tree::Same(SameSigns::new(
                self.layer,
                vec![decision],
                &scales,
            )?));
        }
        Ok(Tree::All(parts))
    }
}

/// The signs on the two inputs differ.
pub(crate) fn sign_change(point: Point, neuron: usize, scales: &Scales<'_>) -> Tree {
    let sign = |input, positive| Tree::Atom(scales.sign(input, point, neuron, positive));
    Tree::Any(vec![
        Tree::All(vec![sign(0, true), sign(1, false)]),
        Tree::All(vec![sign(0, false), sign(1, true)]),
    ])
}

/// |u2| >= sigma |u1| and u1 is not 0, by the signs of the two.
fn value_change(point: Point, element: usize, sigma: f64, scales: &Scales<'_>) -> Tree {
    let term = |input, coefficient| Term {
        coefficient,
        input,
        point,
        element,
    };
    let case = |(first, second): (f64, f64)| {
        let grown = vec![term(1, second), term(0, -sigma * first)];
        Tree::All(vec![
            Tree::Atom(scales.atom(vec![term(0, first)], 0.0, true)),
            Tree::Atom(scales.atom(grown, 0.0, false)),
        ])
    };
    let cases = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
    Tree::Any(cases.into_iter().map(case).collect())
}

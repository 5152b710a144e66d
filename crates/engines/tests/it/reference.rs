//! The slow way: every row of the cell in one dense program, handed to the LP library as it is.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
};
use deepconcolic_geometry::{LinearForm, Norm};

use crate::mlp::Piece;

/// `piece >= least`
pub struct Condition {
    pub piece: Piece,
    pub least: f64,
}

/// The least distance, none if nothing meets the conditions; an error when the library does not know.
pub type Answer = Result<Option<f64>, SolverStatus>;

/// The least distance from `centre` of a point of the unit box that meets all conditions.
pub fn distance(conditions: &[Condition], centre: &[f64], norm: Norm) -> Answer {
    let n = centre.len();
    // Unknowns: x, then one size of change per element.
    let mut rows: Vec<(Vec<f64>, f64)> = Vec::new();
    for condition in conditions {
        let mut row = vec![0.0; 2 * n];
        for (to, a) in row.iter_mut().zip(&condition.piece.a) {
            *to = -a;
        }
        rows.push((row, condition.piece.c - condition.least));
    }
    for e in 0..n {
        let unit = |x: f64, size: f64| {
            let mut row = vec![0.0; 2 * n];
            row[e] = x;
            row[n + e] = size;
            row
        };
        rows.push((unit(1.0, 0.0), 1.0));
        rows.push((unit(-1.0, 0.0), 0.0));
        rows.push((unit(1.0, -1.0), centre[e]));
        rows.push((unit(-1.0, -1.0), -centre[e]));
    }
    let mut cost = vec![0.0; 2 * n];
    let mut quadratic = vec![vec![0.0; 2 * n]; 2 * n];
    let form = norm.convex().unwrap().form();
    match form {
        LinearForm::Sum => cost[n..].fill(1.0),
        LinearForm::Squares => {
            for (e, line) in quadratic.iter_mut().enumerate().skip(n) {
                line[e] = 2.0;
            }
        }
        LinearForm::Largest => {
            // All sizes are one.
            cost[n] = 1.0;
            for e in 1..n {
                let mut row = vec![0.0; 2 * n];
                row[n + e] = 1.0;
                row[n] = -1.0;
                rows.push((row, 0.0));
            }
        }
    }
    let matrix: Vec<Vec<f64>> = rows.iter().map(|(row, _)| row.clone()).collect();
    let right: Vec<f64> = rows.iter().map(|(_, right)| *right).collect();
    let cones: [SupportedConeT<f64>; 1] = [NonnegativeConeT(right.len())];
    let settings = DefaultSettings {
        verbose: false,
        ..DefaultSettings::default()
    };
    let (p, a) = (CscMatrix::from(&quadratic), CscMatrix::from(&matrix));
    let mut solver = DefaultSolver::new(&p, &cost, &a, &right, &cones, settings).unwrap();
    solver.solve();
    let value = solver.solution.obj_val;
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => Ok(Some(match form {
            LinearForm::Squares => value.max(0.0).sqrt(),
            LinearForm::Largest | LinearForm::Sum => value,
        })),
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => Ok(None),
        undecided => Err(undecided),
    }
}

//! Symbolic engines: from a [`Goal`] to a [`Report`].
//!
//! An [`Engine`] is asked for inputs that meet an [`Objective`](deepconcolic_criteria::Objective): a formula of
//! the requirement language over one or two inputs, a pair of neurons that change, a ratio of distances.
//! [`ENGINES`] lists all there are; [`supporting`] finds one for a goal. Adding one takes a file and a line,
//! and the tests of the table run over it.
//!
//! Hidden layers are never encoded: unknowns are the input elements that matter, rows are
//! vector-Jacobian products, and sign rows join a problem when a run shows them broken. Every witness
//! was run, and clears each comparison by its margin.
//!
//! ```
//! use deepconcolic_criteria::Objective;
//! use deepconcolic_engines::{Budget, Goal, Margin, Origin, supporting};
//! use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
//! use deepconcolic_language::{Formula, Input, Inputs};
//! use deepconcolic_network::ops::{Dense, Elementwise, Relu};
//! use deepconcolic_network::{NetworkBuilder, Shape};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2])?);
//! let u = builder.add(Dense::new(2, 1, vec![1.0, 1.0], vec![-1.5])?, &[x], "dense")?;
//! let v = builder.add(Elementwise::new(Relu), &[u], "relu")?;
//! let network = builder.finish(&[("y", v)], 0)?;
//! let domain = Domain::uniform(2, 0.0, 1.0)?;
//! let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(0.3));
//!
//! let seed: &[f32] = &[0.5, 0.6];
//! let active = Objective::Formula {
//!     formula: Formula::active(Input::First, 2, 0),
//!     inputs: Inputs::One,
//! };
//! let goal = Goal {
//!     network: &network,
//!     objectives: &[&[active]],
//!     origins: &[Origin::seed(&seed)],
//!     space: &space,
//!     means: &[],
//!     margin: Margin::default(),
//!     rng_seed: 0,
//! };
//! let engine = supporting(&goal).map_err(|reason| reason.to_string())?;
//! let report = engine.search(&goal, &Budget::default());
//! let (found, witness) = report.witness().ok_or("nothing found")?;
//! assert!(found.inputs(witness)[0].iter().sum::<f32>() >= 1.5);
//! assert!(witness.distance <= 0.3);
//! # Ok(())
//! # }
//! ```

mod atom;
mod attempt;
mod boundary;
mod budget;
mod cell;
mod compile;
mod cone;
mod cover;
mod demands;
mod engine;
mod goal;
mod meet;
mod nearness;
mod observed;
mod pair_tree;
mod pairs;
mod program;
mod published;
mod region;
mod report;
mod same_signs;
mod slope;
mod slope_region;
mod solver;
mod some_witness;
mod sparse;
mod step;
mod table;
mod task;
mod tree;
mod walk;

pub use budget::{Budget, Effort, StopReason};
pub use engine::{Engine, named, supporting};
pub use goal::{Goal, Margin, Origin, Reason};
pub use published::PublishedProgram;
pub use report::{Found, Report, Witness};
pub use table::{ENGINES, random_pairs};
pub use walk::ROWS as ROWS_OF_A_STEP;

//! Bounds of a network's values over a box, computed here and nowhere else: what a certificate's numbers
//! are judged by. `docs/certificates.md` has the argument.

pub(crate) mod backward;
pub(crate) mod box_bounds;
pub(crate) mod change_bounds;
pub(crate) mod changes;
pub(crate) mod chord;
pub(crate) mod cone;
pub(crate) mod context;
pub(crate) mod corner;
#[cfg(test)]
mod exact;
pub(crate) mod float;
pub(crate) mod forward;
pub(crate) mod forward_leaves;
pub(crate) mod interpolation;
pub(crate) mod leaf;
pub(crate) mod lines;
pub(crate) mod shared_columns;
pub(crate) mod spelled;
pub(crate) mod together;

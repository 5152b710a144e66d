//! The nearest witness of all cells: points on the boundary of what is asked for, moved along it towards the
//! root. One file a step: ways to meet the formula, many inputs run at once, reaching the boundary, descending
//! along it, smaller balls, and the grid.

mod descend;
mod grid;
mod reach;
mod runs;
mod search;
mod shrink;
mod ways;

pub(crate) use search::nearest_of_all_cells;
pub(crate) use ways::ways;

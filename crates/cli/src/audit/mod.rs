//! `check` of a run: everything that a person or a script may read in its folder, computed again from
//! the files and compared. Data in, findings out; nothing is printed here.

mod beside;
mod certificates;
mod figures;
mod finding;
mod judge;
mod opened;
mod origins;
mod rows;
mod tests;

pub use finding::Report;
pub use judge::judge;

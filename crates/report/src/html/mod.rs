//! The report of a folder: pages to look at, `junit.xml` and `findings.sarif` for build servers, `summary.md` for a pull
//! request.
//!
//! Data flow one way: the folder is read into a `View`, pages are made from that, and files are written
//! or compared. The pages are a function of the folder's other files: the same folder has the same report, so that
//! `check` can make it again and compare.

mod accounts;
mod cases;
mod compare;
mod drawings;
mod files;
mod gallery;
mod index;
mod junit;
mod layers;
mod measured;
mod number;
mod overview;
mod page;
mod picture;
mod piece;
mod plots;
mod report;
mod requirements;
mod run;
mod sarif;
mod single_file;
mod slopes;
mod summary_md;
mod svg;
mod verification;
mod view;
mod words;

pub use drawings::Drawing;
pub use piece::{coverage_piece, run_drawings, run_piece};
pub use report::{ReportRequest, check, write, write_coverage};

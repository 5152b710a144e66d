//! The crate from outside: the language guide, large files, bad files, the competition's files.

mod garbage;
mod guide;
mod meaning;
mod messages;
mod scale;
mod vnncomp;

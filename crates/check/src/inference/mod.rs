//! What follows from accepted certificates: no arithmetic on networks, only conditions that are known to
//! be impossible and the requirements that fall with them.

pub(crate) mod deduction;
pub(crate) mod joint;
pub(crate) mod proven;
#[cfg(test)]
mod small;

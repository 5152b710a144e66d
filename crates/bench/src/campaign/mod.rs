//! What campaigns reach, beside the paper's figures.

mod adversarial;
mod ball;
mod cifar;
mod field;
mod kills;
mod nbc;
mod nc;
mod others;
mod strategies;

pub use adversarial::run as adversarial;
pub use ball::run as ball;
pub use cifar::run as cifar;
pub use field::{Ended, Field};
pub use kills::run as kills;
pub use nbc::{keep_first, run as nbc};
pub use nc::run as nc;
pub use others::run as others;
pub use strategies::{Race, race, run as strategies};

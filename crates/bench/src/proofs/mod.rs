//! What can be proven, how fast, and whether the checker agrees: `-- proofs`.

mod contest;
mod ground;
mod neurons;
mod pairs;
mod pixels;
mod slopes;

pub use contest::{Plan, run as contest};
pub use ground::ProofSubject;
pub use neurons::{Question, inactive_neurons, run as neurons};
pub use pairs::run as pairs;
pub use pixels::{PixelPlan, run as pixels};
pub use slopes::{Steepness, run as slopes};

//! One step of the published tool, which is not the step that the paper describes.
//!
//! The paper asks for the nearest input in the test's cell. The program that was published leaves most
//! input elements undetermined, and its solver moved them all as far as the program allowed; one test then activates a
//! dozen neurons by the way. These are the rules that reproduce its curve:
//!
//! - Minimise `d` in `[1/255, 1]` with `|x - t| <= d` and the target's `u >= 1/255`. In earlier layers an
//!   active neuron stays active; an inactive one stays at zero behind its Relu, whatever goes into it.
//! - Behind a maximum the outputs are bounded from below alone, so that a target there hardly asks anything of the input.
//!   Targets with an activation between them and a maximum always failed.
//! - What the optimum leaves free: for a target of the first layer, elements outside its receptive field go down by `d`,
//!   or up where that leaves the domain; for deeper targets `d` is fixed and the sum of `x` is minimised.
//! - Nobody looks whether the target fired. So this is no [`Engine`](crate::Engine), whose witnesses are run.

mod step;
mod straight;

pub use step::PublishedProgram;

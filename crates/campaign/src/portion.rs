//! How much is done between two looks at the limits. It depends on what a pass costs by the structure of the network
//! and never on a clock, so that a run takes the same steps however fast the machine is.

use deepconcolic_network::Network;

/// Multiplications of a portion: about a second of one core.
const PORTION: usize = 1 << 35;

/// Passes of a portion, at least one.
pub(crate) fn passes(network: &Network) -> usize {
    (PORTION / network.pass_cost()).max(1)
}

//! Certificates of steepness about numbers so large or so small that doubles do not hold what is computed with
//! them: what they claim is false, and must not be accepted.

use deepconcolic_check::steepness::{
    Eliminated, SlopeCertificate, SlopeLeaf, SlopeSubject, SlopeTree, check_slopes,
};
use deepconcolic_check::{Region, sha256};
use deepconcolic_geometry::Norm;
use deepconcolic_network::ops::{Binary, Clip, Elementwise, HardSigmoid, Mul};
use deepconcolic_network::{Network, Shape};

use crate::layers::Layers;

/// What is claimed of a network over a box.
struct Claim {
    network: Network,
    norm: Norm,
    ends: [f64; 2],
    width: f64,
    bound: f64,
}

impl Claim {
    /// Whether it is accepted with a leaf of any kind, on which nothing is eliminated or everything.
    fn is_accepted(&self) -> bool {
        let leaf = |groups: u32, by_form: bool| {
            let factors = Vec::new();
            let eliminated = Eliminated { groups, factors };
            if by_form {
                SlopeLeaf::Quadratic {
                    eliminated,
                    multipliers: Vec::new(),
                }
            } else {
                SlopeLeaf::Magnitudes { eliminated }
            }
        };
        let leaves = (0..20).flat_map(|groups| [leaf(groups, false), leaf(groups, true)]);
        leaves.into_iter().any(|leaf| self.is_shown_by(leaf))
    }

    fn is_shown_by(&self, leaf: SlopeLeaf) -> bool {
        let elements = self.network.input_elements();
        let certificate = SlopeCertificate {
            model: sha256(b"model"),
            region: Region {
                lower: vec![self.ends[0]; elements],
                upper: vec![self.ends[1]; elements],
                ..Region::default()
            },
            subject: SlopeSubject {
                outputs: vec![0],
                norm: self.norm,
                widths: vec![self.width; elements],
            },
            bound: self.bound,
            proofs: vec![vec![SlopeTree::Leaf(leaf)]],
        };
        check_slopes(&self.network, &certificate, &sha256(b"model")).is_ok()
    }
}

const NORMS: [Norm; 3] = [Norm::L2, Norm::LINF, Norm::L1];

#[test]
fn an_input_whose_derivative_overflows_is_not_left_out() {
    // The first input's derivative is 3e38 to the ninth power, the second one's is 1.
    let mut layers = Layers::of(2);
    for _ in 0..9 {
        layers = layers.then(|builder, x, name| {
            let scale = builder.constant(Shape::new([1, 2])?, vec![3e38, 1.0])?;
            builder.add(Binary::new(Mul), &[x, scale], name)
        });
    }
    let network = layers.dense(1, &[1.0, 1.0], 0.0).finish();
    let claim = Claim {
        network,
        norm: Norm::LINF,
        ends: [-1.0, 1.0],
        width: 1.0,
        bound: 2.0,
    };
    assert!(!claim.is_accepted());
}

#[test]
fn a_derivative_that_is_no_number_is_not_none() {
    // Behind the Relu the output grows with 1e38 to the eleventh power.
    for norm in NORMS {
        let mut layers = Layers::of(1).relu();
        for _ in 0..11 {
            layers = layers.dense(1, &[1e38], 0.0);
        }
        let claim = Claim {
            network: layers.finish(),
            norm,
            ends: [-1.0, 1.0],
            width: 1.0,
            bound: 2.0,
        };
        assert!(!claim.is_accepted(), "{norm}");
    }
}

#[test]
fn widths_whose_squares_are_none_count() {
    // A change by a width of 1e-163 changes the output by 1e-153.
    for norm in NORMS {
        let claim = |bound: f64| Claim {
            network: Layers::of(1).dense(1, &[1e10], 0.0).finish(),
            norm,
            ends: [-1.0, 1.0],
            width: 1e-163,
            bound,
        };
        assert!(!claim(1e-155).is_accepted(), "{norm}");
        assert!(claim(1e-100).is_accepted(), "{norm}");
    }
}

#[test]
fn a_box_so_large_that_sums_are_no_numbers_is_not_empty() {
    // Where the two inputs are nearly the same, the Clip lets their difference through.
    for norm in NORMS {
        let network = Layers::of(2)
            .dense(1, &[1e30, -1e30], 0.5)
            .then(|builder, x, name| {
                let clip = Clip::new(0.0, 1.0).unwrap();
                builder.add(Elementwise::new(clip), &[x], name)
            })
            .dense(1, &[1.0], 1.0)
            .relu()
            .finish();
        let claim = Claim {
            network,
            norm,
            ends: [1e300, 2e300],
            width: 1.0,
            bound: 1.0,
        };
        assert!(!claim.is_accepted(), "{norm}");
    }
}

#[test]
fn a_part_of_a_curve_between_two_kinks_that_are_one_double_has_its_slope() {
    // From -1e17 to -1e17 + 1 it goes from 0 to 1.
    for norm in NORMS {
        let network = Layers::of(1)
            .then(|builder, x, name| {
                let curve = HardSigmoid::new(1.0, 1e17).unwrap();
                builder.add(Elementwise::new(curve), &[x], name)
            })
            .finish();
        let claim = Claim {
            network,
            norm,
            ends: [-2e17, 0.0],
            width: 1.0,
            bound: 0.5,
        };
        assert!(!claim.is_accepted(), "{norm}");
    }
}

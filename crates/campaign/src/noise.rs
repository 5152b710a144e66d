//! Uniform noise: the control that a coverage figure should be read beside.

use deepconcolic_geometry::{Domain, Random};

use crate::Inputs;

/// So many inputs drawn uniformly from a domain; each depends on its number and the seed alone.
#[derive(Clone, Debug)]
pub struct Noise {
    domain: Domain,
    len: usize,
    seed: u64,
}

impl Noise {
    /// The inputs of a seed.
    pub fn new(domain: Domain, len: usize, seed: u64) -> Self {
        Self { domain, len, seed }
    }
}

impl Inputs for Noise {
    fn len(&self) -> usize {
        self.len
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        let each = self.domain.lower().len();
        for (&index, input) in indices.iter().zip(into.chunks_exact_mut(each.max(1))) {
            let mut random = Random::of(&[self.seed, index as u64]);
            let ends = self.domain.lower().iter().zip(self.domain.upper());
            for (x, (&low, &high)) in input.iter_mut().zip(ends) {
                *x = random.between(low, high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_stays_in_the_domain_and_fills_it() {
        let domain = Domain::new(vec![-1.0, 5.0, 2.0], vec![1.0, 6.0, 2.0]).unwrap();
        let noise = Noise::new(domain, 500, 3);
        let all: Vec<usize> = (0..500).collect();
        let mut x = vec![0.0; 1500];
        noise.gather(&all, &mut x);
        let column = |c: usize| x.iter().skip(c).step_by(3).copied();
        for (c, low, high) in [(0, -1.0, 1.0), (1, 5.0, 6.0)] {
            let (a, b) = (
                column(c).fold(f32::MAX, f32::min),
                column(c).fold(f32::MIN, f32::max),
            );
            let margin = (high - low) * 0.05;
            assert!(low <= a && a < low + margin && high - margin < b && b <= high);
        }
        assert!(column(2).all(|v| v.to_bits() == 2f32.to_bits()));
    }

    #[test]
    fn an_input_depends_on_its_number_alone() {
        let noise = Noise::new(Domain::uniform(4, 0.0, 1.0).unwrap(), 9, 1);
        let (mut one, mut two) = (vec![0.0; 4], vec![0.0; 8]);
        noise.gather(&[7], &mut one);
        noise.gather(&[2, 7], &mut two);
        assert_eq!(one, two[4..]);
    }
}

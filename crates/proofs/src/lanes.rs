//! Numbers worked on side by side: one lane for each sum, box or part of a region.

/// How many lanes: four vectors of AVX2, few enough to stay in registers.
pub(crate) const LANES: usize = 16;

/// One number for each lane.
pub(crate) type Lanes = [f64; LANES];

/// The same number in every lane.
pub(crate) const fn all(number: f64) -> Lanes {
    [number; LANES]
}

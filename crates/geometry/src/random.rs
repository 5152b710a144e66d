//! Random numbers that depend on a few named numbers alone, so that any step of a search can be
//! repeated without those before it.

/// Splitmix64's output for a state.
fn mix(state: u64) -> u64 {
    let mut z = state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of these numbers, in this order.
    pub fn of(names: &[u64]) -> Self {
        Self(
            names
                .iter()
                .fold(0, |state, &name| mix(state ^ mix(name.wrapping_add(1)))),
        )
    }

    /// A stream of its own.
    pub fn split(&mut self) -> Self {
        Self::of(&[self.bits()])
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 to below 1.
    pub fn part(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number between two others.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        (low + (high - low) * self.part()).clamp(low, high)
    }

    /// A number of the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        // Box and Muller's; 1 - part is never 0.
        let (a, b) = (1.0 - f64::from(self.part()), f64::from(self.part()));
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

//! The ranges of neurons' values, cut into equal sections.

/// The sections of one layer's neurons.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    /// Where each neuron's range begins.
    pub low: &'a [f32],
    /// Where it ends.
    pub high: &'a [f32],
    /// Sections of each neuron.
    pub count: usize,
}

impl Sections<'_> {
    /// Where section `s` of a neuron begins; `s = count` is the upper end.
    pub fn edge(&self, neuron: usize, s: usize) -> f64 {
        let (low, high) = (f64::from(self.low[neuron]), f64::from(self.high[neuron]));
        if s == self.count {
            high
        } else {
            low + (high - low) * (s as f64 / self.count as f64)
        }
    }

    /// The section that a value falls into, if it is in range. Sections are closed below, the last on both
    /// sides.
    #[expect(
        clippy::float_cmp,
        reason = "ends of a range are stored numbers, equal or not to the bit"
    )]
    pub fn of(&self, neuron: usize, u: f32) -> Option<usize> {
        let (low, high) = (self.low[neuron], self.high[neuron]);
        if !(low <= u && u <= high) {
            return None;
        }
        if low == high {
            return Some(0);
        }
        let value = f64::from(u);
        let part = (value - f64::from(low)) / (f64::from(high) - f64::from(low));
        // The quotient may round across an edge; the edges decide.
        let mut s = ((part * self.count as f64) as usize).min(self.count - 1);
        while s > 0 && value < self.edge(neuron, s) {
            s -= 1;
        }
        while s + 1 < self.count && value >= self.edge(neuron, s + 1) {
            s += 1;
        }
        Some(s)
    }

    /// How far a value is inside a section (below 0: outside), and whether that grows or falls with the
    /// value: 1 or -1.
    pub fn excess(&self, neuron: usize, s: usize, u: f32) -> (f32, f32) {
        let u = f64::from(u);
        let (above, below) = (u - self.edge(neuron, s), self.edge(neuron, s + 1) - u);
        if above < below {
            (above as f32, 1.0)
        } else {
            (below as f32, -1.0)
        }
    }

    /// The middle of a section: the nearer a value is to it, the nearer it is to the section.
    pub fn centre(&self, neuron: usize, s: usize) -> f64 {
        0.5 * (self.edge(neuron, s) + self.edge(neuron, s + 1))
    }

    /// Which section a number would have for its centre if sections went on without end; no whole number in
    /// general. None for a neuron whose range is one value.
    pub fn place(&self, neuron: usize, u: f64) -> Option<f64> {
        let (low, high) = (f64::from(self.low[neuron]), f64::from(self.high[neuron]));
        let place = (u - low) / (high - low) * self.count as f64 - 0.5;
        place.is_finite().then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_decide_where_the_quotient_rounds() {
        for count in [1, 3, 10, 1000] {
            let sections = Sections {
                low: &[-0.3],
                high: &[0.7],
                count,
            };
            for step in 0..=5000 {
                let u = -0.3f32 + step as f32 * 2e-4;
                let Some(s) = sections.of(0, u) else {
                    assert!(u > 0.7);
                    continue;
                };
                let value = f64::from(u);
                assert!(sections.edge(0, s) <= value);
                let end = sections.edge(0, s + 1);
                assert!(
                    value < end || (s + 1 == count && value <= end),
                    "{value} {s}"
                );
                let place = sections.place(0, sections.centre(0, s)).unwrap();
                assert!((place - s as f64).abs() < 1e-6, "{place} {s}");
            }
        }
    }
}

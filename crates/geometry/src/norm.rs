//! Distances between two inputs, in units of the domain's width per element.

use std::fmt;

/// Which elements of an input belong to one pixel; only [`Norm::L0`] asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pixels {
    /// Every element is a pixel of its own: tabular data, grey images.
    #[default]
    Single,
    /// Channels first, `[channels, height, width]`.
    ChannelsFirst(usize),
    /// Channels last, `[height, width, channels]`.
    ChannelsLast(usize),
}

impl Pixels {
    /// The position of an element, given how many elements there are.
    pub fn position(self, element: usize, elements: usize) -> usize {
        match self {
            Self::Single => element,
            Self::ChannelsFirst(channels) => element % (elements / channels.max(1)).max(1),
            Self::ChannelsLast(channels) => element / channels.max(1),
        }
    }
}

/// What a distance needs to know of the input domain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InputSpace {
    /// The domain's width per element. An element without an entry has width 1; one of width 0
    /// is constant, so two inputs that differ there are infinitely far apart.
    pub widths: Vec<f64>,
    /// Which elements make up a pixel.
    pub pixels: Pixels,
}

/// A norm on the difference of two inputs.
///
/// ```
/// use deepconcolic_geometry::{InputSpace, Norm};
///
/// let domain = InputSpace { widths: vec![1.0, 255.0], ..InputSpace::default() };
/// assert_eq!(Norm::Linf.distance(&[0.0, 0.0], &[0.25, 51.0], &domain), 0.25);
/// assert_eq!(Norm::L0.distance(&[0.0, 0.0], &[0.25, 51.0], &domain), 2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Norm {
    /// The largest change of an element.
    #[default]
    Linf,
    /// The sum of the changes.
    L1,
    /// The Euclidean length of the change.
    L2,
    /// The number of changed pixels: all channels of a position count once.
    L0,
    /// The number of changed elements.
    L0Elements,
}

impl Norm {
    /// Every norm; feeds the language's parser and its error messages.
    pub const ALL: [Self; 5] = [Self::Linf, Self::L1, Self::L2, Self::L0, Self::L0Elements];

    /// The name in requirement files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linf => "linf",
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::L0 => "l0",
            Self::L0Elements => "l0-elements",
        }
    }

    /// The norm of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|norm| norm.name() == name)
    }

    /// The distance of two inputs.
    pub fn distance(self, a: &[f32], b: &[f32], space: &InputSpace) -> f64 {
        let changes = a.iter().zip(b).enumerate().map(|(element, (&a, &b))| {
            let change = (f64::from(a) - f64::from(b)).abs();
            let width = space.widths.get(element).copied().unwrap_or(1.0);
            if change == 0.0 { 0.0 } else { change / width }
        });
        match self {
            Self::Linf => changes.fold(0.0, f64::max),
            Self::L1 => changes.sum(),
            Self::L2 => changes.map(|change| change * change).sum::<f64>().sqrt(),
            Self::L0Elements => changes.filter(|&change| change != 0.0).count() as f64,
            Self::L0 => changed_pixels(changes, a.len(), space.pixels) as f64,
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn changed_pixels(changes: impl Iterator<Item = f64>, elements: usize, pixels: Pixels) -> usize {
    let mut changed: Vec<usize> = changes
        .enumerate()
        .filter(|&(_, change)| change != 0.0)
        .map(|(element, _)| pixels.position(element, elements))
        .collect();
    changed.sort_unstable();
    changed.dedup();
    changed.len()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these distances are exact")]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_norm() {
        for norm in Norm::ALL {
            assert_eq!(Norm::from_name(norm.name()), Some(norm));
        }
        assert_eq!(Norm::from_name("l3"), None);
    }

    #[test]
    fn l0_counts_all_channels_of_a_position_once() {
        // Two pixels of three channels; the first pixel changes in two channels.
        let (before, first) = ([0.0; 6], [0.1, 0.0, 0.2, 0.0, 0.0, 0.0]);
        let last = InputSpace {
            pixels: Pixels::ChannelsLast(3),
            ..InputSpace::default()
        };
        assert_eq!(Norm::L0.distance(&before, &first, &last), 1.0);
        assert_eq!(Norm::L0Elements.distance(&before, &first, &last), 2.0);
        let planar = InputSpace {
            pixels: Pixels::ChannelsFirst(3),
            ..InputSpace::default()
        };
        assert_eq!(Norm::L0.distance(&before, &first, &planar), 1.0);
    }

    #[test]
    fn a_constant_feature_that_moves_is_infinitely_far() {
        let space = InputSpace {
            widths: vec![1.0, 0.0],
            ..InputSpace::default()
        };
        assert_eq!(Norm::L2.distance(&[0.0, 3.0], &[0.5, 3.0], &space), 0.5);
        let moved = Norm::Linf.distance(&[0.0, 3.0], &[0.5, 4.0], &space);
        assert_eq!(moved, f64::INFINITY);
    }
}

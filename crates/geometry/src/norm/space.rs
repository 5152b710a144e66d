//! What a distance needs to know of the domain of inputs: widths, and which elements make up a pixel.

/// Which elements of an input belong to one pixel; only norms that count pixels ask.
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
    /// is constant or fixed, so two inputs that differ there are infinitely far apart (counts of changes
    /// apart, which count it like any other).
    pub widths: Vec<f64>,
    /// Which elements make up a pixel.
    pub pixels: Pixels,
}

impl InputSpace {
    /// The domain's width in an element.
    #[inline]
    pub fn width(&self, element: usize) -> f64 {
        self.widths.get(element).copied().unwrap_or(1.0)
    }

    /// Whether all inputs near each other have the same value of an element.
    #[inline]
    pub fn is_fixed(&self, element: usize) -> bool {
        self.width(element) == 0.0
    }

    /// How far two inputs are apart in each element, in units of the domain's width.
    pub(super) fn changes(&self, a: &[f32], b: &[f32]) -> impl Iterator<Item = f64> {
        a.iter().zip(b).enumerate().map(|(element, (&a, &b))| {
            let change = (f64::from(a) - f64::from(b)).abs();
            if change == 0.0 {
                0.0
            } else {
                change / self.width(element)
            }
        })
    }

    /// Whether what `add` makes of the changes of the elements, one after the other, is beyond a limit. In
    /// most norms a few elements of a far input show it.
    #[inline]
    pub(super) fn soon_beyond(
        &self,
        a: &[f32],
        b: &[f32],
        limit: f64,
        add: impl Fn(f64, f64) -> f64,
    ) -> bool {
        let mut sum = 0.0;
        for (element, (&x, &y)) in a.iter().zip(b).enumerate() {
            let change = f64::from((x - y).abs());
            let part = if change == 0.0 {
                0.0
            } else {
                change / self.width(element)
            };
            sum = add(sum, part);
            // Clear of rounding: the distance itself has the last word.
            if sum * (1.0 - 1e-6) > limit {
                return true;
            }
        }
        false
    }
}

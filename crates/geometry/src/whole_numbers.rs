//! Elements that take whole numbers only, in the unit that the data are stored in.

use deepconcolic_network::BitSet;

/// Which elements are whole numbers of the data's own unit. Data may be divided by a number before the model sees them;
/// what the model then takes is a whole number over that divisor, rounded as the data themselves are.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeNumbers {
    elements: BitSet,
    divisor: f32,
}

impl WholeNumbers {
    /// Up to here every whole number is a number of single precision.
    pub const LARGEST: f32 = 16_777_216.0;

    /// Of these elements of an input of so many; stored values are divided by the divisor, which is above 0.
    pub fn new(count: usize, elements: &[usize], divisor: f32) -> Self {
        let mut of = BitSet::new(count);
        for &element in elements {
            of.insert(element);
        }
        Self {
            elements: of,
            divisor,
        }
    }

    /// Whether an element is one of them.
    pub fn has(&self, element: usize) -> bool {
        self.elements.contains(element)
    }

    /// What the model takes for a whole number.
    fn value(&self, whole: f64) -> f32 {
        whole as f32 / self.divisor
    }

    /// The whole number nearest to what the model takes.
    fn nearest(&self, value: f32) -> f64 {
        (f64::from(value) * f64::from(self.divisor)).round()
    }

    /// The smallest whole number that is not below an end, and the largest that is not above the other.
    fn ends(&self, low: f32, high: f32) -> (f64, f64) {
        let (mut first, mut last) = (self.nearest(low), self.nearest(high));
        if self.value(first) < low {
            first += 1.0;
        }
        if self.value(last) > high {
            last -= 1.0;
        }
        (first, last)
    }

    /// The point with this number, counted from the lower end of the element's domain.
    pub(crate) fn point(&self, number: u32, low: f32, high: f32) -> Option<f32> {
        let (first, last) = self.ends(low, high);
        let whole = first + f64::from(number);
        (whole <= last).then(|| self.value(whole))
    }

    /// The number of the point nearest to a value, counted from the lower end of the element's domain; none if no whole
    /// number lies in it.
    pub(crate) fn number(&self, value: f32, low: f32, high: f32) -> Option<u32> {
        let (first, last) = self.ends(low, high);
        (first <= last).then(|| (self.nearest(value).clamp(first, last) - first) as u32)
    }

    /// How far apart two neighbours are as the model takes them.
    pub(crate) fn step(&self) -> f64 {
        1.0 / f64::from(self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_the_data_themselves_whatever_they_are_divided_by() {
        for divisor in [1.0, 3.0, 7.0, 100.0, 255.0, 0.1] {
            let whole = WholeNumbers::new(1, &[0], divisor);
            let value = |k: i32| k as f32 / divisor;
            let (low, high) = (value(-17), value(90));
            for k in -17..=90 {
                let number = whole.number(value(k), low, high);
                assert_eq!(number, Some((k + 17) as u32), "{k} / {divisor}");
                let point = whole.point((k + 17) as u32, low, high);
                assert_eq!(point.map(f32::to_bits), Some(value(k).to_bits()));
            }
            assert_eq!(whole.point(108, low, high), None);
            // Ends between two whole numbers are no points.
            let (low, high) = (low.next_up(), high.next_down());
            assert_eq!(whole.point(0, low, high), Some(value(-16)));
            assert_eq!(whole.number(f32::MAX, low, high), Some(105));
            assert_eq!(whole.number(f32::MIN, low, high), Some(0));
        }
    }

    #[test]
    fn a_domain_between_two_whole_numbers_has_no_point() {
        let whole = WholeNumbers::new(2, &[1], 1.0);
        assert_eq!(whole.number(0.5, 0.25, 0.75), None);
        assert_eq!(whole.point(0, 0.25, 0.75), None);
        assert!(whole.has(1) && !whole.has(0));
    }
}

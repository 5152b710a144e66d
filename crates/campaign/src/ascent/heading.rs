//! The direction of a climb: the gradient here, and those of the steps before, less the longer ago.

/// What a climber remembers of its gradients.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    /// The part that is kept from step to step.
    inertia: f32,
    /// The sum so far, each gradient scaled to the sum of its slopes' sizes.
    sum: Vec<f32>,
    /// Gradients in it.
    count: usize,
}

impl Heading {
    pub fn new(inertia: f32) -> Self {
        Self {
            inertia,
            sum: Vec::new(),
            count: 0,
        }
    }

    /// The direction with the gradient of the place that was reached.
    pub fn turned<'a>(&'a mut self, gradient: &'a [f32]) -> &'a [f32] {
        self.count += 1;
        if self.inertia <= 0.0 {
            self.count = 1;
            return gradient;
        }
        let size: f64 = gradient.iter().map(|&slope| f64::from(slope.abs())).sum();
        if !size.is_normal() {
            return gradient;
        }
        self.sum.resize(gradient.len(), 0.0);
        for (sum, &slope) in self.sum.iter_mut().zip(gradient) {
            *sum = self.inertia * *sum + (f64::from(slope) / size) as f32;
        }
        &self.sum
    }

    /// Whether the direction is that of one gradient.
    pub fn is_fresh(&self) -> bool {
        self.count <= 1
    }

    /// Forgets all gradients: the point has not come from where they were taken, or they lead nowhere.
    pub fn forget(&mut self) {
        self.sum.clear();
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_inertia_the_direction_is_the_gradient() {
        let mut heading = Heading::new(0.0);
        for gradient in [[1.0, -2.0], [-3.0, 0.5]] {
            assert_eq!(heading.turned(&gradient), gradient);
            assert!(heading.is_fresh());
        }
    }

    #[test]
    fn gradients_count_alike_and_fade() {
        let mut heading = Heading::new(0.5);
        assert_eq!(heading.turned(&[1.0, 3.0]), [0.25, 0.75]);
        assert!(heading.is_fresh());
        // However long a gradient is, it counts as one.
        assert_eq!(heading.turned(&[-200.0, 0.0]), [-0.875, 0.375]);
        assert!(!heading.is_fresh());
        heading.forget();
        assert_eq!(heading.turned(&[0.0, 4.0]), [0.0, 1.0]);
    }
}

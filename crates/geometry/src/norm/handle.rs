//! The norm that was chosen: a name that leads to everything the norm can do.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use super::NormKind;

/// A norm on the difference of two inputs; what it can do is in [`NormKind`].
///
/// ```
/// use deepconcolic_geometry::{InputSpace, Norm};
///
/// let domain = InputSpace { widths: vec![1.0, 255.0], ..InputSpace::default() };
/// assert_eq!(Norm::LINF.distance(&[0.0, 0.0], &[0.25, 51.0], &domain), 0.25);
/// assert_eq!(Norm::L0.distance(&[0.0, 0.0], &[0.25, 51.0], &domain), 2.0);
/// ```
#[derive(Clone, Copy)]
pub struct Norm(pub(super) &'static dyn NormKind);

impl Norm {
    /// The norm of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|norm| norm.name() == name)
    }

    /// The names of those norms of the table, in words: `linf, l1 or l2`.
    pub fn names(are_meant: impl Fn(Self) -> bool) -> String {
        let meant = Self::ALL.into_iter().filter(|&norm| are_meant(norm));
        let names: Vec<&str> = meant.map(|norm| norm.name()).collect();
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            all => all.concat(),
        }
    }
}

impl Deref for Norm {
    type Target = dyn NormKind;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl Default for Norm {
    fn default() -> Self {
        Self::LINF
    }
}

impl PartialEq for Norm {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Norm {}

impl Hash for Norm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

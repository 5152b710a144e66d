//! Numbers in memory: owned, or kept by somebody else and not copied.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Numbers that are owned, or that somebody else keeps: an array of another language, a mapped file.
#[derive(Clone)]
pub enum Values<T> {
    /// Our own.
    Owned(Vec<T>),
    /// Somebody else's, who must not change them while they are in use.
    Shared(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T> Deref for Values<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Shared(values) => values.as_ref().as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Values<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Owned(values)
    }
}

impl<T> FromIterator<T> for Values<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::Owned(values.into_iter().collect())
    }
}

impl<T: PartialEq> PartialEq for Values<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_values_are_seen_where_they_are() {
        let kept: Arc<Vec<u8>> = Arc::new(vec![1, 2, 3]);
        let place = kept.as_ptr();
        let shared: Values<u8> = Values::Shared(kept);
        assert_eq!(shared, Values::from(vec![1, 2, 3]));
        assert_eq!(shared.as_ptr(), place);
        assert_eq!(shared.clone().as_ptr(), place);
    }
}

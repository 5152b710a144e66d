//! Buffers that outlive a call, so that running a network allocates nothing in the long run: memory that the system
//! has to hand out anew costs as much as a good part of the work done in it.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// Numbers that were taken from a [`Workspace`].
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    /// More than asked for, if a larger buffer was free.
    numbers: Vec<T>,
    length: usize,
}

impl<T: Copy + Default> Buffer<T> {
    /// Appends zeros up to a length.
    pub fn extend_to(&mut self, length: usize) {
        if self.numbers.len() < length {
            self.numbers.resize(length, T::default());
        }
        if self.length < length {
            self.numbers[self.length..length].fill(T::default());
            self.length = length;
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.numbers[..self.length]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[..self.length]
    }
}

/// A thread's buffers.
#[derive(Debug, Default)]
pub(crate) struct Workspace<T> {
    free: Vec<Vec<T>>,
    pub scratch: Vec<T>,
}

impl<T: Copy + Default> Workspace<T> {
    /// A buffer of this length with arbitrary contents.
    pub fn take(&mut self, length: usize) -> Buffer<T> {
        let fitting = (0..self.free.len())
            .filter(|&i| self.free[i].len() >= length)
            .min_by_key(|&i| self.free[i].len());
        let numbers = if let Some(i) = fitting {
            self.free.swap_remove(i)
        } else {
            // In place of a smaller one, so that there are never more than are in use at once.
            self.free.pop();
            vec![T::default(); length]
        };
        Buffer { numbers, length }
    }

    /// A buffer of zeros.
    pub fn zeros(&mut self, length: usize) -> Buffer<T> {
        let mut buffer = self.take(length);
        buffer.fill(T::default());
        buffer
    }

    /// Gives a buffer back.
    pub fn give(&mut self, buffer: Buffer<T>) {
        self.free.push(buffer.numbers);
    }
}

/// Workspaces that are handed from chunk to chunk and from call to call.
#[derive(Debug)]
pub struct Workspaces<T>(Mutex<Vec<Workspace<T>>>);

impl<T> Default for Workspaces<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + Default> Workspaces<T> {
    /// Runs with a workspace that nobody else has.
    pub(crate) fn with<R>(&self, run: impl FnOnce(&mut Workspace<T>) -> R) -> R {
        let mut workspace = self.lock().pop().unwrap_or_default();
        let result = run(&mut workspace);
        self.lock().push(workspace);
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Workspace<T>>> {
        // A panic elsewhere leaves spare buffers, which are as good as before.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The workspaces of a network, in both number types. A copy of the network starts without.
#[derive(Debug, Default)]
pub struct KeptWorkspaces {
    pub(crate) single: Workspaces<f32>,
    pub(crate) double: Workspaces<f64>,
}

impl Clone for KeptWorkspaces {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Workspace;

    #[test]
    fn the_smallest_buffer_that_fits_is_taken_again() {
        let mut workspace = Workspace::<f32>::default();
        let (small, large) = (workspace.take(10), workspace.take(1000));
        workspace.give(large);
        workspace.give(small);
        let again = workspace.take(7);
        assert_eq!((again.len(), again.numbers.len()), (7, 10));
        workspace.give(again);
        assert_eq!(workspace.free.len(), 2);
    }

    #[test]
    fn a_larger_buffer_takes_the_place_of_a_smaller() {
        let mut workspace = Workspace::<f32>::default();
        let small = workspace.take(10);
        workspace.give(small);
        let mut large = workspace.zeros(20);
        large.fill(1.0);
        workspace.give(large);
        assert_eq!(workspace.free.len(), 1);
        let mut zeros = workspace.zeros(15);
        zeros.extend_to(30);
        assert!(zeros.len() == 30 && zeros.iter().all(|&x| x == 0.0));
    }
}
